"""Scenes: what many tests begin with is made once, over HTTP, and then put back by copying."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from tests.harness import cloud

T = TypeVar("T")


@dataclass(frozen=True)
class _Scene:
    result: Any
    items: dict[Any, dict[Any, Any]]
    messages: dict[str, list[Any]]


_scenes: Final[dict[str, _Scene]] = {}


def scene(name: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, and let AWS hold what it left there: made the first time, copied from then on.

    It has to begin with an empty AWS.
    """
    known = _scenes.get(name)
    if known is None:
        assert not any(cloud.table().items.values()), "a scene begins with an empty AWS"
        result = make()
        messages = {queue.name: copy.deepcopy(queue._messages) for queue in cloud.queues()}  # noqa: SLF001
        _scenes[name] = _Scene(result, copy.deepcopy(_items()), messages)
        return result
    _items().update(copy.deepcopy(known.items))
    for queue in cloud.queues():
        queue._messages.extend(copy.deepcopy(known.messages[queue.name]))  # noqa: SLF001
    return cast("T", known.result)


def _items() -> dict[Any, dict[Any, Any]]:
    return cast("dict[Any, dict[Any, Any]]", cloud.table().items)
