"""Snapshots of the table in memory: what many tests begin with is made once, and put back at once.

They hold the table's own items: no write alters one, `transactions.py` sees to it.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from tests.harness import cloud

Snapshot = dict[Any, Any]
T = TypeVar("T")

_made: Final[dict[tuple[object, ...], tuple[Any, Snapshot]]] = {}


def taken() -> Snapshot:
    """Return all that the table holds."""
    items: Any = cloud.table().items
    return _copied(items)


def put_back(snapshot: Snapshot) -> None:
    """Let the table hold what it held, and nothing else; the queues are empty, and the process remembers nothing."""
    cloud.clear()
    items: Any = cloud.table().items
    items.update(_copied(snapshot))


def _copied(items: Snapshot) -> Snapshot:
    return {pk: dict(partition) for pk, partition in items.items()}


def once(name: tuple[object, ...], make: Callable[[], T]) -> T:
    """Return what `make` returned the first time, and let the table hold what it held then."""
    if name not in _made:
        _made[name] = (make(), taken())
    made, snapshot = _made[name]
    put_back(snapshot)
    found: T = made
    return found


def stored_beside_budgets() -> dict[tuple[str, str], cloud.Item]:
    """Return every item of the table by its key, but those that count what callers used up of budgets."""
    return {key: item for key, item in stored().items() if not key[0].startswith("Y#")}


def stored() -> dict[tuple[str, str], cloud.Item]:
    """Return every item of the table by its key."""
    return {(item["pk"], item["sk"]): item for item in cloud.stored()}
