"""A job is claimed by one worker at a time, checkpointed, and found again after lost messages and crashes."""

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
from tests.harness import memory_aws
from tests.harness.faults import Fault, inject_fault
from tests.harness.sample_entity import LOG_ID, build_parcel
from tests.harness.sample_entity import create_parcel as stored_parcel
from tests.harness.stored_records import new_id_and_time_fields, system_origin
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")


class EngineOut(RecordOutput):
    wheels: int


class Engine(Job):
    """A job that builds an engine wheel by wheel."""

    kind, task = "engine", "engines.build"
    pk, sk = "E#{organization_id}", "{id}"
    output_model: ClassVar[type[EngineOut]] = EngineOut

    organization_id: str = LOG_ID
    wheels: int = 0


class Carriage(Engine):
    """A job of another kind that has the same fields."""

    kind, task = "carriage", "carriages.build"


del KINDS["engine"], KINDS["carriage"]


def create_engine(lease_until: str | None = "now") -> Engine:
    """Store an engine whose job can be claimed from a time on."""
    changes = UnitOfWork(now())
    engine = changes.create(
        Engine(**new_id_and_time_fields(now()), lease_until=now() if lease_until == "now" else lease_until)
    )
    changes.commit()
    return engine


def job_message(engine: Job | None) -> dict[str, str]:
    """Return the message that starts a job."""
    assert engine is not None
    pk, sk = engine.item_key
    return {"task": engine.task, "pk": pk, "sk": sk}


def claim(engine: Engine) -> Engine:
    """Return the engine after a worker has claimed its job."""
    claimed = jobs.claim(Engine, job_message(engine))
    assert claimed is not None
    return claimed


def load(engine: Engine) -> Engine:
    """Return the engine as stored in the table."""
    item = table.get(engine.item_key)
    assert item is not None
    return Engine.from_item(item)


class TestClaim:
    def test_a_claim_leases_the_job(self, clock):
        timestamp = clock.freeze()
        engine = claim(create_engine())
        assert engine == load(engine)
        assert (engine.lease_until, engine.failures) == (after(timestamp, seconds=LEASE_SECONDS), 1)

    def test_one_of_several_concurrent_claims_succeeds(self):
        engine = create_engine()
        with ThreadPoolExecutor(8) as threads:
            claims = list(threads.map(lambda _: jobs.claim(Engine, job_message(engine)), range(8)))
        assert sum(job is not None for job in claims) == 1

    def test_a_leased_job_cannot_be_claimed_until_the_lease_ends(self, clock):
        clock.freeze()
        engine = claim(create_engine())
        clock.shift(seconds=LEASE_SECONDS - 0.001)
        assert jobs.claim(Engine, job_message(engine)) is None
        clock.shift(seconds=0.001)
        assert claim(engine).failures == 2

    def test_a_job_cannot_be_claimed_before_its_start_time(self, clock):
        engine = create_engine(after(now(), seconds=5))
        assert jobs.claim(Engine, job_message(engine)) is None
        clock.shift(seconds=5)
        assert claim(engine).failures == 1

    def test_a_finished_or_deleted_job_cannot_be_claimed(self):
        engine = create_engine(None)
        assert jobs.claim(Engine, job_message(engine)) is None
        memory_aws.delete_item(dict(zip(("pk", "sk"), engine.item_key, strict=True)))
        assert jobs.claim(Engine, job_message(engine)) is None

    def test_a_job_of_another_kind_cannot_be_claimed(self):
        engine = create_engine()
        assert jobs.claim(Carriage, job_message(engine)) is None
        assert load(engine) == engine


