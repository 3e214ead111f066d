"""Jobs: taken by one worker at a time, kept step by step, found again whatever becomes of messages and workers."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, scheduler
from chalicelib.kernel.work.jobs import LEASE_SECONDS, Job
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.parcels import LOG, parcel
from tests.harness.parcels import stored as stored_parcel
from tests.harness.stored_records import beginning, by_itself
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("aws")


class EngineOut(RecordOutput):
    wheels: int


class Engine(Job):
    """An engine that is built wheel by wheel."""

    kind, task = "engine", "engines.build"
    pk, sk = "E#{organization_id}", "{id}"
    output_model: ClassVar[type[EngineOut]] = EngineOut

    organization_id: str = LOG
    wheels: int = 0


class Carriage(Engine):
    """A carriage, that could be mistaken for an engine."""

    kind, task = "carriage", "carriages.build"


del KINDS["engine"], KINDS["carriage"]


def ordered(lease_until: str | None = "now") -> Engine:
    """Return an engine that is ordered, and may be built from a moment on."""
    changes = UnitOfWork(now())
    engine = changes.create(Engine(**beginning(now()), lease_until=now() if lease_until == "now" else lease_until))
    changes.commit()
    return engine


def message(engine: Job | None) -> dict[str, str]:
    """Return the message that starts a job."""
    assert engine is not None
    pk, sk = engine.item_key
    return {"task": engine.task, "pk": pk, "sk": sk}


def taken(engine: Engine) -> Engine:
    """Return the engine in the hands of a worker."""
    found = jobs.claim(Engine, message(engine))
    assert found is not None
    return found


def stored(engine: Engine) -> Engine:
    """Return the engine as the table holds it."""
    item = table.get(engine.item_key)
    assert item is not None
    return Engine.from_item(item)


class TestTake:
    def test_a_job_is_its_takers_for_a_while(self, clock: Clock) -> None:
        moment = clock.freeze()
        engine = taken(ordered())
        assert engine == stored(engine)
        assert (engine.lease_until, engine.failures) == (after(moment, seconds=LEASE_SECONDS), 1)

    def test_of_many_workers_at_once_one_takes_it(self) -> None:
        engine = ordered()
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: jobs.claim(Engine, message(engine)), range(8)))
        assert sum(one is not None for one in found) == 1

    def test_it_is_anothers_until_its_time_is_over(self, clock: Clock) -> None:
        clock.freeze()
        engine = taken(ordered())
        clock.shift(seconds=LEASE_SECONDS - 0.001)
        assert jobs.claim(Engine, message(engine)) is None
        clock.shift(seconds=0.001)
        assert taken(engine).failures == 2

    def test_it_is_nobodys_before_its_turn(self, clock: Clock) -> None:
        engine = ordered(after(now(), seconds=5))
        assert jobs.claim(Engine, message(engine)) is None
        clock.shift(seconds=5)
        assert taken(engine).failures == 1

    def test_there_is_nothing_to_take_of_what_is_done_or_gone(self) -> None:
        engine = ordered(None)
        assert jobs.claim(Engine, message(engine)) is None
        cloud.remove(dict(zip(("pk", "sk"), engine.item_key, strict=True)))
        assert jobs.claim(Engine, message(engine)) is None

    def test_a_job_of_another_kind_is_not_taken_for_it(self) -> None:
        engine = ordered()
        assert jobs.claim(Carriage, message(engine)) is None
        assert stored(engine) == engine


class TestKeep:
    def test_it_stores_what_was_done_and_holds_the_job_for_longer(self, clock: Clock) -> None:
        clock.freeze()
        engine = taken(ordered())
        clock.shift(seconds=100)
        engine = jobs.checkpoint(engine, wheels=1)
        assert engine == stored(engine)
        assert (engine.wheels, engine.failures, engine.version) == (1, 0, 1)
        assert engine.lease_until == after(now(), seconds=LEASE_SECONDS)

    def test_what_callers_see_of_it_is_a_version_of_its_own(self) -> None:
        engine = jobs.checkpoint(taken(ordered()), status="running")
        assert (engine.version, jobs.checkpoint(engine, status="running", wheels=1).version) == (2, 2)
        assert engine.updated_at > engine.created_at
        assert jobs.finish(stored(engine), status="completed") == stored(engine)
        assert stored(engine).version == 3

    def test_time_after_time(self) -> None:
        engine = taken(ordered())
        for wheels in (1, 2, 3):
            engine = jobs.checkpoint(engine, wheels=wheels)
        assert stored(engine).wheels == 3

    def test_whoever_was_too_slow_has_lost_it_and_stores_nothing(self, clock: Clock) -> None:
        slow = taken(ordered())
        clock.shift(seconds=LEASE_SECONDS)
        quick = jobs.checkpoint(taken(slow), wheels=2)
        changes = UnitOfWork(now())
        changes.create(parcel("a"))
        for give in (jobs.checkpoint, jobs.finish, jobs.release):
            with pytest.raises(ConcurrentModification):
                give(slow, wheels=1)
        with pytest.raises(ConcurrentModification):
            jobs.checkpoint(slow, changes, wheels=1)
        assert stored(slow) == quick
        assert [item["pk"] for item in cloud.stored()] == [quick.item_key[0]]
        assert bodies("jobs") == []

    def test_what_goes_with_it_is_done_with_it(self) -> None:
        changes = UnitOfWork(now())
        made = changes.create(parcel("a"))
        engine = jobs.checkpoint(taken(ordered()), changes, wheels=1)
        assert stored(engine).wheels == 1
        assert table.get(made.item_key)

    def test_what_goes_with_it_and_was_changed_meanwhile_lets_nothing_be_kept(self) -> None:
        engine, made = taken(ordered()), stored_parcel("a")
        other = UnitOfWork(now())
        other.update(made, weight=2)
        other.commit()
        changes = UnitOfWork(now())
        changes.update(made, weight=3)
        with pytest.raises(ConcurrentModification):
            jobs.checkpoint(engine, changes, wheels=1)
        assert stored(engine) == engine


class TestPassOn:
    def test_the_next_turn_begins_at_once_by_a_message(self) -> None:
        engine = jobs.release(taken(ordered()), wheels=4)
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]
        engine = taken(engine)
        assert (engine.wheels, engine.failures) == (4, 1)

    def test_the_next_turn_begins_later_by_the_sweep(self, clock: Clock) -> None:
        clock.freeze()
        engine = jobs.release(taken(ordered()), seconds=600)
        assert bodies("jobs") == []
        clock.shift(seconds=599)
        assert scheduler.enqueue_due() == 0
        assert jobs.claim(Engine, message(engine)) is None
        clock.shift(seconds=1)
        assert scheduler.enqueue_due() == 1
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]

    def test_if_its_message_can_not_be_sent_the_sweep_finds_it(self) -> None:
        engine = taken(ordered())
        throttled = failing(Fault.THROTTLED, name="sqs:SendMessage", times=None)
        with throttled, pytest.raises(Problem, match="unavailable"):
            jobs.release(engine, wheels=1)
        assert scheduler.enqueue_due() == 1
        assert taken(engine).wheels == 1

    def test_turns_that_came_to_nothing_are_counted_until_something_is_kept(self) -> None:
        engine = ordered()
        for failures in (1, 2, 3):
            engine = taken(engine)
            assert engine.failures == failures
            engine = jobs.release(engine)
        engine = jobs.release(jobs.checkpoint(taken(engine), wheels=1))
        assert taken(engine).failures == 1


class TestTryAgain:
    def test_what_was_kept_in_the_turn_lets_the_pauses_begin_anew(self, clock: Clock) -> None:
        moment = clock.freeze()
        engine = jobs.checkpoint(taken(ordered()), wheels=1)
        jobs.retry_later(engine)
        lease_until = stored(engine).lease_until
        assert lease_until is not None
        assert after(moment, seconds=48) <= lease_until <= after(moment, seconds=72)


class TestEnd:
    def test_nobody_takes_it_again_and_nothing_is_due(self, clock: Clock) -> None:
        engine = jobs.finish(taken(ordered()), wheels=9)
        assert (stored(engine).wheels, stored(engine).lease_until) == (9, None)
        assert jobs.claim(Engine, message(engine)) is None
        clock.shift(days=1)
        assert scheduler.enqueue_due() == 0

    def test_what_goes_with_it_is_done_with_it(self) -> None:
        changes = UnitOfWork(now())
        made = changes.create(parcel("a"))
        jobs.finish(taken(ordered()), changes)
        assert table.get(made.item_key)


class TestAJob:
    def test_that_nobody_was_told_of_is_found_by_the_sweep(self) -> None:
        engine = ordered()
        assert scheduler.enqueue_due() == 1
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]

    def test_that_is_in_hand_is_left_alone_and_found_when_its_worker_died(self, clock: Clock) -> None:
        clock.freeze()
        engine = taken(ordered())
        clock.shift(seconds=LEASE_SECONDS - 1)
        assert scheduler.enqueue_due() == 0
        clock.shift(seconds=1)
        assert scheduler.enqueue_due() == 1
        assert taken(engine).failures == 2

    def test_that_the_sweep_has_queued_can_be_taken_by_an_earlier_message_too(self) -> None:
        engine = ordered()
        assert scheduler.enqueue_due() == 1
        assert jobs.checkpoint(taken(engine), wheels=1) == stored(engine)
        assert jobs.claim(Engine, message(engine)) is None


class TestAStart:
    """A job that begins with a mutation: its message rides in the one that wakes the ledger."""

    @staticmethod
    def _ordered() -> Engine:
        changes = UnitOfWork(now())
        engine = changes.create(Engine(**beginning(now()), lease_until=now()))
        changes.enqueue_after_commit(Engine.task, engine)
        outbox.commit(changes, "engine.ordered", by_itself("engine.ordered"))
        return engine

    def test_one_message_says_both(self) -> None:
        engine = self._ordered()
        assert [json.loads(body) for body in bodies("events.fifo")] == [{"log": LOG, "then": [message(engine)]}]
        assert bodies("jobs") == []

    def test_the_ledgers_worker_passes_it_on(self, workers: Workers) -> None:
        engine = self._ordered()
        assert workers.attempt().failed == [json.dumps(message(engine))], "no task of the service builds engines"
        assert bodies("events.fifo") == []

    def test_if_the_ledgers_worker_can_not_pass_it_on_the_log_goes_on_and_the_sweep_finds_it(
        self, workers: Workers
    ) -> None:
        engine = self._ordered()
        with failing(Fault.THROTTLED, name="sqs:SendMessage", times=None):
            assert workers.attempt().failed == []
        assert bodies("jobs") == []
        assert scheduler.enqueue_due() == 1
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]

    def test_if_there_is_no_such_queue_the_log_goes_on_all_the_same(
        self, workers: Workers, configure: Configure
    ) -> None:
        engine = self._ordered()
        queue = settings().jobs_queue_url
        configure(jobs_queue_url=queue.replace("jobs", "gone"))
        assert workers.attempt().failed == []
        configure(jobs_queue_url=queue)
        assert scheduler.enqueue_due() == 1
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]

    def test_if_the_message_can_not_be_sent_the_sweep_finds_it(self) -> None:
        with failing(Fault.THROTTLED, name="sqs:SendMessage", times=None):
            engine = self._ordered()
        assert bodies("events.fifo") == []
        assert scheduler.enqueue_due() == 1
        assert [json.loads(body) for body in bodies("jobs")] == [message(engine)]

    def test_nothing_is_started_by_what_was_not_committed(self) -> None:
        engine = ordered()
        changes = UnitOfWork(now())
        changes.create(engine)
        changes.enqueue_after_commit(Engine.task, engine)
        with pytest.raises(ConcurrentModification):
            outbox.commit(changes, "engine.ordered", by_itself("engine.ordered"))
        assert bodies("events.fifo") == bodies("jobs") == []
