"""Tasks: work after the answer, by name. A task's message may come twice, late, or after its work is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_types import find_record_type

E = TypeVar("E", bound=Entity)
Work = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """Work by its name. `emits`: the events it can emit, and the kind of record that each is about."""

    name: str
    work: Work
    emits: Mapping[str, type[Entity]] = field(default_factory=dict)


_tasks: Final[dict[str, Task]] = {}


class UnknownTask(Exception):
    """A message names no task of this service."""


def task(name: str, *, emits: Mapping[str, type[Entity]] | None = None) -> Callable[[Work], Work]:
    """Declare a task: a function of a message's arguments, which may run more than once."""

    def declare(work: Work) -> Work:
        if _tasks.setdefault(name, Task(name, work, emits or {})).work is not work:
            raise ValueError(f"two tasks are named {name!r}")
        return work

    return declare


def all_tasks() -> tuple[Task, ...]:
    """Return every task whose module is imported, by its name."""
    return tuple(_tasks[name] for name in sorted(_tasks))


def get_task(name: str) -> Task:
    """Return a task by its name. Raises UnknownTask."""
    if name not in _tasks:
        raise UnknownTask(f"no task is named {name!r}")
    return _tasks[name]


def load_record(kind: type[E], message: dict[str, Any]) -> E | None:
    """Return the record that a message is about, as it is now; None if it is gone, or another kind of record."""
    item = table.get((message["pk"], message["sk"]))
    if item is None:
        return None
    found = kind if item["kind"] == kind.kind else find_record_type(item["kind"]) or Entity
    return found.from_item(item) if issubclass(found, kind) else None


def run_task(message: dict[str, Any]) -> None:
    """Run the task that a message names. Raises UnknownTask."""
    get_task(str(message.get("task"))).work(message)