class TestCheckpoint:
    def test_a_checkpoint_stores_progress_and_extends_the_lease(self, clock):
        clock.freeze()
        engine = claim(create_engine())
        clock.shift(seconds=100)
        engine = jobs.save_progress_and_extend_lease(engine, wheels=1)
        assert engine == load(engine)
        assert (engine.wheels, engine.failures, engine.version) == (1, 0, 1)
        assert engine.lease_until == after(now(), seconds=LEASE_SECONDS)

    def test_a_change_of_public_fields_increases_the_version(self):
        engine = jobs.save_progress_and_extend_lease(claim(create_engine()), status="running")
        assert (engine.version, jobs.save_progress_and_extend_lease(engine, status="running", wheels=1).version) == (
            2,
            2,
        )
        assert engine.updated_at > engine.created_at
        assert jobs.finish(load(engine), status="completed") == load(engine)
        assert load(engine).version == 3

    def test_several_checkpoints_are_stored_in_order(self):
        engine = claim(create_engine())
        for wheels in (1, 2, 3):
            engine = jobs.save_progress_and_extend_lease(engine, wheels=wheels)
        assert load(engine).wheels == 3

    def test_a_worker_whose_lease_ended_stores_nothing(self, clock):
        outdated = claim(create_engine())
        clock.shift(seconds=LEASE_SECONDS)
        current = jobs.save_progress_and_extend_lease(claim(outdated), wheels=2)
        changes = UnitOfWork(now())
        changes.create(build_parcel("a"))
        for store in (jobs.save_progress_and_extend_lease, jobs.finish, jobs.release):
            with pytest.raises(ConcurrentModification):
                store(outdated, wheels=1)
        with pytest.raises(ConcurrentModification):
            jobs.save_progress_and_extend_lease(outdated, changes, wheels=1)
        assert load(outdated) == current
        assert [item["pk"] for item in memory_aws.all_items()] == [current.item_key[0]]
        assert queued_bodies("jobs") == []

    def test_other_changes_are_written_with_the_checkpoint(self):
        changes = UnitOfWork(now())
        created = changes.create(build_parcel("a"))
        engine = jobs.save_progress_and_extend_lease(claim(create_engine()), changes, wheels=1)
        assert load(engine).wheels == 1
        assert table.get(created.item_key)

    def test_a_conflict_in_other_changes_prevents_the_checkpoint(self):
        engine, created = claim(create_engine()), stored_parcel("a")
        other = UnitOfWork(now())
        other.update(created, weight=2)
        other.commit()
        changes = UnitOfWork(now())
        changes.update(created, weight=3)
        with pytest.raises(ConcurrentModification):
            jobs.save_progress_and_extend_lease(engine, changes, wheels=1)
        assert load(engine) == engine


class TestRelease:
    def test_the_next_slice_starts_at_once_by_a_message(self):
        engine = jobs.release(claim(create_engine()), wheels=4)
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]
        engine = claim(engine)
        assert (engine.wheels, engine.failures) == (4, 1)

    def test_a_delayed_slice_is_started_by_the_sweep(self, clock):
        clock.freeze()
        engine = jobs.release(claim(create_engine()), delay_seconds=600)
        assert queued_bodies("jobs") == []
        clock.shift(seconds=599)
        assert scheduler.enqueue_due_tasks() == 0
        assert jobs.claim(Engine, job_message(engine)) is None
        clock.shift(seconds=1)
        assert scheduler.enqueue_due_tasks() == 1
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]

    def test_the_sweep_starts_a_slice_whose_message_was_not_sent(self):
        engine = claim(create_engine())
        throttled = inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None)
        with throttled, pytest.raises(Problem, match="unavailable"):
            jobs.release(engine, wheels=1)
        assert scheduler.enqueue_due_tasks() == 1
        assert claim(engine).wheels == 1

    def test_slices_without_a_checkpoint_are_counted_as_failures(self):
        engine = create_engine()
        for failures in (1, 2, 3):
            engine = claim(engine)
            assert engine.failures == failures
            engine = jobs.release(engine)
        engine = jobs.release(jobs.save_progress_and_extend_lease(claim(engine), wheels=1))
        assert claim(engine).failures == 1


class TestRetryLater:
    def test_a_checkpoint_in_the_slice_resets_the_backoff(self, clock):
        timestamp = clock.freeze()
        engine = jobs.save_progress_and_extend_lease(claim(create_engine()), wheels=1)
        jobs.release_with_growing_delay(engine)
        lease_until = load(engine).lease_until
        assert lease_until is not None
        assert after(timestamp, seconds=48) <= lease_until <= after(timestamp, seconds=72)


