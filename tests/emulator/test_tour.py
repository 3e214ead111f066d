"""A tour of the running service over HTTP: its first requests, members and the log."""

import json
import statistics
import subprocess
import time

import httpx
import pytest

from local.paths import ROOT
from tests.emulator.api_clients import declare_event_type
from tests.emulator.local_stage import process_environment
from tests.emulator.log_reader import read_verified_log
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def test_printed_commands_work(stage):
    printed = [line.strip() for line in stage.output.splitlines()]
    lines = [line for line in printed if line.startswith(("TOKEN=", "ID=", "curl "))]
    assert len(lines) == 4
    script = ["bash", "-euo", "pipefail", "-c", "\n".join([*lines[:3], "echo", lines[3]])]
    result = subprocess.run(
        script, cwd=ROOT, env=process_environment(stage.state), capture_output=True, text=True, check=True
    )
    listed, report = map(json.loads, result.stdout.splitlines())
    assert [organization["name"] for organization in listed["items"]] == ["Demo"]
    assert report["valid"] is True


def test_member_is_denied_updates_and_the_log_is_complete(stage, create_client):
    ada, mary, stranger = create_client("ada"), create_client("mary"), create_client("stranger")
    organization = ada.create_organization()
    ada.invite_and_accept(organization, mary, "member")
    path = f"/organizations/{organization}"

    assert mary.get(path).json()["name"] == "Analytical Engines"
    rejected = mary.patch(path, json={"name": "Mary's Engines"})
    assert (rejected.status_code, rejected.json()["code"]) == (403, "insufficient_role")
    not_found = stranger.patch(path, json={"name": "Nobody's Engines"})
    assert (not_found.status_code, not_found.json()["code"]) == (404, "not_found")
    unauthenticated = httpx.patch(stage.url + path, headers=stage.headers, json={"name": "Nobody's Engines"})
    assert (unauthenticated.status_code, unauthenticated.json()["code"]) == (401, "unauthenticated")

    log = read_verified_log(ada, organization)
    invitation = ["organization.invitation.created", "organization.invitation.accepted"]
    assert [entry["type"] for entry in log] == ["organization.created", *invitation]
    assert log[0]["actor"] == {"type": "user", "id": ada.user_id, "name": "ada"}
    assert log[0]["data"] == ada.get(path).json()


def test_every_mutation_is_logged_within_two_seconds(stage, create_client, record_property):
    declare_event_type(stage, "invoice.approved")
    ada, mary, grace = create_client("ada"), create_client("mary"), create_client("grace")
    started_at = time.monotonic()
    organization = ada.create_organization()
    lags = [seconds_until_appended(ada, organization, "organization.created", started_at)]
    ada.invite_and_accept(organization, mary, "member")
    ada.invite_and_accept(organization, grace, "member")

    for event, mutate in list_mutations(ada, mary, grace, f"/organizations/{organization}"):
        started_at = time.monotonic()
        response = mutate()
        assert response.is_success, (event, response.text)
        if event != "organization.deleted":  # The log of a deleted organization is hidden until it is restored.
            lags.append(seconds_until_appended(ada, organization, event, started_at))

    types = [entry["type"] for entry in read_verified_log(ada, organization)]
    assert types.count("organization.deleted") == 1
    record_property("median seconds until an entry is in the tree", round(statistics.median(lags), 3))
    assert statistics.median(lags) < 2
    assert max(lags) < 20  # The sweep appends entries whose message was lost.


def list_mutations(ada, mary, grace, path):
    """Return each mutation of an organization with the event that it logs."""
    key = f"{path}/api-keys/{ada.post(f'{path}/api-keys', json={'name': 'first'}).json()['id']}"
    member = f"{path}/members/{mary.user_id}"
    return [
        ("organization.updated", lambda: ada.patch(path, json={"companyName": "Engines Ltd."})),
        ("invoice.approved", lambda: ada.post(f"{path}/events", json={"type": "invoice.approved"})),
        ("organization.member.updated", lambda: ada.patch(member, json={"role": "editor"})),
        ("organization.api_key.created", lambda: ada.post(f"{path}/api-keys", json={"name": "second"})),
        ("organization.api_key.rotated", lambda: ada.post(f"{key}/rotate", json={})),
        ("organization.api_key.revoked", lambda: ada.delete(key)),
        ("organization.deleted", lambda: ada.delete(path)),
        ("organization.restored", lambda: ada.patch(path, json={"status": "active"})),
        ("organization.member.removed", lambda: ada.delete(member)),
        ("organization.member.removed", lambda: grace.post(f"{path}/leave")),
    ]


def seconds_until_appended(reader, organization, event, started_at):
    """Return the time until the newest entry, which has the type, was appended to the tree."""

    def is_appended() -> bool:
        newest = reader.get(f"/organizations/{organization}/audit-log?limit=1").json()["items"][0]
        assert newest["type"] == event
        return newest["sequence"] is not None

    wait_until(is_appended, 30, interval_seconds=0.02)
    return time.monotonic() - started_at
