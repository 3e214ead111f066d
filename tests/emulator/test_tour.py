"""A tour of the running service over HTTP: members, keys, idempotency, deletion and the log."""

import json
import statistics
import subprocess
import time
from collections.abc import Callable

import httpx
import pytest

from local.paths import ROOT
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import process_environment
from tests.emulator.log_reader import list_entries, read_verified_log

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


def test_every_mutation_is_logged_within_two_seconds(create_client, record_property):
    ada, mary, grace = create_client("ada"), create_client("mary"), create_client("grace")
    started_at = time.monotonic()
    organization = ada.create_organization()
    lags = [_seconds_until_appended(ada, organization, "organization.created", started_at)]
    ada.invite_and_accept(organization, mary, "member")
    ada.invite_and_accept(organization, grace, "member")

    for event, mutate in _mutations(ada, mary, grace, f"/organizations/{organization}"):
        started_at = time.monotonic()
        response = mutate()
        assert response.is_success, (event, response.text)
        if event != "organization.deleted":  # The log of a deleted organization is hidden until it is restored.
            lags.append(_seconds_until_appended(ada, organization, event, started_at))

    types = [entry["type"] for entry in read_verified_log(ada, organization)]
    assert types.count("organization.deleted") == 1
    record_property("median seconds until an entry is in the tree", round(statistics.median(lags), 3))
    assert statistics.median(lags) < 2
    assert max(lags) < 20  # The sweep appends entries whose message was lost.


def _mutations(
    ada: ApiClient, mary: ApiClient, grace: ApiClient, path: str
) -> list[tuple[str, Callable[[], httpx.Response]]]:
    created = ada.post(f"{path}/api-keys", json={"name": "first"}).json()
    return [
        ("organization.updated", lambda: ada.patch(path, json={"companyName": "Engines Ltd."})),
        ("organization.member.updated", lambda: ada.patch(f"{path}/members/{mary.user_id}", json={"role": "editor"})),
        ("organization.api_key.created", lambda: ada.post(f"{path}/api-keys", json={"name": "second"})),
        ("organization.api_key.rotated", lambda: ada.post(f"{path}/api-keys/{created['id']}/rotate", json={})),
        ("organization.api_key.revoked", lambda: ada.delete(f"{path}/api-keys/{created['id']}")),
        ("organization.deleted", lambda: ada.delete(path)),
        ("organization.restored", lambda: ada.patch(path, json={"status": "active"})),
        ("organization.member.removed", lambda: ada.delete(f"{path}/members/{mary.user_id}")),
        ("organization.member.removed", lambda: grace.post(f"{path}/leave")),
    ]


def _seconds_until_appended(reader: ApiClient, organization: str, event: str, started_at: float) -> float:
    """Return the time until the newest entry, which has the type, was appended to the tree."""
    while True:
        newest = reader.get(f"/organizations/{organization}/audit-log?limit=1").json()["items"][0]
        assert newest["type"] == event
        if newest["sequence"] is not None:
            return time.monotonic() - started_at
        assert time.monotonic() - started_at < 30, newest
        time.sleep(0.02)


def test_repeated_request_replays_the_first_response(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    path, idempotency_headers = f"/organizations/{organization}/api-keys", {"Idempotency-Key": "nightly"}
    first = ada.post(path, json={"name": "Nightly"}, headers=idempotency_headers)
    repeated = ada.post(path, json={"name": "Nightly"}, headers=idempotency_headers)
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert first.content == repeated.content
    assert first.headers["ETag"] == repeated.headers["ETag"]
    assert "Idempotency-Replayed" not in first.headers
    assert repeated.headers["Idempotency-Replayed"] == "true"
    other = ada.post(path, json={"name": "Hourly"}, headers=idempotency_headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    created = [e for e in read_verified_log(ada, organization) if e["type"] == "organization.api_key.created"]
    assert [entry["target"]["id"] for entry in created] == [first.json()["id"]]


def test_api_key_grants_access_until_it_is_revoked(stage, create_client):
    ada = create_client("ada")
    organization, other_organization = ada.create_organization(), ada.create_organization()
    path = f"/organizations/{organization}"
    key = ada.post(f"{path}/api-keys", json={"name": "Nightly", "scopes": ["read", "api-keys:write"]}).json()
    with ApiClient(stage, "program", key["key"]) as program:
        assert program.get(path).json()["id"] == organization
        assert program.get(f"/organizations/{other_organization}").status_code == 404
        assert program.patch(path, json={"name": "Theirs"}).json()["code"] == "insufficient_scope"
        created = program.post(f"{path}/api-keys", json={"name": "Of a key"})
        assert created.status_code == 201
        rotated = program.post(f"{path}/api-keys/{key['id']}/rotate", json={"graceHours": 0}).json()
        assert program.get(path).json()["code"] == "api_key_revoked"
    with ApiClient(stage, "program", rotated["key"]) as program:
        assert program.get(path).is_success
        assert ada.delete(f"{path}/api-keys/{key['id']}").status_code == 204
        assert program.get(path).json()["code"] == "api_key_revoked"
    actors = [entry["actor"]["type"] for entry in read_verified_log(ada, organization)]
    assert actors == ["user", "user", "api_key", "api_key", "user"]


def test_deleted_organization_is_hidden_until_its_owner_restores_it(create_client):
    ada, grace = create_client("ada"), create_client("grace")
    organization = ada.create_organization()
    ada.invite_and_accept(organization, grace, "admin")
    path = f"/organizations/{organization}"
    before = ada.get(path).json()

    assert ada.delete(path).status_code == 204
    for suffix in ("", "/members", "/api-keys", "/audit-log", "/audit-log/verify-integrity"):
        assert {caller.get(path + suffix).status_code for caller in (ada, grace)} == {404}
    assert grace.patch(path, json={"status": "active"}).status_code == 404
    assert ada.get("/organizations").json()["items"] == []
    (pending_organization,) = ada.get("/organizations?status=pending_deletion").json()["items"]
    assert (pending_organization["id"], pending_organization["status"]) == (organization, "pending_deletion")

    restored = ada.patch(path, json={"status": "active"}).json()
    assert restored == before | {"version": before["version"] + 2, "updatedAt": restored["updatedAt"]}
    assert grace.get(path).json() == restored
    types = [entry["type"] for entry in read_verified_log(ada, organization)]
    assert types[3:] == ["organization.deleted", "organization.restored"]
    assert list_entries(ada, organization, type="organization.restored")[0]["data"] == restored
