"""Tasks: work after the answer, by name. A task's message may come twice, late, or after its work is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_types import find_record_type, record_type

E = TypeVar("E", bound=Entity)
Work = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """A function that a queue message names.

    `event_records` maps each event that it can emit to the class of the record that the event is about, or to the name
    of its kind where the class belongs to a feature that may not be imported.
    """

    name: str
    work: Work
    event_records: Mapping[str, type[Entity] | str] = field(default_factory=dict)

    @property
    def emits(self) -> Mapping[str, type[Entity]]:
        """The events that it can emit, each with the class of the record that it is about."""
        return {
            event: record_type(record) if isinstance(record, str) else record
            for event, record in self.event_records.items()
        }


_tasks: Final[dict[str, Task]] = {}


class UnknownTask(Exception):
    """A message names no task of this service."""


def task(name: str, *, emits: Mapping[str, type[Entity] | str] | None = None) -> Callable[[Work], Work]:
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
