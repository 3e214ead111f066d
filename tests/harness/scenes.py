"""Scenes: what many tests begin with is made once, over HTTP, and then put back by copying."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from tests.harness import cloud, snapshots

T = TypeVar("T")


def scene(name: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, and let AWS hold what it left there: made the first time, copied from then on.

    It has to begin with an empty AWS.
    """
    assert not any(cloud.table().items.values()), "a scene begins with an empty AWS"
    result, queued = snapshots.once(("scene", name), lambda: (make(), _queued()))
    for queue in cloud.queues():
        queue._messages.extend(deepcopy(queued[queue.name]))  # noqa: SLF001
    return result


def _queued() -> dict[str, list[Any]]:
    return {queue.name: deepcopy(queue._messages) for queue in cloud.queues()}  # noqa: SLF001
