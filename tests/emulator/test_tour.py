"""What a newcomer does in the first five minutes, over HTTP, with the service running."""

import json
import statistics
import subprocess
import time
from collections.abc import Callable

import httpx
import pytest

from local.paths import ROOT
from tests.emulator.conftest import Calling
from tests.emulator.outside import entries_of, whole_log
from tests.emulator.people import Caller
from tests.emulator.stage import Stage, environment

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def test_the_lines_that_the_run_prints_work_as_printed(stage: Stage) -> None:
    printed = [line.strip() for line in stage.said.splitlines()]
    lines = [line for line in printed if line.startswith(("TOKEN=", "ID=", "curl "))]
    assert len(lines) == 4
    script = ["bash", "-euo", "pipefail", "-c", "\n".join([*lines[:3], "echo", lines[3]])]
    said = subprocess.run(script, cwd=ROOT, env=environment(stage.state), capture_output=True, text=True, check=True)
    listed, report = map(json.loads, said.stdout.splitlines())
    assert [organization["name"] for organization in listed["items"]] == ["Demo"]
    assert report["valid"] is True


def test_a_second_member_is_denied_and_the_log_is_whole(stage: Stage, calling: Calling) -> None:
    ada, mary, stranger = calling("ada"), calling("mary"), calling("stranger")
    organization = ada.makes_organization()
    ada.invites(organization, mary, "member")
    path = f"/organizations/{organization}"

    assert mary.get(path).json()["name"] == "Analytical Engines"
    denied = mary.patch(path, json={"name": "Mary's Engines"})
    assert (denied.status_code, denied.json()["code"]) == (403, "insufficient_role")
    hidden = stranger.patch(path, json={"name": "Nobody's Engines"})
    assert (hidden.status_code, hidden.json()["code"]) == (404, "not_found")
    unknown = httpx.patch(stage.url + path, headers=stage.headers, json={"name": "Nobody's Engines"})
    assert (unknown.status_code, unknown.json()["code"]) == (401, "unauthenticated")

    log = whole_log(ada, organization)
    invitation = ["organization.invitation.created", "organization.invitation.accepted"]
    assert [entry["type"] for entry in log] == ["organization.created", *invitation]
    assert log[0]["actor"] == {"type": "user", "id": ada.id, "name": "ada"}
    assert log[0]["data"] == ada.get(path).json()


def test_every_mutation_is_in_the_log_in_two_seconds(
    calling: Calling, record_property: Callable[[str, object], None]
) -> None:
    ada, mary, grace = calling("ada"), calling("mary"), calling("grace")
    began = time.monotonic()
    organization = ada.makes_organization()
    lags = [_lag(ada, organization, "organization.created", began)]
    ada.invites(organization, mary, "member")
    ada.invites(organization, grace, "member")

    for event, mutate in _mutations(ada, mary, grace, f"/organizations/{organization}"):
        began = time.monotonic()
        answer = mutate()
        assert answer.is_success, (event, answer.text)
        if event != "organization.deleted":  # What is deleted doesn't show its log before it is restored.
            lags.append(_lag(ada, organization, event, began))

    types = [entry["type"] for entry in whole_log(ada, organization)]
    assert types.count("organization.deleted") == 1
    record_property("median seconds until an entry is in the tree", round(statistics.median(lags), 3))
    assert statistics.median(lags) < 2
    assert max(lags) < 20  # A wake that was lost is made up for by the sweep.


def _mutations(ada: Caller, mary: Caller, grace: Caller, path: str) -> list[tuple[str, Callable[[], httpx.Response]]]:
    created = ada.post(f"{path}/api-keys", json={"name": "first"}).json()
    return [
        ("organization.updated", lambda: ada.patch(path, json={"companyName": "Engines Ltd."})),
        ("organization.member.updated", lambda: ada.patch(f"{path}/members/{mary.id}", json={"role": "editor"})),
        ("organization.api_key.created", lambda: ada.post(f"{path}/api-keys", json={"name": "second"})),
        ("organization.api_key.rotated", lambda: ada.post(f"{path}/api-keys/{created['id']}/rotate", json={})),
        ("organization.api_key.revoked", lambda: ada.delete(f"{path}/api-keys/{created['id']}")),
        ("organization.deleted", lambda: ada.delete(path)),
        ("organization.restored", lambda: ada.patch(path, json={"status": "active"})),
        ("organization.member.removed", lambda: ada.delete(f"{path}/members/{mary.id}")),
        ("organization.member.removed", lambda: grace.post(f"{path}/leave")),
    ]


