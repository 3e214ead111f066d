"""A chain of queue messages ends after a hundred turns, and the schedule continues its work."""

import json

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.work import jobs, queues, tasks
from chalicelib.kernel.work.jobs import Job
from chalicelib.kernel.work.queues import MAX_CHAIN_TURNS
from tests.harness.log_records import capture_log_records
from tests.harness.sample_entity import LOG_ID
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")


class Count(Job):
    kind, task = "count", "counts.run"
    pk, sk = "E#{organization_id}", "{id}"

    organization_id: str = LOG_ID
    slices: int = 0
    end: int = 0


del KINDS["count"]


def run_slice(message):
    job = jobs.claim(Count, message)
    if job and job.slices + 1 < job.end:
        jobs.release(job, slices=job.slices + 1)
    elif job:
        jobs.finish(job, slices=job.slices + 1)


@pytest.fixture(autouse=True)
def counting_task(workers, monkeypatch):
    workers.deliver()
    monkeypatch.setitem(tasks._tasks, Count.task, tasks.Task(Count.task, run_slice))  # noqa: SLF001


def create_count(end):
    with committed_changes() as changes:
        return changes.create(Count(**new_id_and_time_fields(now()), lease_until=now(), end=end))


def enqueue(job, further_fields=()):
    pk, sk = job.item_key
    queues.enqueue_message({"task": job.task, "pk": pk, "sk": sk, **dict(further_fields)})


def completed_slices(job):
    return Count.from_item(load_item(job.item_key)).slices


def test_the_sweep_completes_a_job_that_takes_several_chains(workers):
    job = create_count(2 * MAX_CHAIN_TURNS + 1)
    enqueue(job)
    for expected in (MAX_CHAIN_TURNS, 2 * MAX_CHAIN_TURNS, 2 * MAX_CHAIN_TURNS + 1):
        with capture_log_records() as records:
            workers.deliver()
        ended = [record for record in records if "chainEnded" in record]
        assert (completed_slices(job), len(ended)) == (expected, int(expected < job.end))
        assert queued_bodies("jobs") == []
        workers.run_sweep()
    assert queued_bodies("jobs") == [], "the job is done"


def test_the_hundredth_message_is_processed_and_queues_no_further_one(workers):
    job = create_count(MAX_CHAIN_TURNS)
    enqueue(job)
    turns = [json.loads(body).get("turn") for body in workers.deliver()]
    assert turns == [None, *range(2, MAX_CHAIN_TURNS + 1)]
    assert Count.from_item(load_item(job.item_key)).lease_until is None


@pytest.mark.parametrize("turn", [None, 0, -5, True, 2.5, "99"], ids=repr)
def test_a_message_without_a_valid_turn_is_the_first_of_its_chain(workers, turn):
    enqueue(create_count(2), {"turn": turn})
    (body,) = queued_bodies("jobs")
    assert "turn" not in json.loads(body), "only the queue numbers messages"
    with queues.chain_turn_scope({"turn": turn}):
        enqueue(create_count(2))
    assert [json.loads(each).get("turn") for each in queued_bodies("jobs")] == [None, 2]


@pytest.mark.parametrize(
    "enqueue_next",
    [
        lambda: queues.enqueue("counts.run", ("a", "b")),
        lambda: queues.enqueue_at_if_soon("counts.run", ("a", "b"), now()),
        lambda: queues.enqueue_message({"task": "counts.run"}, delay_seconds=60),
        lambda: queues.enqueue_deliveries([("group", {"task": "counts.run"})]),
        lambda: queues.enqueue_delivery_to_slow_recipient({"task": "counts.run"}),
        lambda: queues.notify_ledger(LOG_ID, "once", [("counts.run", ("a", "b"))]),
    ],
    ids=["task", "scheduled task", "message", "deliveries", "slow delivery", "ledger"],
)
@pytest.mark.parametrize(("turn", "following"), [(MAX_CHAIN_TURNS - 1, [MAX_CHAIN_TURNS]), (MAX_CHAIN_TURNS, [])])
def test_every_queue_continues_and_ends_chains(enqueue_next, turn, following):
    with queues.chain_turn_scope({"turn": turn}):
        enqueue_next()
    names = ("jobs", "events.fifo", "deliveries.fifo", "deliveries-slow")
    assert [json.loads(body)["turn"] for name in names for body in queued_bodies(name)] == following
