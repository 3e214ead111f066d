"""Many connections of one caller, where transactions take time and keep each other away from their items."""

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
MOST_TRIES = 20
Ask = Callable[[int], Answer]


@pytest.fixture(params=["a person", "a key"])
def caller(request: pytest.FixtureRequest, api: Api, organization: Founded, grace: Person) -> Caller:
    """An admin."""
    return grace if request.param == "a person" else make_key(api, organization, "admin")


def hooks(api: Api, organization: Founded, number: int) -> list[str]:
    """Return the paths of so many webhooks."""
    path, owner = f"{organization.path}/webhooks", organization.owner
    made = [
        api.post(path, as_=owner, json={"url": f"https://hooks.example.com/{n}", "events": ["*"]})
        for n in range(number)
    ]
    return [answer.location for answer in made]


def keys(api: Api, organization: Founded, number: int) -> list[str]:
    """Return the paths of so many API keys."""
    made = [api.post(organization.keys, as_=organization.owner, json={"name": f"Key {n}"}) for n in range(number)]
    return [answer.location for answer in made]


def at_once(ask: Ask) -> list[Answer]:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return [*threads.map(ask, range(CONNECTIONS))]


def succeeded(answers: list[Answer]) -> float:
    return sum(answer.status < 300 for answer in answers) / len(answers)


def test_what_they_make_of_one_kind_is_made(
    api: Api, organization: Founded, caller: Caller, conflicts: Conflicts
) -> None:
    path = f"{organization.path}/invite"
    answers = at_once(lambda n: api.post(path, as_=caller, json={"email": f"person-{n}@example.org"}))
    assert succeeded(answers) >= 0.99
    assert conflicts.refused  # They met.


def test_what_they_change_is_changed(api: Api, organization: Founded, caller: Caller, conflicts: Conflicts) -> None:
    paths = hooks(api, organization, CONNECTIONS)
    answers = at_once(lambda n: api.patch(paths[n], as_=caller, json={"description": "Changed at once"}))
    assert succeeded(answers) >= 0.99
    shared = {key for key in conflicts.refused if shard_of({"sk": key[1]}) is None}
    assert {key[1].partition("#")[0] for key in shared} == {"EPOCH"}  # They share nothing else but the log's chains.


def test_what_they_end_has_ended(api: Api, organization: Founded, caller: Caller, conflicts: Conflicts) -> None:
    paths = keys(api, organization, CONNECTIONS)
    answers = at_once(lambda n: api.delete(paths[n], as_=caller))
    assert succeeded(answers) >= 0.99
    listed = api.items(organization.keys, as_=organization.owner, query={"limit": 100})
    assert [key["status"] for key in listed].count("revoked") == CONNECTIONS
    assert conflicts.refused


def test_what_they_change_right_after_the_caller_was_demoted_is_changed_too(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts
) -> None:
    paths = hooks(api, organization, CONNECTIONS)
    path, owner = f"{organization.path}/members/{grace.id}", organization.owner
    for role in ("member", "admin"):
        assert api.patch(path, as_=owner, json={"role": role}).status == 200
    answers = at_once(lambda n: api.patch(paths[n], as_=grace, json={"description": "Changed at once"}))
    assert succeeded(answers) >= 0.99
    assert f"M#{grace.id}" in {key[1] for key in conflicts.refused}  # Their membership is a condition itself.


def test_who_is_kept_from_removing_somebody_lets_nobody_check_their_epoch_from_then_on(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = Subject(log_partition(organization.id), grace.id)
    conflicts.take(epoch.shards, to_hold=True)

    def pause(attempt: int, **_: float) -> None:
        if attempt == 1:
            assert table.get(epoch.closing_mark_key)
            conflicts.release(epoch.shards)

    monkeypatch.setattr(unit_of_work, "back_off", pause)
    removed = api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
    assert removed.status == 204
    assert removed.calls.names.count("dynamodb:TransactWriteItems") == 4  # Two tries, the mark, the third try.


def test_whoever_asks_for_more_and_more_is_removed_all_the_same(
    api: Api, organization: Founded, grace: Person, conflicts: Conflicts
) -> None:
    paths, numbers, over = hooks(api, organization, CONNECTIONS), count(), Event()

    def goes_on(n: int) -> list[int]:
        statuses = []
        while not over.is_set():
            said = {"description": f"Change {next(numbers)}"}
            statuses.append(api.patch(paths[n], as_=grace, json=said).status)
        return statuses

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        asked = [threads.submit(goes_on, n) for n in range(CONNECTIONS)]
        try:
            until(lambda: next(numbers) > CONNECTIONS)
            removed = api.delete(f"{organization.path}/members/{grace.id}", as_=organization.owner)
        finally:
            over.set()
        statuses = {status for each in asked for status in each.result()}
    tries = removed.calls.names.count("dynamodb:TransactWriteItems")
    assert removed.status == 204
    assert conflicts.refused
    assert tries < MOST_TRIES
    assert statuses <= {200, 404}