def _lag(reader: Caller, organization: str, event: str, began: float) -> float:
    """Return how long it took until the newest entry of a type, made just now, had its place in the tree."""
    while True:
        newest = reader.get(f"/organizations/{organization}/audit-log?limit=1").json()["items"][0]
        assert newest["type"] == event
        if newest["sequence"] is not None:
            return time.monotonic() - began
        assert time.monotonic() - began < 30, newest
        time.sleep(0.02)


def test_a_repeated_request_has_its_first_answer_and_no_second_effect(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    path, once = f"/organizations/{organization}/api-keys", {"Idempotency-Key": "nightly"}
    first = ada.post(path, json={"name": "Nightly"}, headers=once)
    again = ada.post(path, json={"name": "Nightly"}, headers=once)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert first.headers["ETag"] == again.headers["ETag"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    other = ada.post(path, json={"name": "Hourly"}, headers=once)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    created = [e for e in whole_log(ada, organization) if e["type"] == "organization.api_key.created"]
    assert [entry["target"]["id"] for entry in created] == [first.json()["id"]]


def test_an_api_key_opens_its_organization_until_it_is_revoked(stage: Stage, calling: Calling) -> None:
    ada = calling("ada")
    organization, elsewhere = ada.makes_organization(), ada.makes_organization()
    path = f"/organizations/{organization}"
    key = ada.post(f"{path}/api-keys", json={"name": "Nightly", "scopes": ["read", "api-keys:write"]}).json()
    with Caller(stage, "program", key["key"]) as program:
        assert program.get(path).json()["id"] == organization
        assert program.get(f"/organizations/{elsewhere}").status_code == 404
        assert program.patch(path, json={"name": "Theirs"}).json()["code"] == "insufficient_scope"
        made = program.post(f"{path}/api-keys", json={"name": "Of a key"})
        assert made.status_code == 201
        rotated = program.post(f"{path}/api-keys/{key['id']}/rotate", json={"graceHours": 0}).json()
        assert program.get(path).json()["code"] == "api_key_revoked"
    with Caller(stage, "program", rotated["key"]) as program:
        assert program.get(path).is_success
        assert ada.delete(f"{path}/api-keys/{key['id']}").status_code == 204
        assert program.get(path).json()["code"] == "api_key_revoked"
    actors = [entry["actor"]["type"] for entry in whole_log(ada, organization)]
    assert actors == ["user", "user", "api_key", "api_key", "user"]


def test_what_is_deleted_is_gone_until_its_owner_restores_it(calling: Calling) -> None:
    ada, grace = calling("ada"), calling("grace")
    organization = ada.makes_organization()
    ada.invites(organization, grace, "admin")
    path = f"/organizations/{organization}"
    before = ada.get(path).json()

    assert ada.delete(path).status_code == 204
    for below in ("", "/members", "/api-keys", "/audit-log", "/audit-log/verify-integrity"):
        assert {caller.get(path + below).status_code for caller in (ada, grace)} == {404}
    assert grace.patch(path, json={"status": "active"}).status_code == 404
    assert ada.get("/organizations").json()["items"] == []
    (waiting,) = ada.get("/organizations?status=pending_deletion").json()["items"]
    assert (waiting["id"], waiting["status"]) == (organization, "pending_deletion")

    restored = ada.patch(path, json={"status": "active"}).json()
    assert restored == before | {"version": before["version"] + 2, "updatedAt": restored["updatedAt"]}
    assert grace.get(path).json() == restored
    types = [entry["type"] for entry in whole_log(ada, organization)]
    assert types[3:] == ["organization.deleted", "organization.restored"]
    assert entries_of(ada, organization, type="organization.restored")[0]["data"] == restored
