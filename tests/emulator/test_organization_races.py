"""Concurrent HTTP requests to the running service."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from tests.emulator.api_clients import ApiClient, outcome_code, run_concurrently
from tests.emulator.conftest import AddMember, ClientFactory
from tests.emulator.log_reader import LogEntry, list_entries, list_items, read_verified_log, wait_until_appended

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

MAX_KEYS: Final = 100
Send = Callable[[], httpx.Response]


@dataclass(frozen=True)
class ConcurrentRequests:
    """The responses to 200 concurrent requests to one organization, and its log afterwards."""

    owner: ApiClient
    path: str
    updates: Sequence[httpx.Response]
    roles: Sequence[httpx.Response]
    keys: Sequence[httpx.Response]
    repeated_creations: Sequence[httpx.Response]
    log: Sequence[LogEntry]

    @property
    def responses(self) -> Sequence[httpx.Response]:
        """The responses to all requests."""
        return [*self.updates, *self.roles, *self.keys, *self.repeated_creations]


def _updates(owner: ApiClient, path: str) -> list[Send]:
    fields = ("companyName", "companyId", "companyAddress", "companyLegalName")
    return [partial(owner.patch, path, json={fields[n % 4]: f"Writer {n}"}) for n in range(40)]


def _role_changes(owner: ApiClient, path: str, members: Sequence[ApiClient]) -> list[Send]:
    return [
        partial(owner.patch, f"{path}/members/{member.user_id}", json={"role": role})
        for member in members
        for role in ("editor", "admin")
    ]


def _key_creations(owner: ApiClient, path: str) -> list[Send]:
    return [partial(owner.post, f"{path}/api-keys", json={"name": f"Key {n}"}) for n in range(110)]


def _repeated_creations(owner: ApiClient, path: str) -> list[Send]:
    idempotency_headers = {"Idempotency-Key": str(uuid4())}
    return [
        partial(owner.post, f"{path}/api-keys", json={"name": "Once"}, headers=idempotency_headers) for _ in range(10)
    ]


@pytest.fixture(scope="module")
def concurrent_requests(create_module_client: ClientFactory, add_member: AddMember) -> ConcurrentRequests:
    owner = create_module_client("owner")
    organization = owner.create_organization()
    path = f"/organizations/{organization}"
    members = [create_module_client(f"member {n}") for n in range(20)]
    for member in members:
        add_member(organization, member, "member")
    groups = [
        _updates(owner, path),
        _role_changes(owner, path, members),
        _key_creations(owner, path),
        _repeated_creations(owner, path),
    ]
    responses = iter(run_concurrently(*(send for group in groups for send in group)))
    updates, roles, keys, repeated_creations = ([next(responses) for _ in group] for group in groups)
    return ConcurrentRequests(
        owner, path, updates, roles, keys, repeated_creations, read_verified_log(owner, organization)
    )


def _first_executions(responses: Sequence[httpx.Response]) -> list[httpx.Response]:
    return [
        response for response in responses if response.is_success and "Idempotency-Replayed" not in response.headers
    ]


def test_each_successful_request_is_logged_once(concurrent_requests):
    assert len(concurrent_requests.responses) == 200
    request_ids = Counter(entry["context"]["requestId"] for entry in concurrent_requests.log)
    for response in _first_executions(concurrent_requests.responses):
        assert request_ids[response.headers["X-Request-Id"]] == 1, response.text


def test_rejected_requests_are_not_logged(concurrent_requests):
    request_ids = {entry["context"]["requestId"] for entry in concurrent_requests.log}
    rejected = [response for response in concurrent_requests.responses if not response.is_success]
    assert {response.json()["code"] for response in rejected} <= {
        "limit_exceeded",
        "conflict",
        "idempotency_in_progress",
    }
    assert not request_ids & {response.headers["X-Request-Id"] for response in rejected}


def test_no_update_is_lost(concurrent_requests):
    entries = [entry for entry in concurrent_requests.log if entry["type"] == "organization.updated"]
    entries.sort(key=lambda entry: entry["data"]["version"])
    assert [entry["data"]["version"] for entry in entries] == list(
        range(2, len(_first_executions(concurrent_requests.updates)) + 2)
    )
    fields: dict[str, Any] = {}
    for entry in entries:
        for change in entry["changes"]:
            assert change["from"] == fields.get(change["field"])
            fields[change["field"]] = change["to"]
    record = concurrent_requests.owner.get(concurrent_requests.path).json()
    assert record == entries[-1]["data"]
    assert fields.items() <= record.items()


def test_each_member_has_the_last_role_in_the_log(concurrent_requests):
    entries = [entry for entry in concurrent_requests.log if entry["type"] == "organization.member.updated"]
    assert len(entries) == len(_first_executions(concurrent_requests.roles))
    entries.sort(key=lambda entry: entry["data"]["version"])
    last_roles = {entry["target"]["id"]: entry["data"]["role"] for entry in entries}
    members = list_items(concurrent_requests.owner, f"{concurrent_requests.path}/members")
    assert last_roles
    assert last_roles.keys() <= {member["id"] for member in members}
    for member in members:
        if member["userId"] != concurrent_requests.owner.user_id:
            # Both changes of a role may have been rejected as conflicts.
            assert member["role"] == last_roles.get(member["id"], "member")


def test_created_keys_are_all_active_and_within_the_limit(concurrent_requests):
    creations = [*concurrent_requests.keys, *concurrent_requests.repeated_creations]
    returned_ids = {response.json()["id"] for response in creations if response.is_success}
    path = f"{concurrent_requests.path}/api-keys"
    listed = list_items(concurrent_requests.owner, path)
    assert returned_ids == {key["id"] for key in listed if key["status"] == "active"}
    # Each request that lost all its attempts to others may leave a place free, which the next request gets.
    codes = Counter(map(outcome_code, creations))
    free = MAX_KEYS - len(returned_ids)
    assert 0 <= free <= (0 if codes["limit_exceeded"] else codes["conflict"]), codes
    assert len(concurrent_requests.keys) > MAX_KEYS
    later_codes = [outcome_code(concurrent_requests.owner.post(path, json={"name": "Late"})) for _ in range(free + 1)]
    assert later_codes == ["201"] * free + ["limit_exceeded"]


def test_concurrent_key_creations_with_one_idempotency_key_create_one(concurrent_requests):
    successful_responses = [response for response in concurrent_requests.repeated_creations if response.is_success]
    in_progress = [
        response.json()["code"] for response in concurrent_requests.repeated_creations if not response.is_success
    ]
    assert set(in_progress) <= {"idempotency_in_progress", "limit_exceeded"}
    assert len({response.content for response in successful_responses}) <= 1
    assert len(_first_executions(concurrent_requests.repeated_creations)) == min(1, len(successful_responses))


def test_one_of_two_concurrent_transfers_wins(create_client, add_member):
    ada, mary, grace = create_client("ada"), create_client("mary"), create_client("grace")
    organization = ada.create_organization()
    path, owners = f"/organizations/{organization}", {ada.user_id: ada, mary.user_id: mary, grace.user_id: grace}
    for successor in (mary, grace):
        add_member(organization, successor, "member")
    for _ in range(5):
        owner = owners[ada.get(path).json()["ownerId"]]
        others = [successor.user_id for successor in owners.values() if successor is not owner]
        transfer = partial(owner.post, f"{path}/transfer-ownership")
        responses = run_concurrently(*(partial(transfer, json={"newOwnerId": successor}) for successor in others))
        assert sorted(map(outcome_code, responses)) == ["200", "insufficient_role"]
        (winner,) = (successor for successor, response in zip(others, responses, strict=True) if response.is_success)
        roles = {m["userId"]: m["role"] for m in ada.get(f"{path}/members").json()["items"]}
        assert [user for user, role in roles.items() if role == "owner"] == [winner]
        assert roles[owner.user_id] == "admin"
        assert ada.get(path).json()["ownerId"] == winner
    types = Counter(entry["type"] for entry in read_verified_log(ada, organization))
    assert types["organization.ownership_transferred"] == 5


def test_member_who_leaves_during_a_transfer_either_leaves_or_owns(create_client, add_member):
    ada = create_client("ada")
    for attempt in range(5):
        mary, organization = create_client(f"mary {attempt}"), ada.create_organization()
        path = f"/organizations/{organization}"
        add_member(organization, mary, "admin")
        transferred, leaving = run_concurrently(
            partial(ada.post, f"{path}/transfer-ownership", json={"newOwnerId": mary.user_id}),
            partial(mary.post, f"{path}/leave"),
        )
        outcome = (outcome_code(transferred), outcome_code(leaving))
        assert outcome in {("200", "owner_must_transfer"), ("validation_failed", "204")}
        roles = {member["userId"]: member["role"] for member in ada.get(f"{path}/members").json()["items"]}
        expected_roles = (
            {ada.user_id: "admin", mary.user_id: "owner"} if transferred.is_success else {ada.user_id: "owner"}
        )
        assert roles == expected_roles
        assert ada.get(path).json()["ownerId"] in {user for user, role in roles.items() if role == "owner"}


def test_one_of_many_concurrent_requests_gets_a_slug(create_client):
    ada, slug = create_client("ada"), f"wanted-{uuid4().hex[:8]}"
    body = {"name": "Wanted", "slug": slug}
    responses = run_concurrently(*[partial(ada.post, "/organizations", json=body) for _ in range(12)])
    assert Counter(map(outcome_code, responses)) == {"201": 1, "slug_taken": 11}
    assert [record["slug"] for record in ada.get("/organizations").json()["items"]] == [slug]

    other = f"wanted-{uuid4().hex[:8]}"
    paths = [f"/organizations/{ada.create_organization()}" for _ in range(6)]
    responses = run_concurrently(*(partial(ada.patch, path, json={"slug": other}) for path in paths))
    assert Counter(map(outcome_code, responses)) == {"200": 1, "slug_taken": 5}
    (winner,) = (response.json()["id"] for response in responses if response.is_success)
    assert ada.get(f"/organizations/by-slug/{other}").json()["id"] == winner
    for path in paths:
        changed = [entry["type"] for entry in read_verified_log(ada, path.rpartition("/")[2])]
        assert changed == ["organization.created", *(["organization.updated"] if path.endswith(winner) else [])]


def test_concurrently_created_organizations_of_one_name_get_distinct_slugs(create_client):
    ada, name = create_client("ada"), f"Twins {uuid4().hex[:8]}"
    responses = run_concurrently(*[partial(ada.post, "/organizations", json={"name": name}) for _ in range(8)])
    assert Counter(map(outcome_code, responses)) == {"201": 8}
    assert len({response.json()["slug"] for response in responses}) == 8


def test_concurrent_organization_creations_with_one_idempotency_key_create_one(create_client):
    ada, idempotency_headers = create_client("ada"), {"Idempotency-Key": str(uuid4())}
    responses = run_concurrently(
        *[partial(ada.post, "/organizations", json={"name": "Once"}, headers=idempotency_headers) for _ in range(10)]
    )
    assert {outcome_code(response) for response in responses} <= {"201", "idempotency_in_progress"}
    created = [response for response in responses if response.is_success]
    assert (
        len({(response.content, response.headers["ETag"], response.headers["Location"]) for response in created}) == 1
    )
    assert len(_first_executions(created)) == 1
    (record,) = ada.get("/organizations").json()["items"]
    assert record == created[0].json()


def test_one_of_many_conditional_updates_of_a_version_succeeds(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    path = f"/organizations/{organization}"
    precondition = {"If-Match": ada.get(path).headers["ETag"]}
    responses = run_concurrently(
        *(partial(ada.patch, path, json={"name": f"Writer {n}"}, headers=precondition) for n in range(10))
    )
    assert Counter(map(outcome_code, responses)) == {"200": 1, "precondition_failed": 9}
    (winner,) = (response.json() for response in responses if response.is_success)
    assert ada.get(path).json() == winner
    assert len(list_entries(ada, organization, type="organization.updated")) == 1


def test_concurrent_revocations_of_one_key_free_one_slot(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    path = f"/organizations/{organization}/api-keys"
    create = partial(ada.post, path, json={"name": "Key"})
    keys = run_concurrently(*[create for _ in range(MAX_KEYS)])
    assert {outcome_code(response) for response in keys} == {"201"}
    revoked = run_concurrently(*[partial(ada.delete, f"{path}/{keys[0].json()['id']}") for _ in range(5)])
    assert {outcome_code(response) for response in revoked} == {"204"}
    assert Counter(map(outcome_code, run_concurrently(*[create for _ in range(5)]))) == {"201": 1, "limit_exceeded": 4}
    types = Counter(entry["type"] for entry in read_verified_log(ada, organization))
    assert types["organization.api_key.revoked"] == 1


def test_growing_log_is_valid_at_any_time(create_client):
    ada = create_client("ada")
    for _ in range(20):
        organization = ada.create_organization()
        ada.patch(f"/organizations/{organization}", json={"companyName": "Engines Ltd."})
        assert wait_until_appended(ada, organization)["treeSize"] == 2


def test_concurrent_rotations_return_secrets_that_all_work(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    path = f"/organizations/{organization}"
    key = ada.post(f"{path}/api-keys", json={"name": "Shared"}).json()
    rotate = partial(ada.post, f"{path}/api-keys/{key['id']}/rotate", json={})
    rotated = run_concurrently(*[rotate for _ in range(4)])
    assert {outcome_code(response) for response in rotated} == {"200"}
    secrets = {key["key"], *(response.json()["key"] for response in rotated)}
    assert len(secrets) == 5
    for secret in secrets:
        assert ada.get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    assert len(read_verified_log(ada, organization)) == 6
