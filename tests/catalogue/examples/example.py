"""Examples: successful calls of operations. Each feature has a file with its examples in this folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.tenant_fixture import World
from tests.harness.callers import Person

_UNKNOWN_ID: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class Example:
    """A call that succeeds for the least privileged caller of the operation.

    `only_caller`: the only person who may make it, regardless of roles and keys. `subject_path`: the path of the
    subject of its log entry, if that is not the target of its path. `target_path`: the path of the target, if no
    parameter names it. `revokes_own_access`: it removes the access of its caller. `is_open_to_all_users`: any user may
    make it. `headers`: additional headers. `merges_into_subject`: the created record becomes a part of the subject.
    """

    parameters: Mapping[str, str]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    only: Person | None = None
    about: str | None = None
    named: str | None = None
    parts: bool = False
    everybodys: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    merges: bool = False

    def path(self, operation: Operation) -> str:
        """Return the operation's path with the example's parameters."""
        return operation.path.format_map({name: quote(value, safe="") for name, value in self.parameters.items()})

    def record(self, operation: Operation) -> str:
        """Return the path of the target of the operation's path, to which `If-Match` applies."""
        return self.named or operation.path[: operation.path.rindex("}") + 1].format_map(self.parameters)

    def subject(self, operation: Operation) -> str:
        """Return the path of the subject of the operation's log entry."""
        return self.about or self.record(operation)

    def but(self, **parameters: str) -> "Example":
        """Return the same call with other path parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def of_nothing(self, parameter: str) -> "Example":
        """Return the same call with a well-formed parameter that names no record."""
        return self.but(**{parameter: _unknown_value(parameter)})

    def at(self, needs: RequireRole, name: str | None = None) -> "Example":
        """Return the same call in another container. Without a name, the container does not exist."""
        name = name or _unknown_value(needs.parameter)
        return (
            replace(self, body={**self.body, needs.field: name})
            if needs.in_body
            else self.but(**{needs.parameter: name})
        )


def _unknown_value(parameter: str) -> str:
    return "nothing-here" if parameter == "slug" else _UNKNOWN_ID


Examples = Mapping[str, Callable[[World], Example]]
"""The examples of a feature by operation id."""


def example(
    body: Any = None,
    *,
    query: Mapping[str, Any] | None = None,
    only: Person | None = None,
    about: str | None = None,
    named: str | None = None,
    parts: bool = False,
    everybodys: bool = False,
    headers: Mapping[str, str] | None = None,
    **parameters: str,
) -> Example:
    """Return an example with these path parameters."""
    return Example(parameters, body, query or {}, only, about, named, parts, everybodys, headers or {})
