"""Scenarios that many tests start with. They are created once, over HTTP, and then restored from copies."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from tests.harness import cloud, snapshots

T = TypeVar("T")


def scene(name: str, make: Callable[[], T]) -> T:
    """Return the result of a function and the state of AWS after it. The function runs only the first time.

    AWS must be empty before.
    """
    assert not any(cloud.table().items.values()), "a scenario starts with an empty AWS"
    result, messages_by_queue = snapshots.once(("scene", name), lambda: (make(), _copy_messages()))
    for queue in cloud.queues():
        queue._messages.extend(deepcopy(messages_by_queue[queue.name]))  # noqa: SLF001
    return result


def _copy_messages() -> dict[str, list[Any]]:
    return {queue.name: deepcopy(queue._messages) for queue in cloud.queues()}  # noqa: SLF001
