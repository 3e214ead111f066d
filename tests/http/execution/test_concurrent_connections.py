"""Many connections of one caller, while transactions take time and exclude each other from their items."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event

import pytest

from chalicelib.kernel.audit_log.mac_chains import chain_shard_or_none
from chalicelib.kernel.permissions.access_epochs import EpochSubject, organization_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions import unit_of_work
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller, Person
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.waiting import wait_until

CONNECTIONS = 50
MAX_ATTEMPTS = 20
Send = Callable[[int], ApiResponse]


@pytest.fixture(params=["a person", "a key"])
def caller(request: pytest.FixtureRequest, api: ApiClient, organization: CreatedOrganization, grace: Person) -> Caller:
    """An admin."""
    return grace if request.param == "a person" else create_api_key(api, organization, "admin")


def create_webhooks(api: ApiClient, organization: CreatedOrganization, count: int) -> list[str]:
    """Create webhooks and return their paths."""
    path, owner = f"{organization.path}/webhooks", organization.owner
    responses = [
        api.post(path, caller=owner, json={"url": f"https://hooks.example.com/{n}", "events": ["*"]})
        for n in range(count)
    ]
    return [answer.location for answer in responses]


def create_keys(api: ApiClient, organization: CreatedOrganization, count: int) -> list[str]:
    """Create API keys and return their paths."""
    responses = [
        api.post(organization.api_keys_path, caller=organization.owner, json={"name": f"Key {n}"}) for n in range(count)
    ]
    return [answer.location for answer in responses]


def send_concurrently(send: Send) -> list[ApiResponse]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return [*threads.map(send, range(CONNECTIONS))]


def success_rate(answers: list[ApiResponse]) -> float:
    return sum(answer.status < 300 for answer in answers) / len(answers)


def test_concurrent_creations_of_one_type_succeed(api, organization, caller, conflicts):
    path = f"{organization.path}/invite"
    answers = send_concurrently(lambda n: api.post(path, caller=caller, json={"email": f"person-{n}@example.org"}))
    assert success_rate(answers) >= 0.99
    assert conflicts.rejected_keys  # The transactions did conflict.


def test_concurrent_changes_succeed(api, organization, caller, conflicts):
    paths = create_webhooks(api, organization, CONNECTIONS)
    answers = send_concurrently(lambda n: api.patch(paths[n], caller=caller, json={"description": "Changed at once"}))
    assert success_rate(answers) >= 0.99
    shared = {key for key in conflicts.rejected_keys if chain_shard_or_none({"sk": key[1]}) is None}
    assert {key[1].partition("#")[0] for key in shared} == {"EPOCH"}  # They share nothing else but the log's chains.


def test_concurrent_revocations_succeed(api, organization, caller, conflicts):
    paths = create_keys(api, organization, CONNECTIONS)
    answers = send_concurrently(lambda n: api.delete(paths[n], caller=caller))
    assert success_rate(answers) >= 0.99
    listed = api.get_items(organization.api_keys_path, caller=organization.owner, query={"limit": 100})
    assert [key["status"] for key in listed].count("revoked") == CONNECTIONS
    assert conflicts.rejected_keys


def test_concurrent_changes_right_after_a_demotion_succeed(api, organization, grace, conflicts):
    paths = create_webhooks(api, organization, CONNECTIONS)
    path, owner = f"{organization.path}/members/{grace.id}", organization.owner
    for role in ("member", "admin"):
        assert api.patch(path, caller=owner, json={"role": role}).status == 200
    answers = send_concurrently(lambda n: api.patch(paths[n], caller=grace, json={"description": "Changed at once"}))
    assert success_rate(answers) >= 0.99
    assert f"M#{grace.id}" in {key[1] for key in conflicts.rejected_keys}  # The membership itself is a condition.


def test_a_removal_that_is_held_off_closes_the_epoch_shards(api, organization, grace, conflicts, monkeypatch):
    epoch = EpochSubject(organization_partition(organization.id), grace.id)
    conflicts.try_hold(epoch.shard_keys, hold=True)

    def release_shards(attempt: int, **_: float) -> None:
        if attempt == 1:
            assert table.get(epoch.closing_mark_key)
            conflicts.release(epoch.shard_keys)

    monkeypatch.setattr(unit_of_work, "sleep_with_jittered_backoff", release_shards)
    response = api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
    assert response.status == 204
    # Two attempts, the mark, and the third attempt.
    assert response.calls.call_names.count("dynamodb:TransactWriteItems") == 4


def test_a_member_who_floods_the_service_with_changes_is_removed(api, organization, grace, conflicts):
    paths, numbers, stop = create_webhooks(api, organization, CONNECTIONS), count(), Event()

    def send_changes(n: int) -> list[int]:
        statuses = []
        while not stop.is_set():
            body = {"description": f"Change {next(numbers)}"}
            statuses.append(api.patch(paths[n], caller=grace, json=body).status)
        return statuses

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        futures = [threads.submit(send_changes, n) for n in range(CONNECTIONS)]
        try:
            wait_until(lambda: next(numbers) > CONNECTIONS)
            response = api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        finally:
            stop.set()
        statuses = {status for future in futures for status in future.result()}
    attempts = response.calls.call_names.count("dynamodb:TransactWriteItems")
    assert response.status == 204
    assert conflicts.rejected_keys
    assert attempts < MAX_ATTEMPTS
    assert statuses <= {200, 404}
