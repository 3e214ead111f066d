"""Tasks: background work by name. A task's message can arrive twice, late, or after the work is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_types import find_record_type, get_record_type

E = TypeVar("E", bound=Entity)
TaskFunction = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """A function that a queue message names.

    `event_records` maps each event that it can emit to the class of the record that the event is about, or to the kind
    if the class belongs to a feature that must not be imported.
    """

    name: str
    function: TaskFunction
    event_records: Mapping[str, type[Entity] | str] = field(default_factory=dict)

    @property
    def emits(self) -> Mapping[str, type[Entity]]:
        """Return the events that it can emit, with the class of the record."""
        return {
            event: get_record_type(record) if isinstance(record, str) else record
            for event, record in self.event_records.items()
        }


_tasks: Final[dict[str, Task]] = {}
_importers: Final[list[Callable[[], None]]] = []


class UnknownTask(Exception):
    """A message names no task of the service."""


def task(name: str, *, emits: Mapping[str, type[Entity] | str] | None = None) -> Callable[[TaskFunction], TaskFunction]:
    """Register a function as a task. It is called with the message, and may run more than once."""

    def register(function: TaskFunction) -> TaskFunction:
        if _tasks.setdefault(name, Task(name, function, emits or {})).function is not function:
            raise ValueError(f"two tasks are named {name!r}")
        return function

    return register


def all_tasks() -> tuple[Task, ...]:
    """Return all tasks whose modules are imported, by name."""
    return tuple(_tasks[name] for name in sorted(_tasks))


def register_importer(import_all: Callable[[], None]) -> None:
    """Register the function that imports the modules of all tasks, for processes that run none."""
    _importers.append(import_all)


def has_task(name: str) -> bool:
    """Return whether a task has this name. Imports the modules of all tasks if no imported one defines it."""
    if name not in _tasks:
        for import_all in _importers:
            import_all()
    return name in _tasks


def get_task(name: str) -> Task:
    """Return a task by name. Raises UnknownTask."""
    if name not in _tasks:
        raise UnknownTask(f"no task is named {name!r}")
    return _tasks[name]


def load_record_or_none(kind: type[E], message: dict[str, Any]) -> E | None:
    """Return the current record of a message, or None if it is gone or of another type."""
    item = table.get((message["pk"], message["sk"]))
    if item is None:
        return None
    record_type_of_item = kind if item["kind"] == kind.kind else find_record_type(item["kind"]) or Entity
    return record_type_of_item.from_item(item) if issubclass(record_type_of_item, kind) else None


def run_task(message: dict[str, Any]) -> None:
    """Run the task in a message. Raises UnknownTask."""
    get_task(str(message.get("task"))).function(message)
