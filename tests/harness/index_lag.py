"""Global secondary indexes that lag behind the table, as DynamoDB's may: a Query of one sees it as it was before.

Every write within the block is remembered with the moment it was made, on the clock that the service sees. A Query with
`IndexName` is answered from the table as of `seconds` ago: what was put since is not there yet, what was changed is as
it was, what was deleted is there still. The table itself is read as it is.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from tests.harness.cloud import table as table_in_memory

LAGS: Final = (0, 1.2, 2.5, 60)
"""Seconds that the tests of every read which decides something let indexes lag behind."""

_INDEX: Final = 6
"""Where the name of the index is among the arguments of moto's Query, behind the partition key."""

_NS: Final = 1_000_000_000
_WRITES: Final = ("put_item", "update_item", "delete_item", "transact_write_items")

_Key = tuple[DynamoType, DynamoType]


@dataclass(frozen=True)
class _Change:
    """What stood at a key before a write at a moment; None if nothing did."""

    made_at_ns: int
    key: _Key
    before: Any


@dataclass
class Lag:
    """How far the indexes are behind. `seconds` may be changed at any time; `queries` counts what they answered."""

    seconds: float
    queries: int = 0
    changes: deque[_Change] = field(default_factory=deque)
    known: dict[_Key, Any] = field(default_factory=dict)

    def note(self) -> None:
        """Remember what a write has changed in the table."""
        for key, before in self._take_over().items():
            self.changes.append(_Change(time.time_ns(), key, before))

    def catch_up(self) -> None:
        """Let the indexes show all that is written by now; they lag from here on."""
        self._take_over()
        self.changes.clear()

    def look(self) -> None:
        """See what was put into the table past the service: to the indexes it has always been so."""
        if put := self._take_over():
            self.changes = deque(change for change in self.changes if change.key not in put)

    def _take_over(self) -> dict[_Key, Any]:
        """Know the table as it is now; return what stood where it is another now."""
        known, self.known = self.known, _items()
        changed = {key: item for key, item in known.items() if self.known.get(key) is not item}
        return changed | dict.fromkeys(self.known.keys() - known.keys())

    def seen(self) -> list[Any]:
        """Return the items that an index shows."""
        items, until = dict(self.known), time.time_ns() - self.seconds * _NS
        for change in reversed(self.changes):
            if change.made_at_ns <= until:
                break
            if change.before is None:
                items.pop(change.key, None)
            else:
                items[change.key] = change.before
        return [*items.values()]


@contextmanager
def lagging(seconds: float) -> Iterator[Lag]:
    """Let all indexes lag so many seconds behind what is written within the block."""
    lag = Lag(seconds)
    lag.known = _items()
    query = Table.query

    def late(table: Table, hash_key: Any, *args: Any, **words: Any) -> Any:
        if not args[_INDEX] or not lag.seconds:
            return query(table, hash_key, *args, **words)
        lag.look()
        lag.queries += 1
        with _holding(table, lag.seen()):
            return query(table, hash_key, *args, **words)

    with ExitStack() as patches:
        for name in _WRITES:
            patches.enter_context(patch.object(DynamoDBBackend, name, _noted(lag, getattr(DynamoDBBackend, name))))
        patches.enter_context(patch.object(Table, "query", late))
        yield lag


def _noted(lag: Lag, write: Callable[..., Any]) -> Callable[..., Any]:
    def noted(backend: DynamoDBBackend, *args: Any, **words: Any) -> Any:
        lag.look()
        try:
            return write(backend, *args, **words)
        finally:
            lag.note()

    return noted


@contextmanager
def _holding(table: Table, items: list[Any]) -> Iterator[None]:
    """Let a table hold other items within the block; one call is answered at a time, as `transactions.py` has it."""
    present = table.items
    shown: Any = {}
    for item in items:
        shown.setdefault(item.hash_key, {})[item.range_key] = item
    table.items = shown
    try:
        yield
    finally:
        table.items = present


def _items() -> dict[_Key, Any]:
    partitions: Any = table_in_memory().items
    return {(pk, sk): item for pk, partition in partitions.items() for sk, item in partition.items()}
