"""Many connections of one caller, while transactions take time and exclude each other from their items."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event

import pytest

from chalicelib.kernel.audit_log.mac_chains import shard_of
from chalicelib.kernel.permissions.access_epochs import Subject, log_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions import unit_of_work
from tests.harness.api import Answer, Api
from tests.harness.callers import Caller, Person
from tests.harness.conflicts import Conflicts
from tests.harness.organizations import Founded, make_key
from tests.harness.waiting import until

CONNECTIONS = 50
MAX_ATTEMPTS = 20
Send = Callable[[int], Answer]


@pytest.fixture(params=["a person", "a key"])
def caller(request: pytest.FixtureRequest, api: Api, organization: Founded, grace: Person) -> Caller:
    """An admin."""
    return grace if request.param == "a person" else make_key(api, organization, "admin")


def create_webhooks(api: Api, organization: Founded, count: int) -> list[str]:
    """Create webhooks and return their paths."""
    path, owner = f"{organization.path}/webhooks", organization.owner
    responses = [
        api.post(path, as_=owner, json={"url": f"https://hooks.example.com/{n}", "events": ["*"]}) for n in range(count)
    ]
    return [answer.location for answer in responses]


def create_keys(api: Api, organization: Founded, count: int) -> list[str]:
    """Create API keys and return their paths."""
    responses = [api.post(organization.keys, as_=organization.owner, json={"name": f"Key {n}"}) for n in range(count)]
    return [answer.location for answer in responses]


def send_concurrently(send: Send) -> list[Answer]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return [*threads.map(send, range(CONNECTIONS))]


def success_rate(answers: list[Answer]) -> float:
    return sum(answer.status < 300 for answer in answers) / len(answers)


def test_concurrent_creations_of_one_type_succeed(
    api: Api, organization: Founded, caller: Caller, conflicts: Conflicts
) -> None:
    path = f"{organization.path}/invite"
    answers = send_concurrently(lambda n: api.post(path, as_=caller, json={"email": f"person-{n}@example.org"}))
    assert success_rate(answers) >= 0.99
    assert conflicts.refused  # The transactions did conflict.


def test_concurrent_changes_succeed(api: Api, organization: Founded, caller: Caller, conflicts: Conflicts) -> None:
    paths = create_webhooks(api, organization, CONNECTIONS)
    answers = send_concurrently(lambda n: api.patch(paths[n], as_=caller, json={"description": "Changed at once"}))
    assert success_rate(answers) >= 0.99
    shared = {key for key in conflicts.refused if shard_of({"sk": key[1]}) is None}
    assert {key[1].partition("#")[0] for key in shared} == {"EPOCH"}  # They share nothing else but the log's chains.


def test_concurrent_revocations_succeed(api: Api, organization: Founded, caller: Caller, conflicts: Conflicts) -> None:
    paths = create_keys(api, organization, CONNECTIONS)
    answers = send_concurrently(lambda n: api.delete(paths[n], as_=caller))
    assert success_rate(answers) >= 0.99
    listed = api.items(organization.keys, as_=organization.owner, query={"limit": 100})
    assert [key["status"] for key in listed].count("revoked") == CONNECTIONS
    assert conflicts.refused


def test_concurrent_changes_right_after_a_demotion_succeed(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts
) -> None:
    paths = create_webhooks(api, organization, CONNECTIONS)
    path, owner = f"{organization.path}/members/{grace.id}", organization.owner
    for role in ("member", "admin"):
        assert api.patch(path, as_=owner, json={"role": role}).status == 200
    answers = send_concurrently(lambda n: api.patch(paths[n], as_=grace, json={"description": "Changed at once"}))
    assert success_rate(answers) >= 0.99
    assert f"M#{grace.id}" in {key[1] for key in conflicts.refused}  # The membership itself is a condition.


def test_a_removal_that_is_held_off_closes_the_epoch_shards(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = Subject(log_partition(organization.id), grace.id)
    conflicts.take(epoch.shards, to_hold=True)

    def release_shards(attempt: int, **_: float) -> None:
        if attempt == 1:
            assert table.get(epoch.closing_mark_key)
            conflicts.release(epoch.shards)

    monkeypatch.setattr(unit_of_work, "back_off", release_shards)
    response = api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
    assert response.status == 204
    # Two attempts, the mark, and the third attempt.
    assert response.calls.names.count("dynamodb:TransactWriteItems") == 4


def test_a_member_who_floods_the_service_with_changes_is_removed(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts
) -> None:
    paths, numbers, stop = create_webhooks(api, organization, CONNECTIONS), count(), Event()

    def send_changes(n: int) -> list[int]:
        statuses = []
        while not stop.is_set():
            body = {"description": f"Change {next(numbers)}"}
            statuses.append(api.patch(paths[n], as_=grace, json=body).status)
        return statuses

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        futures = [threads.submit(send_changes, n) for n in range(CONNECTIONS)]
        try:
            until(lambda: next(numbers) > CONNECTIONS)
            response = api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        finally:
            stop.set()
        statuses = {status for future in futures for status in future.result()}
    attempts = response.calls.names.count("dynamodb:TransactWriteItems")
    assert response.status == 204
    assert conflicts.refused
    assert attempts < MAX_ATTEMPTS
    assert statuses <= {200, 404}
