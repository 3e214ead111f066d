"""Simulates global secondary indexes that lag behind the table, as DynamoDB's may.

Every write within the block is recorded with its time on the clock of the service. A Query with `IndexName` sees the
table as it was `seconds` ago, without newer writes. Reads of the table itself are current.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

import pytest
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from tests.harness.memory_aws import get_table as table_in_memory

LAGS: Final = (
    pytest.param(0, marks=pytest.mark.exhaustive),
    1.2,
    pytest.param(2.5, marks=pytest.mark.exhaustive),
    60,
)
"""The lags, in seconds, that tests use for each index read on which a decision depends, as parameters."""

_INDEX_NAME_POSITION: Final = 6
"""The position of the index name among the arguments after the partition key of moto's Table.query."""

_SECOND_NS: Final = 1_000_000_000
_WRITES: Final = ("put_item", "update_item", "delete_item", "transact_write_items")

_Key = tuple[DynamoType, DynamoType]


@dataclass(frozen=True)
class _Change:
    """A write: its time, its key and the item before it, or None."""

    made_at_ns: int
    key: _Key
    before: Any


@dataclass
class IndexLag:
    """The lag of the indexes. `seconds` may be changed at any time. `queries`: the number of index queries."""

    seconds: float
    queries: int = 0
    changes: deque[_Change] = field(default_factory=deque)
    current_items: dict[_Key, Any] = field(default_factory=dict)

    def record_write(self) -> None:
        for key, before in self._refresh_items().items():
            self.changes.append(_Change(time.time_ns(), key, before))

    def catch_up(self) -> None:
        """Make all writes up to now visible in the indexes."""
        self._refresh_items()
        self.changes.clear()

    def absorb_external_writes(self) -> None:
        """Make writes that bypassed the service visible in the indexes, at every time."""
        if changed := self._refresh_items():
            self.changes = deque(change for change in self.changes if change.key not in changed)

    def _refresh_items(self) -> dict[_Key, Any]:
        """Update the known items from the table, and return the former items of all changed keys."""
        known, self.current_items = self.current_items, _items_by_key()
        changed = {key: item for key, item in known.items() if self.current_items.get(key) is not item}
        return changed | dict.fromkeys(self.current_items.keys() - known.keys())

    def visible_items(self) -> list[Any]:
        items, visible_until_ns = dict(self.current_items), time.time_ns() - self.seconds * _SECOND_NS
        for change in reversed(self.changes):
            if change.made_at_ns <= visible_until_ns:
                break
            if change.before is None:
                items.pop(change.key, None)
            else:
                items[change.key] = change.before
        return [*items.values()]


@contextmanager
def lag_indexes(seconds: float) -> Iterator[IndexLag]:
    """Make all indexes lag behind the writes of the block."""
    lag = IndexLag(seconds)
    lag.current_items = _items_by_key()
    query = Table.query

    def lagging_query(table: Table, hash_key: Any, *args: Any, **options: Any) -> Any:
        if not args[_INDEX_NAME_POSITION] or not lag.seconds:
            return query(table, hash_key, *args, **options)
        lag.absorb_external_writes()
        lag.queries += 1
        with _with_items(table, lag.visible_items()):
            return query(table, hash_key, *args, **options)

    with ExitStack() as patches:
        for name in _WRITES:
            patches.enter_context(patch.object(DynamoDBBackend, name, _recording(lag, getattr(DynamoDBBackend, name))))
        patches.enter_context(patch.object(Table, "query", lagging_query))
        yield lag


def _recording(lag: IndexLag, write: Callable[..., Any]) -> Callable[..., Any]:
    def recorded_write(backend: DynamoDBBackend, *args: Any, **options: Any) -> Any:
        lag.absorb_external_writes()
        try:
            return write(backend, *args, **options)
        finally:
            lag.record_write()

    return recorded_write


@contextmanager
def _with_items(table: Table, items: list[Any]) -> Iterator[None]:
    """Replace the items of a table within the block. `transactions.py` ensures that only one call runs at a time."""
    original_items = table.items
    partitions: Any = {}
    for item in items:
        partitions.setdefault(item.hash_key, {})[item.range_key] = item
    table.items = partitions
    try:
        yield
    finally:
        table.items = original_items


def _items_by_key() -> dict[_Key, Any]:
    partitions: Any = table_in_memory().items
    return {(pk, sk): item for pk, partition in partitions.items() for sk, item in partition.items()}
