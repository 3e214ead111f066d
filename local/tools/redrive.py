"""Describes the messages in dead-letter queues, and sends them back to their queues: `python -m local redrive`."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues, tasks
from chalicelib.kernel.work.dead_letters import LEDGER_TASK, DeadLetterQueue, DeadMessage
from infrastructure.resources import DEAD_LETTER_RETENTION_SECONDS

_MAX_SHOWN_REQUEST_IDS: Final = 3
_TIME_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class RedriveFailed(Exception):
    """The queues are not reachable. The message says why."""


def redrive(queue_names: Sequence[str], *, send: bool, max_shown: int) -> None:
    """Print the messages in the dead-letter queues of the named queues, by default of all, or send them back.

    Uses the settings of this process. Raises RedriveFailed.
    """
    register_tasks()
    urls = queues.queue_urls_by_name()
    try:
        dead_letter_queues = [DeadLetterQueue.for_source(urls[name]) for name in queue_names or urls]
        total = sum([_send_back(queue) if send else _show(queue, max_shown) for queue in dead_letter_queues])
    except (ClientError, BotoCoreError) as error:
        raise RedriveFailed(f"The queues did not respond: {error}") from error
    if send:
        print(f"{total} sent back. Messages that fail again return to the dead-letter queues.")
    elif total:
        print("Nothing was changed. Use --send to send the messages back to their queues.")


def _show(queue: DeadLetterQueue, max_shown: int) -> int:
    """Print the first messages of a dead-letter queue, and return the number of all."""
    count = queue.count_messages()
    print(f"{queue.name}: {count}")
    messages, now_seconds = queue.peek(max_shown) if count else [], time.time()
    for message in messages:
        print(f"  {format_message(message, now_seconds)}")
    if count > len(messages):
        print(f"  … and {count - len(messages)} more")
    return count


def _send_back(queue: DeadLetterQueue) -> int:
    """Send the messages of a dead-letter queue back, print the result, and return how many were sent."""
    sent, skipped, now_seconds = Counter[str](), Counter[str](), time.time()
    try:
        with closing(queue.send_back(now_seconds)) as messages:
            for message, is_sent in messages:
                (sent if is_sent else skipped)[_task_name(message)] += 1
    finally:
        sent_text = f" ({_format_counts(sent)})" if sent else ""
        skipped_text = f"; {skipped.total()} skipped ({_format_counts(skipped)})" if skipped else ""
        print(f"{queue.name}: {sent.total()} sent back{sent_text}{skipped_text}", flush=True)
    return sent.total()


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{task_name}: {count}" for task_name, count in sorted(counts.items()))


def _task_name(message: DeadMessage) -> str:
    if message.content_or_none is None:
        return "not a JSON object"
    return message.task_or_none or "without task"


def format_message(message: DeadMessage, now_seconds: float) -> str:
    """Return a message's subject, request ids, age, remaining retention time and receive count in a line."""
    age = now_seconds - message.sent_at
    remaining_time = _format_duration(max(0, DEAD_LETTER_RETENTION_SECONDS - age))
    subject = f"{describe_message(message.content_or_none)}{_format_request_ids(message.request_ids)}"
    received = describe_count(message.receive_count, "time")
    return f"{subject}; {_format_duration(age)} old, deleted in {remaining_time}, received {received}"


def describe_message(content: Mapping[str, Any] | None) -> str:
    """Return the task and the target of a message, and whether sending it back makes sense."""
    if content is None:
        return "not a JSON object: it would fail again"
    if "task" in content:
        return f"{content['task']} of {content.get('pk')} {content.get('sk')}: {_describe_task(content)}"
    if "log" in content:
        return f"{LEDGER_TASK} of log {content['log']}: {_describe_log(content)}"
    return "no task and no log: it would fail again"


def _describe_task(message: Mapping[str, Any]) -> str:
    try:
        tasks.get_task(str(message["task"]))
        item = table.get((message["pk"], message["sk"]))
    except tasks.UnknownTask:
        return "unknown task in this release: it would fail again"
    except KeyError:
        return "no record key: it would fail again"
    except Problem as problem:
        return problem.detail
    if item is None:
        return "its record was deleted: nothing is left to do"
    return f"due at {item['duesk'].partition('#')[0]}: the sweep queues it" if "duesk" in item else "its record exists"


def _describe_log(message: Mapping[str, Any]) -> str:
    task_names = ", ".join(str(task.get("task")) for task in message.get("then", []))
    try:
        pending_count = ledger.count_pending_in_one_read(str(message["log"]))
    except Problem as problem:
        return problem.detail
    pending = describe_count(pending_count, "pending entry", "pending entries")
    return f"{pending}; then {task_names}" if task_names else pending


def _format_request_ids(ids: Sequence[str]) -> str:
    """Return the first ids of the requests that caused a message, and the number of the others."""
    others = f" and {len(ids) - _MAX_SHOWN_REQUEST_IDS} more" if len(ids) > _MAX_SHOWN_REQUEST_IDS else ""
    return f"; requests {', '.join(ids[:_MAX_SHOWN_REQUEST_IDS])}{others}" if ids else ""


def _format_duration(seconds: float) -> str:
    unit, size = next(((unit, size) for unit, size in _TIME_UNITS if seconds >= size), _TIME_UNITS[-1])
    return f"{seconds / size:.0f} {unit}"
