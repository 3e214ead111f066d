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
from tests.harness.api import ApiResponse
from tests.harness.organizations import create_api_key
from tests.harness.waiting import wait_until

MAX_ATTEMPTS = 20
CHANGE = {"description": "Changed at once"}


@pytest.fixture(params=[20, pytest.param(50, marks=pytest.mark.exhaustive)])
def connections(request):
    return request.param


@pytest.fixture(params=["a person", "a key"])
def caller(request, api, organization, grace):
    return grace if request.param == "a person" else create_api_key(api, organization, "admin")


@pytest.fixture
def send_concurrently(connections):
    """A function that sends a request for each connection and returns the share that succeeded."""

    def send_concurrently(send: Callable[[int], ApiResponse]) -> float:
        with ThreadPoolExecutor(connections) as threads:
            answers = [*threads.map(send, range(connections))]
        return sum(answer.status < 300 for answer in answers) / len(answers)

    return send_concurrently


@pytest.fixture
def webhook_paths(api, organization, connections):
    path, owner = f"{organization.path}/webhooks", organization.owner
    bodies = [{"url": f"https://hooks.example.com/{n}", "events": ["*"]} for n in range(connections)]
    return [api.post(path, caller=owner, json=body).location for body in bodies]


def test_concurrent_creations_of_one_type_succeed(api, organization, caller, conflicts, send_concurrently):
    path, bodies = f"{organization.path}/invite", [{"email": f"person-{n}@example.org"} for n in range(50)]
    assert send_concurrently(lambda n: api.post(path, caller=caller, json=bodies[n])) >= 0.99
    assert conflicts.rejected_keys  # The transactions did conflict.


def test_concurrent_changes_succeed(api, caller, webhook_paths, conflicts, send_concurrently):
    assert send_concurrently(lambda n: api.patch(webhook_paths[n], caller=caller, json=CHANGE)) >= 0.99
    shared = {key for key in conflicts.rejected_keys if chain_shard_or_none({"sk": key[1]}) is None}
    assert {key[1].partition("#")[0] for key in shared} == {"EPOCH"}  # They share nothing else but the log's chains.


def test_concurrent_revocations_succeed(api, organization, caller, connections, conflicts, send_concurrently):
    path, owner = organization.api_keys_path, organization.owner
    paths = [api.post(path, caller=owner, json={"name": f"Key {n}"}).location for n in range(connections)]
    assert send_concurrently(lambda n: api.delete(paths[n], caller=caller)) >= 0.99
    listed = api.get_items(path, caller=owner, query={"limit": 100})
    assert [key["status"] for key in listed].count("revoked") == connections
    assert conflicts.rejected_keys


def test_concurrent_changes_right_after_a_demotion_succeed(
    api, organization, grace, webhook_paths, conflicts, send_concurrently
):
    for role in ("member", "admin"):
        path = f"{organization.path}/members/{grace.id}"
        assert api.patch(path, caller=organization.owner, json={"role": role}).status == 200
    assert send_concurrently(lambda n: api.patch(webhook_paths[n], caller=grace, json=CHANGE)) >= 0.99
    assert f"M#{grace.id}" in {key[1] for key in conflicts.rejected_keys}  # The membership itself is a condition.


def test_a_removal_that_is_held_off_closes_the_epoch_shards(api, organization, grace, conflicts, monkeypatch):
    epoch = EpochSubject(organization_partition(organization.id), grace.id)
    conflicts.try_hold(epoch.shard_keys, hold=True)

    def release_shards(attempt: int, **_: float) -> None:
        if attempt == 1:
            assert table.get(epoch.closing_mark_key)
            conflicts.release(epoch.shard_keys)

    monkeypatch.setattr(unit_of_work, "sleep_with_jittered_backoff", release_shards)
    response = api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner).expect(204)
    # Two attempts, the mark, and the third attempt.
    assert response.calls.call_names.count("dynamodb:TransactWriteItems") == 4


def test_a_member_who_floods_the_service_with_changes_is_removed(
    api, organization, grace, connections, webhook_paths, conflicts
):
    numbers, stop = count(), Event()

    def send_changes(path: str) -> list[int]:
        statuses = []
        while not stop.is_set():
            body = {"description": f"Change {next(numbers)}"}
            statuses.append(api.patch(path, caller=grace, json=body).status)
        return statuses

    with ThreadPoolExecutor(connections) as threads:
        futures = [threads.submit(send_changes, path) for path in webhook_paths]
        try:
            wait_until(lambda: next(numbers) > connections)
            response = api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner)
        finally:
            stop.set()
        statuses = {status for future in futures for status in future.result()}
    assert response.status == 204
    assert conflicts.rejected_keys
    assert response.calls.call_names.count("dynamodb:TransactWriteItems") < MAX_ATTEMPTS
    assert statuses <= {200, 404}
