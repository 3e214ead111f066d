"""Examples: successful calls of operations. Each bounded context has a file with its examples in this folder."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final
from urllib.parse import quote

from chalicelib.kernel.audit_log.entries import LogEvent
from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.operations.access_rules import ContainerReference, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Entity, Item
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.callers import Person
from tests.harness.stored_records import new_id_and_time_fields

_UNKNOWN_ID: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class Example:
    """A call that succeeds for the least privileged caller of the operation.

    `only_caller`: the only person who may make it, regardless of roles and keys. `subject_path`: the path of the
    subject of its log entry, if that is not the target of its path. `target_path`: the path of the target, if no
    parameter names it. `revokes_own_access`: it removes the access of its caller. `is_open_to_all_users`: any user may
    make it. `headers`: additional headers. `merges_into_subject`: what is created becomes a part of the subject, or is
    not stored.
    """

    parameters: Mapping[str, str]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    only_caller: Person | None = None
    subject_path: str | None = None
    target_path: str | None = None
    revokes_own_access: bool = False
    is_open_to_all_users: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    merges_into_subject: bool = False

    def get_path(self, operation: Operation) -> str:
        """Return the operation's path with the example's parameters."""
        return operation.path.format_map({name: quote(value, safe="") for name, value in self.parameters.items()})

    def get_target_path(self, operation: Operation) -> str:
        """Return the path of the target of the operation's path, to which `If-Match` applies."""
        return self.target_path or operation.path[: operation.path.rindex("}") + 1].format_map(self.parameters)

    def get_subject_path(self, operation: Operation) -> str:
        """Return the path of the subject of the operation's log entry."""
        return self.subject_path or self.get_target_path(operation)

    def with_parameters(self, **parameters: str) -> "Example":
        """Return the same call with other path parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def with_unknown(self, parameter: str) -> "Example":
        """Return the same call with a well-formed parameter that names no record."""
        return self.with_parameters(**{parameter: _unknown_value(parameter)})

    def in_container(self, access: RequireRole, name: str | None = None) -> "Example":
        """Return the same call in another container. Without a name, the container does not exist."""
        name = name or _unknown_value(access.container_or_record_parameter)
        return (
            replace(self, body={**self.body, access.container_id_body_field: name})
            if access.location is ContainerReference.BODY_ID
            else self.with_parameters(**{access.container_or_record_parameter: name})
        )


def _unknown_value(parameter: str) -> str:
    return "nothing-here" if parameter == "slug" else _UNKNOWN_ID


ExampleFactories = Mapping[str, Callable[[TenantFixture], Example]]
"""The examples of a context by operation id."""

Neighbours = Iterator[Entity | Item | LogEvent]
"""Records next to those that examples read. `build_<feature>` of a context's file yields those with a number."""

_OPTIONS: Final = {each.name for each in fields(Example)}


def example(body: Any = None, **values: Any) -> Example:
    """Return an example. Its options are the fields of `Example`, other values are path parameters."""
    options = {name: value for name, value in values.items() if name in _OPTIONS}
    return Example({name: value for name, value in values.items() if name not in _OPTIONS}, body, **options)


def _generate_creation_times() -> Iterator[str]:
    """Yield the current time, at least a millisecond after the last one.

    Ids sort by the millisecond of the creation, so lists contain records in the order in which they were built.
    """
    milliseconds = 0
    while True:
        milliseconds = max(milliseconds + 1, now_ms())
        yield timestamp(milliseconds)


_creation_times: Final = _generate_creation_times()


def new_fields() -> dict[str, Any]:
    """Return the fields that all new records have."""
    return new_id_and_time_fields(next(_creation_times))
