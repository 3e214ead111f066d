"""The handlers of queues and schedules. The result of a batch lists the failed messages, and only those are retried."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from aws_lambda_powertools.utilities.batch import (
    BasePartialBatchProcessor,
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
)

from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core import threads
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.logs import (
    add_fields,
    add_metrics,
    log_and_ignore_aws_errors,
    originating_request_ids_scope,
    write_log_record_of_block,
)
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from chalicelib.kernel.work import queues, scheduler, tasks

Event = dict[str, Any]
_MAX_BATCH_MS: Final = 30_000


def append_log_entries_and_fan_out(event: Event) -> Mapping[str, Any]:
    """Append the pending entries of the logs in the messages, start the messages' tasks, and fan out the new entries.

    After the first failure of a log, its other messages are retried too. The batch ends before the function times out.
    The sweep finds the entries that are still pending then.
    """
    process = partial(_append_and_fan_out_log_of_message, deadline_ms=now_ms() + _MAX_BATCH_MS)
    return _process_sqs_batch(event, SqsFifoPartialProcessor(skip_group_on_error=True), process)


def run_tasks(event: Event) -> Mapping[str, Any]:
    """Run the tasks of the messages."""
    register_tasks()
    return _process_sqs_batch(event, BatchProcessor(event_type=EventType.SQS), _run_task)


def run_delivery_tasks_by_group(event: Event) -> Mapping[str, Any]:
    """Send the deliveries of the messages: message groups in parallel, the messages of one group in order.

    The batch ends before the function times out. The remaining deliveries are queued again.
    """
    register_tasks()
    run_task = partial(_run_task, until=now_ms() + _MAX_BATCH_MS)
    groups: dict[str, list[Any]] = {}
    for sqs_record in event["Records"]:
        group_id = sqs_record["attributes"].get("MessageGroupId", sqs_record["messageId"])
        groups.setdefault(group_id, []).append(sqs_record)

    def deliver_group(sqs_records: list[Any]) -> Mapping[str, Any]:
        return _process_sqs_batch({"Records": sqs_records}, SqsFifoPartialProcessor(), run_task)

    deliveries = [partial(deliver_group, sqs_records) for sqs_records in groups.values()]
    results = threads.call_in_threads(deliveries, max_threads=len(groups), name="deliveries")
    return {"batchItemFailures": [failure for each in results for failure in each["batchItemFailures"]]}


def enqueue_due_tasks() -> int:
    """Queue all due tasks, and return how many were queued."""
    with write_log_record_of_block("schedule", "sweep") as log_fields:
        log_fields["queued"] = scheduler.enqueue_due_tasks()
    return int(log_fields["queued"])


def enqueue_log_anchoring() -> int:
    """Queue the anchoring of all logs that grew, and return how many were queued; none without a bucket for anchors."""
    from chalicelib.features.audit.log.tasks import queue_anchor_tasks
    from chalicelib.features.audit.witnesses.tasks import queue_collection

    with write_log_record_of_block("schedule", "anchor") as log_fields:
        log_fields["bucket"] = settings().anchors_bucket or None
        log_fields["queued"] = queue_anchor_tasks() if log_fields["bucket"] else 0
        if log_fields["bucket"]:
            queue_collection()
    return int(log_fields["queued"])


def migrate() -> list[dict[str, Any]]:
    """Apply the pending migrations, and return the outcome of each."""
    from chalicelib.features.admin.migrations.logic.runner import apply_and_list_outcomes

    with write_log_record_of_block("function", "migrate") as log_fields:
        outcomes = apply_and_list_outcomes()
        log_fields["migrations"] = {outcome["id"] or "all": outcome["state"] for outcome in outcomes}
    return outcomes


def _process_sqs_batch(
    sqs_event: Event, processor: BasePartialBatchProcessor, handle: Callable[[Event], None]
) -> Mapping[str, Any]:
    # The processor passes the SQS record by keyword, as `record`.
    processor.raise_on_entire_batch_failure = False  # The result lists the failed messages, even if all failed.
    with processor(sqs_event["Records"], handle):
        processor.process()
    response: Mapping[str, Any] = processor.response()
    return response


def _append_and_fan_out_log_of_message(record: Any, deadline_ms: int) -> None:
    with _message_log_record_scope(record, "append_entries") as log_fields:
        message = json.loads(record["body"])
        log = log_fields["tenant"] = message["log"]
        with originating_request_ids_scope(*message.get("requestIds", ())), queues.chain_turn_scope(message):
            add_metrics(LedgerLag=ledger.append_pending_and_return_longest_wait_ms(log, deadline_ms))
            with log_and_ignore_aws_errors("start"):  # A failure here must not block the log's next entries.
                for task_message in message.get("then", []):
                    queues.enqueue_message(task_message)
            if organization_id_from_log(log):
                _fan_out_entries(log, deadline_ms)


def _fan_out_entries(log_id: str, deadline_ms: int) -> None:
    from chalicelib.features.notifications.logic.fan_out import fan_out

    register_tasks()  # The subject of an entry can be a record of any type.
    fan_out(log_id, deadline_ms)


def _run_task(record: Any, **extra_message_fields: Any) -> None:
    with _message_log_record_scope(record, "run_task") as log_fields:
        message = json.loads(record["body"])
        log_fields["operation"] = message["task"]
        with originating_request_ids_scope(*message.get("requestIds", ())), queues.chain_turn_scope(message):
            try:
                tasks.run_task(message | extra_message_fields)
            except ConcurrentModification:
                add_fields(contended=True)  # Another worker continues with it, or the sweep finds it.


def _message_log_record_scope(sqs_record: Any, operation: str) -> AbstractContextManager[dict[str, Any]]:
    receives = int(sqs_record["attributes"]["ApproximateReceiveCount"])
    return write_log_record_of_block("message", operation, messageId=sqs_record["messageId"], receives=receives)
