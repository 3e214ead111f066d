"""Due items: reads of the index of scheduled tasks, claims of due tasks, and their messages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from botocore.exceptions import ClientError

from chalicelib.kernel.audit_log.entries import APPEND_TASK
from chalicelib.kernel.core.aws import AWS_ERRORS, AwsError
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp_ms
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.due_keys import claimed_due_since, make_claimed_due_key
from chalicelib.kernel.storage.entity import Item, Partition
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.queues import BatchResult

MIN_LEASE_SECONDS: Final = 60
"""Time after its first claim at which a task that is still due is queued again."""

MAX_LEASE_SECONDS: Final = 900
"""Longest time after which a task that is still due is queued again. Until then, the time doubles with each claim."""

_PAGE_SIZE: Final = 500
_MAX_KEY_CHARACTERS: Final = 200
_READ_ATTRIBUTES: Final = ("pk", "sk", "duesk", "task", "log", "leaf")


@dataclass(frozen=True)
class Claim:
    """A claimed item, as it was before, and its key in the index since the claim."""

    item: Item
    due_key: str


@dataclass(frozen=True)
class SendResult:
    """What became of the messages of claimed tasks: how many were queued, and how many have to be sent again.

    `error`: why a queue accepted none of its messages.
    """

    queued: int = 0
    unsent: int = 0
    error: AwsError | None = None


def iter_pages(shard: int, due_before: str) -> Iterator[list[Item]]:
    """Yield the items of a shard whose tasks are started before a time, the earliest first, page by page.

    The items have only the attributes that the scheduler needs.
    """
    partition = Partition(f"DUE#{shard}", "due")
    return table.iter_item_pages(partition, until=f"{due_before}~", limit=_PAGE_SIZE, attributes=_READ_ATTRIBUTES)


def try_claim(item: Item) -> Claim | None:
    """Claim the task of a due item. Return None if the item has changed, or if it is invalid.

    The first lease is short. Later ones are as long as the task has been due, so the age doubles from claim to claim:
    a message that waits in a queue is not queued again each minute.
    """
    if not _names_its_task(item):
        log_unreadable(item)
        return None
    since = claimed_due_since(item)
    age_seconds = (now_ms() - timestamp_ms(since)) / 1000 if since else 0
    lease_seconds = min(max(MIN_LEASE_SECONDS, age_seconds), MAX_LEASE_SECONDS)
    due_key = make_claimed_due_key(after(now(), seconds=lease_seconds), item)
    try:
        return Claim(item, due_key) if _try_move(item, item["duesk"], due_key) else None
    except ValidationProblem:
        log_unreadable(item)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        log_unreadable(item)
    return None


def enqueue_or_return_claims(claims: Sequence[Claim], notified_logs: set[str]) -> SendResult:
    """Queue claimed tasks. Those that a queue does not accept become due again at once.

    One message triggers a log for all of its entries. `notified_logs`: the logs that this sweep has triggered already.
    """
    task_claims = [claim for claim in claims if claim.item["task"] != APPEND_TASK]
    tasks = [(claim.item["task"], (claim.item["pk"], claim.item["sk"])) for claim in task_claims]
    log_claims = {claim.item["log"]: claim for claim in reversed(claims) if claim.item["task"] == APPEND_TASK}
    log_claims = {log: claim for log, claim in log_claims.items() if log not in notified_logs}
    notified_logs.update(log_claims)
    results = [
        _send_or_return_claims(task_claims, partial(queues.enqueue_batch, tasks)),
        _send_or_return_claims([*log_claims.values()], partial(queues.notify_ledger_batch, [*log_claims])),
    ]
    return SendResult(
        sum(result.queued for result in results),
        sum(result.unsent for result in results),
        next((result.error for result in results if result.error), None),
    )


def log_unreadable(item: Item) -> None:
    """Add the key of an item that the service did not write to the log record."""
    add_fields(unreadable=describe_key(item))


def describe_key(item: Item) -> str:
    """Return the key of an item for the log."""
    return f"{item['pk']} {item['sk']}"[:_MAX_KEY_CHARACTERS]


def _names_its_task(item: Item) -> bool:
    """Return whether an item contains the name of its task and, if entries are to be appended, the log."""
    return isinstance(item.get("task"), str) and (item["task"] != APPEND_TASK or isinstance(item.get("log"), str))


def _send_or_return_claims(claims: Sequence[Claim], send: Callable[[], BatchResult]) -> SendResult:
    if not claims:
        return SendResult()
    try:
        result = send()
    except AWS_ERRORS as error:
        _return_claims(claims)
        return SendResult(error=error)
    _return_claims([claims[position] for position in result.unsent])
    for position in result.invalid:
        log_unreadable(claims[position].item)
    queued = len(claims) - len(result.unsent) - len(result.invalid)
    return SendResult(queued, len(result.unsent), result.outage)


def _return_claims(claims: Iterable[Claim]) -> None:
    """Make claimed tasks due again. Where that fails, they are due at the end of their leases."""
    with log_and_ignore_aws_errors("start"):
        for claim in claims:
            _try_move(claim.item, claim.due_key, claim.item["duesk"])


def _try_move(item: Item, former_due_key: str, due_key: str) -> bool:
    """Move an item in the index, and return True unless another key was stored meanwhile."""
    update = ItemUpdate((item["pk"], item["sk"]), set={"duesk": due_key})
    with suppress(TransactionCancelled):
        table.write_transaction([update.to_write("#duesk = :former", former=former_due_key)])
        return True
    return False
