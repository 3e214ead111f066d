"""Concurrent HTTP requests to the running service."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import uuid4

import httpx
import pytest

from tests.emulator.api_clients import ApiClient, outcome_code, run_concurrently
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import LogEntry, list_entries, list_items, read_verified_log

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

MAX_KEYS: Final = 100


class ConcurrentRequests(NamedTuple):
    """The responses to many concurrent requests to one organization, and its log afterwards."""

    owner: ApiClient
    path: str
    updates: Sequence[httpx.Response]
    roles: Sequence[httpx.Response]
    keys: Sequence[httpx.Response]
    repeated_creations: Sequence[httpx.Response]
    log: Sequence[LogEntry]


@pytest.fixture(scope="module")
def concurrent_requests(stage: LocalStage) -> Iterator[ConcurrentRequests]:
    with ExitStack() as clients:
        owner, *members = (clients.enter_context(ApiClient(stage, f"person{n}")) for n in range(9))
        organization = owner.create_organization()
        path = f"/organizations/{organization}"
        for member in members:
            owner.invite_and_accept(organization, member, "member")
        fields = ("companyName", "companyId", "companyAddress", "companyLegalName")
        changes = [(member, role) for member in members for role in ("editor", "admin")]
        # Most keys exist before, because more concurrent requests would exceed time limits on a busy machine.
        create_key, idempotency_headers = partial(owner.post, f"{path}/api-keys"), {"Idempotency-Key": str(uuid4())}
        early = [r for _ in range(4) for r in run_concurrently(*[partial(create_key, json={"name": "Early"})] * 20)]
        assert {outcome_code(response) for response in early} == {"201"}
        groups = [
            [partial(owner.patch, path, json={fields[n % 4]: f"Writer {n}"}) for n in range(24)],
            [partial(owner.patch, f"{path}/members/{m.user_id}", json={"role": role}) for m, role in changes],
            [partial(create_key, json={"name": f"Key {n}"}) for n in range(MAX_KEYS - len(early) + 10)],
            [partial(create_key, json={"name": "Once"}, headers=idempotency_headers) for _ in range(10)],
        ]
        responses = iter(run_concurrently(*(send for group in groups for send in group)))
        updates, roles, keys, repeated_creations = ([next(responses) for _ in group] for group in groups)
        log = read_verified_log(owner, organization)
        yield ConcurrentRequests(owner, path, updates, roles, [*early, *keys], repeated_creations, log)


def first_executions(responses):
    return [
        response for response in responses if response.is_success and "Idempotency-Replayed" not in response.headers
    ]


def test_each_successful_request_is_logged_once_and_a_rejected_one_is_not(concurrent_requests):
    _, _, *groups, log = concurrent_requests
    responses = [response for group in groups for response in group]
    request_ids = Counter(entry["context"]["requestId"] for entry in log)
    for response in first_executions(responses):
        assert request_ids[response.headers["X-Request-Id"]] == 1, response.text
    rejected = [response for response in responses if not response.is_success]
    codes = {response.json()["code"] for response in rejected}
    assert codes <= {"limit_exceeded", "conflict", "idempotency_in_progress"}
    assert not request_ids.keys() & {response.headers["X-Request-Id"] for response in rejected}


def entries_by_version(log, event):
    entries = [entry for entry in log if entry["type"] == event]
    return sorted(entries, key=lambda entry: entry["data"]["version"])


def test_no_update_is_lost_and_each_member_has_the_last_role_in_the_log(concurrent_requests):
    owner, path, updates, roles, _, _, log = concurrent_requests
    entries = entries_by_version(log, "organization.updated")
    assert [entry["data"]["version"] for entry in entries] == list(range(2, len(first_executions(updates)) + 2))
    fields: dict[str, Any] = {}
    for entry in entries:
        for change in entry["changes"]:
            assert change["from"] == fields.get(change["field"])
            fields[change["field"]] = change["to"]
    record = owner.get(path).json()
    assert record == entries[-1]["data"]
    assert fields.items() <= record.items()

    entries = entries_by_version(log, "organization.member.updated")
    assert len(entries) == len(first_executions(roles)) > 0
    last_roles = {entry["target"]["id"]: entry["data"]["role"] for entry in entries}
    members = [member for member in list_items(owner, f"{path}/members") if member["userId"] != owner.user_id]
    assert last_roles.keys() <= {member["id"] for member in members}
    for member in members:  # Both changes of a role may have been rejected as conflicts.
        assert member["role"] == last_roles.get(member["id"], "member")


def test_created_keys_are_within_the_limit_and_concurrent_revocations_of_one_free_one_place(concurrent_requests):
    owner, path, _, _, keys, repeated_creations, _ = concurrent_requests
    once = [response for response in repeated_creations if response.is_success]
    assert len({response.content for response in once}) <= 1
    assert len(first_executions(once)) == min(1, len(once))
    codes = Counter(map(outcome_code, repeated_creations))
    assert codes.keys() <= {"201", "idempotency_in_progress", "limit_exceeded"}

    creations, path = [*keys, *repeated_creations], f"{path}/api-keys"
    created = {response.json()["id"] for response in creations if response.is_success}
    assert created == {key["id"] for key in list_items(owner, path) if key["status"] == "active"}
    # Each request that lost all its attempts to others may leave a place free, which the next request gets.
    codes, free = Counter(map(outcome_code, creations)), MAX_KEYS - len(created)
    assert 0 <= free <= (0 if codes["limit_exceeded"] else codes["conflict"]), codes
    create = partial(owner.post, path, json={"name": "Late"})
    assert [outcome_code(create()) for _ in range(free + 1)] == ["201"] * free + ["limit_exceeded"]

    revoked = run_concurrently(*[partial(owner.delete, f"{path}/{min(created)}")] * 5)
    assert {outcome_code(response) for response in revoked} == {"204"}
    assert Counter(map(outcome_code, run_concurrently(*[create] * 5))) == {"201": 1, "limit_exceeded": 4}
    organization = path.split("/")[2]
    assert len(list_entries(owner, organization, type="organization.api_key.revoked")) == 1


def test_one_of_many_concurrent_requests_gets_a_slug_and_equal_names_get_distinct_ones(create_client):
    ada, slug = create_client("ada"), f"wanted-{uuid4().hex[:8]}"
    responses = run_concurrently(*[partial(ada.post, "/organizations", json={"name": "Wanted", "slug": slug})] * 12)
    assert Counter(map(outcome_code, responses)) == {"201": 1, "slug_taken": 11}
    assert [record["slug"] for record in ada.get("/organizations").json()["items"]] == [slug]

    other = f"wanted-{uuid4().hex[:8]}"
    ids = [ada.create_organization() for _ in range(6)]
    responses = run_concurrently(*(partial(ada.patch, f"/organizations/{n}", json={"slug": other}) for n in ids))
    assert Counter(map(outcome_code, responses)) == {"200": 1, "slug_taken": 5}
    (winner,) = (response.json()["id"] for response in responses if response.is_success)
    assert ada.get(f"/organizations/by-slug/{other}").json()["id"] == winner
    for organization in ids:
        types = [entry["type"] for entry in read_verified_log(ada, organization)]
        assert types == ["organization.created", *(["organization.updated"] if organization == winner else [])]

    responses = run_concurrently(*[partial(ada.post, "/organizations", json={"name": f"Twins {slug}"})] * 8)
    assert {outcome_code(response) for response in responses} == {"201"}
    assert len({response.json()["slug"] for response in responses}) == 8


def test_concurrent_rotations_return_secrets_that_all_work(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    path = f"/organizations/{organization}"
    key = ada.post(f"{path}/api-keys", json={"name": "Shared"}).json()
    rotated = run_concurrently(*[partial(ada.post, f"{path}/api-keys/{key['id']}/rotate", json={})] * 4)
    assert {outcome_code(response) for response in rotated} == {"200"}
    secrets = {key["key"], *(response.json()["key"] for response in rotated)}
    assert len(secrets) == 5
    for secret in secrets:
        assert ada.get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    assert len(read_verified_log(ada, organization)) == 6