class TestFinish:
    def test_a_finished_job_is_neither_claimed_nor_due(self, clock):
        engine = jobs.finish(claim(create_engine()), wheels=9)
        assert (load(engine).wheels, load(engine).lease_until) == (9, None)
        assert jobs.claim(Engine, job_message(engine)) is None
        clock.shift(days=1)
        assert scheduler.enqueue_due_tasks() == 0

    def test_other_changes_are_written_with_the_end_of_the_job(self):
        changes = UnitOfWork(now())
        created = changes.create(build_parcel("a"))
        jobs.finish(claim(create_engine()), changes)
        assert table.get(created.item_key)


class TestSweep:
    def test_a_job_without_a_message_is_queued(self):
        engine = create_engine()
        assert scheduler.enqueue_due_tasks() == 1
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]

    def test_a_leased_job_is_queued_only_after_its_lease(self, clock):
        clock.freeze()
        engine = claim(create_engine())
        clock.shift(seconds=LEASE_SECONDS - 1)
        assert scheduler.enqueue_due_tasks() == 0
        clock.shift(seconds=1)
        assert scheduler.enqueue_due_tasks() == 1
        assert claim(engine).failures == 2

    def test_a_queued_job_can_also_be_claimed_by_an_earlier_message(self):
        engine = create_engine()
        assert scheduler.enqueue_due_tasks() == 1
        assert jobs.save_progress_and_extend_lease(claim(engine), wheels=1) == load(engine)
        assert jobs.claim(Engine, job_message(engine)) is None


class TestEnqueueAfterCommit:
    """The message of a job that a mutation starts is part of the message that notifies the ledger."""

    @staticmethod
    def _create_engine() -> Engine:
        changes = UnitOfWork(now())
        engine = changes.create(Engine(**new_id_and_time_fields(now()), lease_until=now()))
        changes.enqueue_after_commit(Engine.task, engine)
        outbox.commit(changes, "engine.ordered", system_origin("engine.ordered"))
        return engine

    def test_one_message_notifies_the_ledger_and_starts_the_job(self):
        engine = self._create_engine()
        assert [json.loads(body) for body in queued_bodies("events.fifo")] == [
            {"log": LOG_ID, "then": [job_message(engine)]}
        ]
        assert queued_bodies("jobs") == []

    def test_the_ledgers_worker_forwards_the_jobs_message(self, workers):
        engine = self._create_engine()
        assert workers.try_deliver().failed_bodies == [json.dumps(job_message(engine))], (
            "the service has no task that builds engines"
        )
        assert queued_bodies("events.fifo") == []

    def test_the_sweep_finds_a_job_whose_message_the_ledgers_worker_cannot_forward(self, workers):
        engine = self._create_engine()
        with inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None):
            assert workers.try_deliver().failed_bodies == []
        assert queued_bodies("jobs") == []
        assert scheduler.enqueue_due_tasks() == 1
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]

    def test_a_missing_queue_does_not_block_the_log(self, workers, configure):
        engine = self._create_engine()
        queue = settings().jobs_queue_url
        configure(jobs_queue_url=queue.replace("jobs", "gone"))
        assert workers.try_deliver().failed_bodies == []
        configure(jobs_queue_url=queue)
        assert scheduler.enqueue_due_tasks() == 1
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]

    def test_the_sweep_finds_a_job_whose_message_cannot_be_sent(self):
        with inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None):
            engine = self._create_engine()
        assert queued_bodies("events.fifo") == []
        assert scheduler.enqueue_due_tasks() == 1
        assert [json.loads(body) for body in queued_bodies("jobs")] == [job_message(engine)]

    def test_a_failed_commit_starts_no_job(self):
        engine = create_engine()
        changes = UnitOfWork(now())
        changes.create(engine)
        changes.enqueue_after_commit(Engine.task, engine)
        with pytest.raises(ConcurrentModification):
            outbox.commit(changes, "engine.ordered", system_origin("engine.ordered"))
        assert queued_bodies("events.fifo") == queued_bodies("jobs") == []
