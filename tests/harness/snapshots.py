"""Snapshots of the table in memory, to create the state that many tests start with only once.

They share the items of the table, which `transactions.py` replaces instead of changing them.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from tests.harness import cloud

Snapshot = dict[Any, Any]
T = TypeVar("T")

_results: Final[dict[tuple[object, ...], tuple[Any, Snapshot]]] = {}


def taken() -> Snapshot:
    """Return a snapshot of the table."""
    items: Any = cloud.table().items
    return _copy_partitions(items)


def put_back(snapshot: Snapshot) -> None:
    """Restore the table from a snapshot, empty the queues, and reset the caches of the process."""
    cloud.clear()
    items: Any = cloud.table().items
    items.update(_copy_partitions(snapshot))


def _copy_partitions(items: Snapshot) -> Snapshot:
    return {pk: dict(partition) for pk, partition in items.items()}


def once(name: tuple[object, ...], make: Callable[[], T]) -> T:
    """Call a function the first time, later restore the table as it was after that call. Return its result."""
    if name not in _results:
        _results[name] = (make(), taken())
    cached, snapshot = _results[name]
    put_back(snapshot)
    result: T = cached
    return result


def stored_beside_budgets() -> dict[tuple[str, str], cloud.Item]:
    """Return the items of the table by key, without the counters of rate limits."""
    return {key: item for key, item in stored().items() if not key[0].startswith("Y#")}


def stored() -> dict[tuple[str, str], cloud.Item]:
    """Return the items of the table by key."""
    return {(item["pk"], item["sk"]): item for item in cloud.stored()}
