"""What the queue and schedule handlers do. A batch answers which of its messages failed; only those come again."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from typing import Any, Final

from aws_lambda_powertools.utilities.batch import (
    BasePartialBatchProcessor,
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
)

from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.logs import add_fields, add_metrics, best_effort, correlate, log_scope
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import organization_id_from_log
from chalicelib.kernel.work import queues, scheduler, tasks

Event = dict[str, Any]
_BATCH_MS: Final = 30_000


def append_entries(event: Event) -> Mapping[str, Any]:
    """Append what waits in the logs that the messages name, start the tasks they bring, and deliver what is new.

    A log's first failure returns the rest of its messages. The batch ends before its function's time does: what is left
    then is due, and the sweep wakes its log again.
    """
    append = partial(_append, until=now_ms() + _BATCH_MS)
    return _each(event, SqsFifoPartialProcessor(skip_group_on_error=True), append)


def run_tasks(event: Event) -> Mapping[str, Any]:
    """Run the tasks that the messages name."""
    load_tasks()
    return _each(event, BatchProcessor(event_type=EventType.SQS), _run)


def deliver(event: Event) -> Mapping[str, Any]:
    """Send what the messages name: groups side by side, what belongs to one of them in the order it was queued in.

    The batch ends before its function's time does: what is left then is queued again.
    """
    load_tasks()
    run = partial(_run, until=now_ms() + _BATCH_MS)
    groups: dict[str, list[Any]] = {}
    for record in event["Records"]:
        groups.setdefault(record["attributes"].get("MessageGroupId", record["messageId"]), []).append(record)

    def deliver_group(records: list[Any]) -> Mapping[str, Any]:
        return _each({"Records": records}, SqsFifoPartialProcessor(), run)

    with ThreadPoolExecutor(len(groups)) as threads:
        answers = [threads.submit(copy_context().run, deliver_group, records) for records in groups.values()]
    return {"batchItemFailures": [failure for a in answers for failure in a.result()["batchItemFailures"]]}


def sweep() -> int:
    """Queue all that is due, and return how much that was."""
    with log_scope("schedule", "sweep") as facts:
        facts["queued"] = scheduler.enqueue_due()
    return int(facts["queued"])


def anchor() -> int:
    """Queue the anchoring of all logs that grew, and return how many these are; without a bucket there is nothing."""
    from chalicelib.features.audit.log.tasks import queue_anchor_tasks

    with log_scope("schedule", "anchor") as facts:
        facts["bucket"] = settings().anchors_bucket or None
        facts["queued"] = queue_anchor_tasks() if facts["bucket"] else 0
    return int(facts["queued"])


def migrate() -> list[dict[str, Any]]:
    """Apply the migrations that are pending, and return what came of each."""
    from chalicelib.features.admin.migrations.logic.runner import apply_and_report as outcomes

    with log_scope("function", "migrate") as facts:
        found = outcomes()
        facts["migrations"] = {outcome["id"] or "all": outcome["state"] for outcome in found}
    return found


def _each(event: Event, processor: BasePartialBatchProcessor, handle: Callable[[Event], None]) -> Mapping[str, Any]:
    processor.raise_on_entire_batch_failure = False  # The answer says which failed, be it all.
    with processor(event["Records"], handle):
        processor.process()
    response: Mapping[str, Any] = processor.response()
    return response


def _append(record: Any, until: int) -> None:
    with _message_line(record, "append_entries") as facts:
        message = json.loads(record["body"])
        log = facts["tenant"] = message["log"]
        with correlate(*message.get("requestIds", ())):
            add_metrics(LedgerLag=ledger.append_pending(log, until))
            with best_effort("start"):  # The log's next entries don't wait for that.
                for start in message.get("then", []):
                    queues.forward(start)
            if organization_id_from_log(log):
                _fan_out(log, until)


def _fan_out(log: str, until: int) -> None:
    from chalicelib.features.notifications.logic.fan_out import fan_out

    load_tasks()  # An entry may be about a record of any kind.
    fan_out(log, until)


def _run(record: Any, **more: Any) -> None:
    with _message_line(record, "run_task") as facts:
        message = json.loads(record["body"])
        facts["operation"] = message["task"]
        with correlate(*message.get("requestIds", ())):
            try:
                tasks.run_task(message | more)
            except ConcurrentModification:
                add_fields(contended=True)  # Another worker goes on with it, or it is due again.


def _message_line(record: Any, operation: str) -> AbstractContextManager[dict[str, Any]]:
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    return log_scope("message", operation, messageId=record["messageId"], receives=receives)
