"""Tasks: work after the answer, by name. A task's message may come twice, late, or after its work is done."""

from collections.abc import Callable
from typing import Any, Final

Task = Callable[[dict[str, Any]], None]

_tasks: Final[dict[str, Task]] = {}


class UnknownTask(Exception):
    """A message names no task of this service."""


def task(name: str) -> Callable[[Task], Task]:
    """Declare a task: a function of a message's arguments, which may run more than once."""

    def declare(function: Task) -> Task:
        if _tasks.setdefault(name, function) is not function:
            raise ValueError(f"two tasks are named {name!r}")
        return function

    return declare


def run(message: dict[str, Any]) -> None:
    """Run the task that a message names. Raises UnknownTask."""
    function = _tasks.get(str(message.get("task")))
    if function is None:
        raise UnknownTask(f"no task is named {message.get('task')!r}")
    function(message)
