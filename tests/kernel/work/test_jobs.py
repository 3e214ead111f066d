"""A job is claimed by one worker at a time, checkpointed, and found again after lost messages and crashes."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, scheduler, tasks
from chalicelib.kernel.work.jobs import LEASE_SECONDS, Job
from chalicelib.kernel.work.jobs import save_progress_and_extend_lease as save
from chalicelib.kernel.work.outbox import Origin, commit
from chalicelib.kernel.work.tasks import UnknownTask, task
from tests.harness import memory_aws
from tests.harness.faults import Fault, inject_fault
from tests.harness.sample_entity import LOG_ID, Parcel, build_parcel, create_parcel
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields, system_origin
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")


class EngineOut(RecordOutput):
    wheels: int


class Engine(Job):
    kind, task = "engine", "engines.build"
    pk, sk = "E#{organization_id}", "{id}"
    output_model: ClassVar[type[EngineOut]] = EngineOut

    organization_id: str = LOG_ID
    wheels: int = 0


class Carriage(Engine):
    kind, task = "carriage", "carriages.build"


del KINDS["engine"], KINDS["carriage"]


def create_engine(lease_until: str | None = "now") -> Engine:
    """Store an engine whose job can be claimed from a time on."""
    with committed_changes() as changes:
        lease_end = now() if lease_until == "now" else lease_until
        return changes.create(Engine(**new_id_and_time_fields(now()), lease_until=lease_end))


def job_message(engine: Job) -> dict[str, str]:
    pk, sk = engine.item_key
    return {"task": engine.task, "pk": pk, "sk": sk}


def claim(engine):
    return jobs.claim(Engine, job_message(engine))


def create_claimed_engine():
    return claim(create_engine())


def load(engine):
    return Engine.from_item(load_item(engine.item_key))


def queued_jobs():
    return [json.loads(body) for body in queued_bodies("jobs")]


def failing_queue():
    return inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None)


class TestClaim:
    def test_a_job_is_leased_to_one_worker_until_the_lease_ends_and_then_queued_again(self, clock):
        timestamp = clock.freeze()
        engine = create_engine()
        with ThreadPoolExecutor(8) as threads:
            (claimed,) = [job for job in threads.map(claim, [engine] * 8) if job]
        assert claimed == load(engine)
        assert (claimed.lease_until, claimed.failures) == (after(timestamp, seconds=LEASE_SECONDS), 1)
        clock.shift(seconds=LEASE_SECONDS - 0.001)
        assert (claim(engine), scheduler.enqueue_due_tasks()) == (None, 0)
        clock.shift(seconds=0.001)
        assert scheduler.enqueue_due_tasks() == 1
        assert claim(engine).failures == 2

    def test_a_job_cannot_be_claimed_before_its_start_time(self, clock):
        engine = create_engine(after(now(), seconds=5))
        assert claim(engine) is None
        clock.shift(seconds=5)
        assert claim(engine).failures == 1

    def test_a_finished_or_deleted_job_or_one_of_another_kind_cannot_be_claimed(self):
        other = create_engine()
        assert jobs.claim(Carriage, job_message(other)) is None
        assert load(other) == other
        engine = create_engine(None)
        assert claim(engine) is None
        memory_aws.delete_item(dict(zip(("pk", "sk"), engine.item_key, strict=True)))
        assert claim(engine) is None


class TestCheckpoint:
    def test_a_checkpoint_stores_progress_and_extends_the_lease(self, clock):
        clock.freeze()
        engine = create_claimed_engine()
        for wheels in (1, 2):
            clock.shift(seconds=100)
            engine = save(engine, wheels=wheels)
            assert engine == load(engine)
            assert (engine.wheels, engine.failures, engine.version) == (wheels, 0, 1)
            assert engine.lease_until == after(now(), seconds=LEASE_SECONDS)

    def test_a_change_of_public_fields_increases_the_version(self):
        engine = save(create_claimed_engine(), status="running")
        assert (engine.version, save(engine, status="running", wheels=1).version) == (2, 2)
        assert engine.updated_at > engine.created_at
        assert jobs.finish(load(engine), status="completed") == load(engine)
        assert load(engine).version == 3

    def test_a_worker_whose_lease_ended_stores_nothing(self, clock):
        outdated = create_claimed_engine()
        clock.shift(seconds=LEASE_SECONDS)
        current = save(claim(outdated), wheels=2)
        changes = UnitOfWork(now())
        changes.create(build_parcel("a"))
        for store in (save, jobs.finish, jobs.release, lambda job, wheels: save(job, changes, wheels=wheels)):
            with pytest.raises(ConcurrentModification):
                store(outdated, wheels=1)
        assert load(outdated) == current
        assert [item["pk"] for item in memory_aws.all_items()] == [current.item_key[0]]
        assert queued_jobs() == []

    @pytest.mark.parametrize("store", [save, jobs.finish])
    def test_other_changes_are_written_with_the_checkpoint_or_the_end_of_the_job(self, store):
        changes = UnitOfWork(now())
        created = changes.create(build_parcel("a"))
        engine = store(create_claimed_engine(), changes, wheels=1)
        assert load(engine).wheels == 1
        assert table.get(created.item_key)

    def test_a_conflict_in_other_changes_prevents_the_checkpoint(self):
        engine, created, changes = create_claimed_engine(), create_parcel("a"), UnitOfWork(now())
        with committed_changes() as other:
            other.update(created, weight=2)
        changes.update(created, weight=3)
        with pytest.raises(ConcurrentModification):
            save(engine, changes, wheels=1)
        assert load(engine) == engine


class TestRelease:
    def test_the_next_slice_starts_at_once_by_a_message(self):
        engine = jobs.release(create_claimed_engine(), wheels=4)
        assert queued_jobs() == [job_message(engine)]
        engine = claim(engine)
        assert (engine.wheels, engine.failures) == (4, 1)

    def test_a_delayed_slice_is_started_by_the_sweep(self, clock):
        clock.freeze()
        engine = jobs.release(create_claimed_engine(), delay_seconds=600)
        assert queued_jobs() == []
        clock.shift(seconds=599)
        assert scheduler.enqueue_due_tasks() == 0
        assert claim(engine) is None
        clock.shift(seconds=1)
        assert scheduler.enqueue_due_tasks() == 1
        assert queued_jobs() == [job_message(engine)]

    def test_the_sweep_starts_a_slice_whose_message_was_not_sent(self):
        engine = create_claimed_engine()
        with failing_queue(), pytest.raises(Problem, match="unavailable"):
            jobs.release(engine, wheels=1)
        assert scheduler.enqueue_due_tasks() == 1
        assert claim(engine).wheels == 1

    def test_slices_without_a_checkpoint_are_counted_as_failures(self):
        engine = create_engine()
        for failures in (1, 2, 3):
            engine = claim(engine)
            assert engine.failures == failures
            engine = jobs.release(engine)
        engine = jobs.release(save(claim(engine), wheels=1))
        assert claim(engine).failures == 1

    def test_a_checkpoint_in_the_slice_resets_the_backoff(self, clock):
        timestamp = clock.freeze()
        engine = save(create_claimed_engine(), wheels=1)
        jobs.release_with_growing_delay(engine)
        assert after(timestamp, seconds=48) <= load(engine).lease_until <= after(timestamp, seconds=72)


def test_a_finished_job_is_neither_claimed_nor_due(clock):
    engine = jobs.finish(create_claimed_engine(), wheels=9)
    assert (load(engine).wheels, load(engine).lease_until) == (9, None)
    assert claim(engine) is None
    clock.shift(days=1)
    assert scheduler.enqueue_due_tasks() == 0


def test_a_job_without_a_message_is_queued_and_can_be_claimed_by_an_earlier_message():
    engine = create_engine()
    assert scheduler.enqueue_due_tasks() == 1
    assert queued_jobs() == [job_message(engine)]
    assert save(claim(engine), wheels=1) == load(engine)
    assert claim(engine) is None


class TestEnqueueAfterCommit:
    """The message of a job that a mutation starts is part of the message that notifies the ledger."""

    @staticmethod
    def order_engine(engine: Engine | None = None) -> Engine:
        changes = UnitOfWork(now())
        engine = changes.create(engine or Engine(**new_id_and_time_fields(now()), lease_until=now()))
        changes.enqueue_after_commit(Engine.task, engine)
        changes.event(engine)
        outbox.commit(changes, system_origin("engine.ordered"))
        return engine

    def test_one_message_notifies_the_ledger_whose_worker_forwards_the_jobs_message(self, workers):
        engine = self.order_engine()
        (message,) = queued_bodies("events.fifo")
        assert json.loads(message) == {"log": LOG_ID, "then": [job_message(engine)]}
        assert queued_jobs() == []
        # The service has no task that builds engines.
        assert workers.try_deliver().failed_bodies == [json.dumps(job_message(engine) | {"turn": 2})]
        assert queued_bodies("events.fifo") == []

    def test_a_missing_queue_does_not_block_the_log(self, workers, configure):
        engine = self.order_engine()
        queue = settings().jobs_queue_url
        configure(jobs_queue_url=queue.replace("jobs", "gone"))
        assert workers.try_deliver().failed_bodies == []
        configure(jobs_queue_url=queue)
        assert queued_jobs() == []
        assert scheduler.enqueue_due_tasks() == 1
        assert queued_jobs() == [job_message(engine)]

    def test_a_failed_commit_starts_no_job(self):
        with pytest.raises(ConcurrentModification):
            self.order_engine(create_engine())
        assert queued_bodies("events.fifo") == queued_jobs() == []


@pytest.fixture
def no_tasks(monkeypatch):
    monkeypatch.setattr(tasks, "_tasks", {})


def send(_message: dict[str, Any]) -> None:
    """Send nothing."""


def weigh(_message: dict[str, Any]) -> None:
    """Weigh nothing."""


def unit_with_new_parcel(event_type=None):
    unit_of_work = UnitOfWork(now())
    unit_of_work.event(unit_of_work.create(build_parcel("a")), event_type)
    return unit_of_work


@pytest.mark.usefixtures("no_tasks")
def test_only_a_declared_event_is_committed():
    task("parcels.send", emits={"parcel.sent": Parcel})(send)
    task("parcels.weigh")(weigh)
    for name in ("parcels.send", "parcels.weigh"):
        with pytest.raises(ValueError, match=r"does not declare that it emits 'parcel\.lost'"):
            commit(unit_with_new_parcel("parcel.lost"), Origin.system(name))
    undeclared = UnitOfWork(now())
    undeclared.create(build_parcel("a"))
    with pytest.raises(ValueError, match="no event"):
        commit(undeclared, Origin.system("parcels.send"))
    assert memory_aws.all_items() == []
    commit(unit_with_new_parcel(), Origin.system("parcels.send"))
    assert [item["type"] for item in memory_aws.all_items() if item.get("kind") == "entry"] == ["parcel.sent"]
    registered = {each.name: each.emits for each in tasks.all_tasks()}
    assert registered == {"parcels.send": {"parcel.sent": Parcel}, "parcels.weigh": {}}


@pytest.mark.usefixtures("no_tasks")
def test_tasks_have_unique_names_and_only_known_ones_are_origins():
    with pytest.raises(UnknownTask):
        Origin.system("parcels.send")
    task("parcels.send")(send)
    with pytest.raises(ValueError, match="two tasks are named"):
        task("parcels.send")(weigh)
