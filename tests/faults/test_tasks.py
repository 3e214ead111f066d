"""Tasks whose messages come twice, at once, early, late, for nothing or not at all: each is done once, in its time."""

from typing import Final

import pytest

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, ItemKey
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.tasks import get_task
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults import tasks
from tests.faults.table_shapes import Shape, shape
from tests.faults.tasks import EXAMPLES, finished
from tests.faults.variants import calls
from tests.harness import conformance, snapshots
from tests.harness.api import Json
from tests.harness.clock import Clock
from tests.harness.faults import overtaken
from tests.harness.logs import differences

LATER: Final = sorted(name for name, example in EXAMPLES.items() if example.later)
by_task = pytest.mark.parametrize("name", tasks.names())

_done: dict[str, Shape] = {}


@pytest.fixture
def record(name: str, begin: Begin) -> ItemKey:
    """The record that the task is about, before its time."""
    assert name in EXAMPLES, f"give {name} an example in tests/faults/tasks.py"
    found: ItemKey = begin(EXAMPLES[name].given)
    return found


@pytest.fixture
def done(name: str, record: ItemKey, world: World, clock: Clock, begin: Begin) -> Shape:
    """What is there when the task was done by one message, in time."""
    if name not in _done:
        before = shape(snapshots.stored())
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            world.workers.deliver()
            _done[name] = shape(finished(world, clock, EXAMPLES[name].tick))
        assert _done[name] != before
        begin(EXAMPLES[name].given)
    return _done[name]


def work(name: str, record: ItemKey, world: World, clock: Clock) -> None:
    """Let a task be done."""
    with clock.later(**EXAMPLES[name].later):
        queues.enqueue(name, record)
        world.workers.deliver()
        finished(world, clock, EXAMPLES[name].tick)


@by_task
class TestATask:
    def test_whose_message_comes_twice_is_done_once(
        self, name: str, record: ItemKey, done: Shape, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            queues.enqueue(name, record)
            world.workers.deliver()
            assert shape(finished(world, clock, EXAMPLES[name].tick, done)) == done
        evidence.assert_proven()

    def test_emits_what_it_declares_as_the_document_says(
        self, name: str, record: ItemKey, world: World, clock: Clock
    ) -> None:
        work(name, record, world, clock)
        emitted = [e.json for e in evidence.entries() if e.body and e.json["context"]["operationId"] == name]
        declared = get_task(name).emits
        assert bool(emitted) == bool(declared)
        for entry in emitted:
            assert entry["target"]["type"] == declared[entry["type"]].kind
            conformance.check_event(entry)

    def test_says_in_its_entries_what_changed_since_the_entry_before(
        self, name: str, record: ItemKey, world: World, clock: Clock
    ) -> None:
        work(name, record, world, clock)
        told: dict[str, Json] = {}
        for entry in (each.json for each in evidence.entries() if each.body):
            before, now = told.get(entry["target"]["id"]), entry["data"]
            # Of a delivery no entry tells before it has failed.
            if entry["context"]["operationId"] == name and entry["target"]["type"] != WebhookDelivery.kind:
                assert before
                changes = sorted(entry["changes"], key=lambda change: str(change["field"]))
                unlogged = KINDS[entry["target"]["type"]].untracked_fields
                expected = [change for change in differences(before, now) if change["field"] not in unlogged]
                assert changes == expected  # The bytes of an entry are in the order of the alphabet.
            told[entry["target"]["id"]] = now

    def test_that_two_workers_do_at_once_is_done_once(
        self, name: str, record: ItemKey, done: Shape, world: World, clock: Clock, begin: Begin
    ) -> None:
        for at in calls():
            begin(EXAMPLES[name].given)
            with clock.later(**EXAMPLES[name].later):
                queues.enqueue(name, record)
                queues.enqueue(name, record)
                with overtaken(world.workers.attempt, at=at) as overtaking:
                    world.workers.attempt()
                if not overtaking.hit:
                    break
                ended = finished(world, clock, EXAMPLES[name].tick, done)
            assert shape(ended) == done, f"overtaken before {overtaking.hit}, call {at}"
            evidence.assert_proven(ended)
        assert at > 1

    def test_whose_message_comes_late_finds_nothing_to_do(
        self, name: str, record: ItemKey, done: Shape, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            queues.enqueue(name, record)
            world.workers.deliver()
            ended = finished(world, clock, EXAMPLES[name].tick, done)
            queues.enqueue(name, record)
            world.workers.deliver()
            assert snapshots.stored() == ended

    def test_whose_message_is_lost_is_found_by_its_schedule(
        self, name: str, done: Shape, world: World, clock: Clock
    ) -> None:
        with clock.later(**EXAMPLES[name].later):
            EXAMPLES[name].tick(world)
            world.workers.deliver()
            assert shape(finished(world, clock, EXAMPLES[name].tick, done)) == done

    def test_about_a_record_that_is_gone_does_nothing(self, name: str, record: ItemKey, world: World) -> None:
        before = snapshots.stored()
        queues.enqueue(name, (f"{record[0]}0", record[1]))
        world.workers.deliver()
        assert snapshots.stored() == before

    def test_leaves_a_record_that_is_another_tasks_as_it_is(
        self, name: str, world: World, begin: Begin, clock: Clock
    ) -> None:
        for other in (other for other in EXAMPLES if other != name):
            key = begin(EXAMPLES[other].given)
            with clock.later(**EXAMPLES[other].later):
                before = table.get(key)
                assert before
                queues.enqueue(name, key)
                world.workers.attempt()
                assert table.get(key) == before, other


@pytest.mark.parametrize("name", LATER)
def test_a_task_whose_message_comes_early_is_not_done(name: str, world: World, clock: Clock) -> None:
    clock.freeze()
    record = EXAMPLES[name].given(world)
    before = snapshots.stored()
    queues.enqueue(name, record)
    world.workers.deliver()
    assert snapshots.stored() == before
