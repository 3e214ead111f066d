"""Snapshots of the table in memory: what many tests begin with is made once, and put back in milliseconds."""

from copy import deepcopy
from typing import Any

from tests.harness import cloud

Snapshot = dict[Any, Any]


def taken() -> Snapshot:
    """Return all that the table holds."""
    return deepcopy(dict(cloud.table().items))


def put_back(snapshot: Snapshot) -> None:
    """Let the table hold what it held, and nothing else; the queues are empty, and the process remembers nothing."""
    cloud.clear()
    items: Any = cloud.table().items
    items.update(deepcopy(snapshot))


def stored() -> dict[tuple[str, str], cloud.Item]:
    """Return every item of the table by its key."""
    return {(item["pk"], item["sk"]): item for item in cloud.stored()}
