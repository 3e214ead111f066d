"""A sweep ends in time, measures even then, sends in batches, and loses nothing that a queue or a crash leaves over."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.kernel.audit_log.entries import APPEND_TASK
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import after, now, now_ms
from chalicelib.kernel.core.logs import write_log_record_of_block
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, ScheduledTask, schedule_attributes
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.due_items import MIN_LEASE_SECONDS
from chalicelib.kernel.work.queues import BatchResult
from chalicelib.kernel.work.scheduler import (
    DEADLINE_SECONDS,
    MEASURING_DEADLINE_SECONDS,
    enqueue_due_tasks,
    read_oldest_due_task_and_entry_times,
)
from tests.harness import memory_aws
from tests.harness.aws_calls import Call, Interference, interfere_with_calls, record_calls
from tests.harness.clock import Clock
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.sample_entity import LOG_ID, create_logged_parcel, create_parcel
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")

CLAIM = "dynamodb:TransactWriteItems"
SEND = "sqs:SendMessageBatch"
SHARD = f"DUE#{sum(b'P#a') % SCHEDULE_SHARDS}"
"""The shard of the first due items. All items are there if there is one shard."""


class SlowCalls(Interference):
    """Calls with a name, and a text in their parameters, take some seconds each."""

    def __init__(self, clock: Clock, call_name: str, seconds: float, text: str = "") -> None:
        self._clock, self._call_name, self._seconds, self._text = clock, call_name, seconds, text

    def before_call(self, call: Call) -> None:
        if call.name == self._call_name and self._text in str(call.parameters):
            self._clock.shift(seconds=self._seconds)


def create_due_items(count: int, *, shards: int = SCHEDULE_SHARDS) -> None:
    """Store due items, spread over some shards. The oldest has been due for an hour."""
    for number in range(count):
        key = f"P#{chr(ord('a') + number % shards)}", f"{number:05d}"
        due = ScheduledTask("parcels.send", after(now(), seconds=number - 3600 if number < 3600 else 0))
        memory_aws.put_item({"pk": key[0], "sk": key[1], **schedule_attributes(due, key)})


@contextmanager
def rejected_tasks(monkeypatch: pytest.MonkeyPatch, *names: str, code: str = "InternalError") -> Iterator[None]:
    """Let the queues reject the messages that contain one of the names, and accept the others of the same call."""
    client = aws.client("sqs")
    send = client.send_message_batch

    def send_some(*, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - names of boto3
        rejected = [entry for entry in Entries if any(name in entry["MessageBody"] for name in names)]
        accepted = [entry for entry in Entries if entry not in rejected]
        response = send(QueueUrl=QueueUrl, Entries=accepted) if accepted else {}
        return {**response, "Failed": [{"Id": e["Id"], "Code": code, "SenderFault": False} for e in rejected]}

    with monkeypatch.context() as patched:
        patched.setattr(client, "send_message_batch", send_some)
        yield


def failing_sweep() -> list[dict[str, Any]]:
    """Run a sweep that fails, and return its log records."""
    with capture_log_records() as records, pytest.raises(Problem), write_log_record_of_block("schedule", "sweep"):
        enqueue_due_tasks()
    return records


def test_a_sweep_over_thousands_of_tasks_ends_at_its_deadline_and_has_measured_all(clock):
    clock.freeze()
    create_due_items(3000)
    started_ms = now_ms()
    with (
        capture_log_records() as records,
        interfere_with_calls(SlowCalls(clock, CLAIM, 0.1)),
        write_log_record_of_block("schedule", "sweep"),
    ):
        queued = enqueue_due_tasks()
    assert DEADLINE_SECONDS <= (now_ms() - started_ms) / 1000 <= DEADLINE_SECONDS + SCHEDULE_SHARDS * 0.1
    assert 300 < queued < 500
    assert embedded_metrics(records[0], "stage") == {"DueLag": 3_600_000}
    assert enqueue_due_tasks() > 3000 - 500, "the next sweep continues"


def test_the_measure_counts_tasks_that_are_left_for_later(clock):
    clock.freeze()
    create_due_items(100, shards=1)
    with (
        capture_log_records() as records,
        interfere_with_calls(SlowCalls(clock, "dynamodb:Query", DEADLINE_SECONDS, SHARD)),
        write_log_record_of_block("schedule", "sweep"),
    ):
        assert enqueue_due_tasks() == 0
    assert embedded_metrics(records[0], "stage") == {"DueLag": 3_600_000}


def test_reads_for_the_measure_end_before_the_function_times_out(clock):
    clock.freeze()
    create_due_items(3000, shards=1)
    with record_calls() as calls, interfere_with_calls(SlowCalls(clock, "dynamodb:Query", 22, SHARD)):
        enqueue_due_tasks()
    reads = [call for call in calls.call_list if call.name == "dynamodb:Query" and SHARD in str(call.parameters)]
    assert len(reads) == 3
    assert 2 * 22 < MEASURING_DEADLINE_SECONDS < 3 * 22


def test_a_sweep_that_reads_nothing_reports_no_lag():
    create_due_items(1)
    with inject_fault(Fault.TIMED_OUT, call_name="dynamodb:Query", times=None):
        records = failing_sweep()
    assert embedded_metrics(records[0], "stage") == {}
    with capture_log_records() as records, write_log_record_of_block("schedule", "sweep"):
        enqueue_due_tasks()
    assert embedded_metrics(records[0], "stage")["DueLag"] >= 3_600_000


def test_tasks_are_sent_in_batches():
    create_due_items(400)
    with record_calls() as calls:
        assert enqueue_due_tasks() == 400
    assert calls.call_names.count(CLAIM) == 400
    assert calls.call_names.count(SEND) == 400 / queues.MAX_BATCH_SIZE
    assert len(calls.call_names) == 400 + 40 + SCHEDULE_SHARDS
    assert len({*queued_bodies("jobs")}) == 400


def test_the_shards_are_swept_side_by_side():
    create_due_items(8)
    with record_calls() as calls:
        enqueue_due_tasks()
    assert all(call.is_concurrent for call in calls.call_list)


def test_only_the_tasks_that_a_queue_rejected_are_due_again_at_once(monkeypatch):
    keys = [create_parcel(str(n), due_at=now(), sent=False).item_key for n in range(15)]
    with rejected_tasks(monkeypatch, keys[3][1], keys[12][1]):
        records = failing_sweep()
    assert {"DueLag"} <= {*embedded_metrics(records[0], "stage")}
    assert len(queued_bodies("jobs")) == 13
    assert enqueue_due_tasks() == 2
    assert enqueue_due_tasks() == 0
    assert len({*queued_bodies("jobs")}) == 15


def test_a_message_that_a_queue_never_accepts_blocks_no_other_and_fails_no_sweep(monkeypatch):
    keys = [create_parcel(str(n), due_at=now(), sent=False).item_key for n in range(3)]
    with (
        rejected_tasks(monkeypatch, keys[0][1], code="InvalidParameterValue"),
        capture_log_records() as records,
        write_log_record_of_block("schedule", "sweep"),
    ):
        assert enqueue_due_tasks() == 2
    assert records[0]["unreadable"] == " ".join(keys[0])
    assert enqueue_due_tasks() == 0, "it is not sent again at once"


@pytest.mark.parametrize("attributes", [{}, {"task": 1}, {"task": APPEND_TASK}, {"task": APPEND_TASK, "log": None}])
def test_an_item_that_does_not_name_its_task_is_not_queued(attributes):
    key = "P#a", "1"
    due = schedule_attributes(ScheduledTask("parcels.send", now()), key)
    memory_aws.put_item({"pk": key[0], "sk": key[1], **due, "task": None} | attributes)
    create_parcel("b", due_at=now(), sent=False)
    with capture_log_records() as records, write_log_record_of_block("schedule", "sweep"):
        assert enqueue_due_tasks() == 1
    assert records[0]["unreadable"] == " ".join(key)
    assert (len(queued_bodies("jobs")), queued_bodies("events.fifo")) == (1, [])


def test_a_batch_that_is_rejected_as_a_whole_is_sent_message_by_message(monkeypatch):
    client, sizes = aws.client("sqs"), list[int]()
    send = client.send_message_batch

    def send_singly(*, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - names of boto3
        sizes.append(len(Entries))
        if len(Entries) > 1 or "too long" in Entries[0]["MessageBody"]:
            error = {"Error": {"Code": "BatchRequestTooLong"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(error, "SendMessageBatch")
        response: dict[str, Any] = send(QueueUrl=QueueUrl, Entries=Entries)
        return response

    monkeypatch.setattr(client, "send_message_batch", send_singly)
    result = queues.enqueue_batch([("a", ("A", "1")), ("too long", ("A", "2")), ("c", ("A", "3"))])
    assert (result, sizes) == (BatchResult(invalid=frozenset({1})), [3, 1, 1, 1])
    assert len(queued_bodies("jobs")) == 2


def test_a_sweep_without_rights_to_a_queue_returns_its_claims_uses_the_others_and_fails(monkeypatch):
    create_due_items(1)
    key = "P#a", "entry"
    due = schedule_attributes(ScheduledTask(APPEND_TASK, now()), key)
    memory_aws.put_item({"pk": key[0], "sk": key[1], **due, "log": LOG_ID})
    send = aws.client("sqs").send_message_batch

    def deny_jobs(*, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - names of boto3
        if not QueueUrl.endswith(".fifo"):
            error = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
            raise ClientError(error, "SendMessageBatch")
        response: dict[str, Any] = send(QueueUrl=QueueUrl, Entries=Entries)
        return response

    with monkeypatch.context() as patched:
        patched.setattr(aws.client("sqs"), "send_message_batch", deny_jobs)
        with pytest.raises(ClientError, match="AccessDenied"):
            enqueue_due_tasks()
    assert (len(queued_bodies("events.fifo")), queued_bodies("jobs")) == (1, [])
    assert enqueue_due_tasks() == 1
    assert len(queued_bodies("jobs")) == 1


@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
def test_a_crash_between_claim_and_send_delays_tasks_by_a_lease(fault, clock):
    clock.freeze()
    create_due_items(3, shards=1)
    with inject_fault(fault, call_name=SEND), pytest.raises(ProcessDied):
        enqueue_due_tasks()
    assert enqueue_due_tasks() == 0
    clock.shift(seconds=60)
    assert enqueue_due_tasks() == 3


@pytest.mark.parametrize("claimed", [0, 3])
def test_a_failing_claim_leaves_the_claimed_tasks_queued_and_the_others_due(claimed, clock):
    clock.freeze()
    create_due_items(8, shards=1)
    with inject_fault(Fault.TIMED_OUT, call_name=CLAIM, first_call=claimed + 1, times=None):
        records = failing_sweep()
    assert len(queued_bodies("jobs")) == claimed
    assert embedded_metrics(records[0], "stage") == {"DueLag": 3_600_000}
    assert enqueue_due_tasks() == 8 - claimed


def test_the_backlog_has_a_claimed_task_behind_many_that_are_due_soon(clock):
    due_since = after(clock.freeze(), seconds=-3600)
    create_due_items(1)
    enqueue_due_tasks()
    for number in range(501):
        key = "P#a", f"later-{number}"
        due = schedule_attributes(ScheduledTask("parcels.send", after(now(), seconds=MIN_LEASE_SECONDS - 1)), key)
        memory_aws.put_item({"pk": key[0], "sk": key[1], **due})
    assert read_oldest_due_task_and_entry_times().due_since == due_since


def test_an_outage_of_one_queue_does_not_fail_the_measure(clock):
    clock.freeze()
    create_due_items(30)
    with inject_fault(Fault.TIMED_OUT, call_name=SEND, times=None), record_calls() as calls:
        records = failing_sweep()
    assert embedded_metrics(records[0], "stage") == {"DueLag": 3_600_000}
    assert calls.call_names.count(SEND) == SCHEDULE_SHARDS, "a queue that does not respond is asked once for each shard"
    assert enqueue_due_tasks() == 30


def test_a_log_whose_notice_was_rejected_is_notified_by_the_next_sweep(monkeypatch, clock):
    create_logged_parcel("a")
    before = len(queued_bodies("events.fifo"))
    clock.shift(seconds=11)
    with rejected_tasks(monkeypatch, LOG_ID):
        failing_sweep()
    assert enqueue_due_tasks() == 1
    assert len(queued_bodies("events.fifo")) == before + 1
