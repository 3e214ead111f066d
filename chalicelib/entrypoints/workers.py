"""What the queue and schedule handlers do. A batch answers which of its messages failed; only those come again."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from aws_lambda_powertools.utilities.batch import (
    BasePartialBatchProcessor,
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
)

from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel import due, ledger, queues, tasks
from chalicelib.kernel.changes import Contended
from chalicelib.kernel.clock import now_ms
from chalicelib.kernel.logs import line, measure, report
from chalicelib.kernel.settings import settings

Event = dict[str, Any]
_BATCH_MS: Final = 30_000


def append_entries(event: Event) -> Mapping[str, Any]:
    """Append what waits in the logs that the messages name, then start the tasks they bring.

    A log's first failure returns the rest of its messages. The batch ends before its function's time does: what is left
    then is due, and the sweep wakes its log again.
    """
    append = partial(_append, until=now_ms() + _BATCH_MS)
    return _each(event, SqsFifoPartialProcessor(skip_group_on_error=True), append)


def run_tasks(event: Event) -> Mapping[str, Any]:
    """Run the tasks that the messages name."""
    load_tasks()
    return _each(event, BatchProcessor(event_type=EventType.SQS), _run)


def sweep() -> int:
    """Queue all that is due, and return how much that was."""
    with line("schedule", "sweep") as facts:
        facts["queued"] = due.sweep()
    return int(facts["queued"])


def anchor() -> int:
    """Queue the anchoring of all logs that grew, and return how many these are; without a bucket there is nothing."""
    from chalicelib.features.audit.tasks import queue_anchors

    with line("schedule", "anchor") as facts:
        facts["bucket"] = settings().anchors_bucket or None
        facts["queued"] = queue_anchors() if facts["bucket"] else 0
    return int(facts["queued"])


def _each(event: Event, processor: BasePartialBatchProcessor, handle: Callable[[Event], None]) -> Mapping[str, Any]:
    processor.raise_on_entire_batch_failure = False  # The answer says which failed, be it all.
    with processor(event["Records"], handle):
        processor.process()
    response: Mapping[str, Any] = processor.response()
    return response


def _append(record: Any, until: int) -> None:
    with line("message", "append_entries") as facts:
        message = json.loads(record["body"])
        log = facts["tenant"] = message["log"]
        lag = ledger.append(log, until)
        with queues.if_possible("start"):  # The log's next entries don't wait for that.
            for start in message.get("then", []):
                queues.forward(start)
    measure("append_entries", LedgerLag=lag)


def _run(record: Any) -> None:
    with line("message", "run_task") as facts:
        message = json.loads(record["body"])
        facts["operation"] = message["task"]
        try:
            tasks.run(message)
        except Contended:
            report(contended=True)  # Another worker goes on with it, or it is due again.
