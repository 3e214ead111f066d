"""Snapshots of the table in memory, to create the state that many tests start with only once.

They share the items of the table, which `transactions.py` replaces instead of changing them.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from tests.harness import memory_aws

Snapshot = dict[Any, Any]
T = TypeVar("T")

_results: Final[dict[tuple[object, ...], tuple[Any, Snapshot]]] = {}


def take_snapshot() -> Snapshot:
    items: Any = memory_aws.get_table().items
    return _copy_partitions(items)


def restore_snapshot(snapshot: Snapshot) -> None:
    """Restore the table from a snapshot, empty the queues, and reset the caches of the process."""
    memory_aws.reset()
    items: Any = memory_aws.get_table().items
    items.update(_copy_partitions(snapshot))


def _copy_partitions(items: Snapshot) -> Snapshot:
    return {pk: dict(partition) for pk, partition in items.items()}


def create_or_restore(key: tuple[object, ...], create: Callable[[], T]) -> T:
    """Call a function the first time, later restore the table as it was after that call. Return its result."""
    if key not in _results:
        _results[key] = (create(), take_snapshot())
    cached, snapshot = _results[key]
    restore_snapshot(snapshot)
    result: T = cached
    return result


def items_without_rate_limits() -> dict[tuple[str, str], memory_aws.Item]:
    """Return the items of the table by key, without the counters of rate limits."""
    return {key: item for key, item in items_by_key().items() if not key[0].startswith("Y#")}


def items_by_key() -> dict[tuple[str, str], memory_aws.Item]:
    return {(item["pk"], item["sk"]): item for item in memory_aws.all_items()}
