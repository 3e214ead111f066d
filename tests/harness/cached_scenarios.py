"""Scenarios that many tests start with. They are created once, over HTTP, and then restored from copies."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, TypeVar

from tests.harness import memory_aws, snapshots

T = TypeVar("T")

_states_before_extension: Final[dict[str, snapshots.Snapshot]] = {}


def cached_scenario(name: str, create: Callable[[], T]) -> T:
    """Return the result of a function and the state of AWS after it. The function runs only the first time.

    AWS must be empty before.
    """
    assert not any(memory_aws.get_table().items.values()), "a scenario starts with an empty AWS"
    return _create_or_restore(name, create)


def extended_scenario(name: str, create: Callable[[], T]) -> T:
    """Like `cached_scenario`, for a function that extends another scenario.

    The function runs again if AWS is in another state than before its first run.
    """
    before = snapshots.take_snapshot()
    if _states_before_extension.setdefault(name, before) != before:
        return create()
    return _create_or_restore(name, create)


def _create_or_restore(name: str, create: Callable[[], T]) -> T:
    result, messages_by_queue = snapshots.create_or_restore(("scene", name), lambda: (create(), _copy_messages()))
    for queue in memory_aws.get_queues():
        queue._messages.extend(deepcopy(messages_by_queue[queue.name]))  # noqa: SLF001
    return result


def _copy_messages() -> dict[str, list[Any]]:
    return {queue.name: deepcopy(queue._messages) for queue in memory_aws.get_queues()}  # noqa: SLF001
