"""Scenarios that many tests start with. They are created once, over HTTP, and then restored from copies."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from tests.harness import memory_aws, snapshots

T = TypeVar("T")


def cached_scenario(name: str, create: Callable[[], T]) -> T:
    """Return the result of a function and the state of AWS after it. The function runs only the first time.

    AWS must be empty before.
    """
    assert not any(memory_aws.get_table().items.values()), "a scenario starts with an empty AWS"
    result, messages_by_queue = snapshots.create_or_restore(("scene", name), lambda: (create(), _copy_messages()))
    for queue in memory_aws.get_queues():
        queue._messages.extend(deepcopy(messages_by_queue[queue.name]))  # noqa: SLF001
    return result


def _copy_messages() -> dict[str, list[Any]]:
    return {queue.name: deepcopy(queue._messages) for queue in memory_aws.get_queues()}  # noqa: SLF001
