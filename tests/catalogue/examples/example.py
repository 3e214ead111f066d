"""Example: how to call an operation so that it succeeds. Each feature has a file of them beside this one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.tenant_fixture import World
from tests.harness.callers import Person

_NOTHING: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class Example:
    """A call that whoever has just the right to it makes with success, all but the credential.

    `only`: the one person whom it is for, whatever role or key others have. `about`: the path of the record that its
    entry is about, if its own path doesn't name that; `named`: of the one that its path names, if no parameter does.
    `parts`: it takes from the caller what let them call it. `everybodys`: any user may make it. `headers`: what it
    carries beside a credential. `merges`: what it makes becomes a part of the record that its entry is about.
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
        """Return the path of the record that the operation's own path names: what `If-Match` is about."""
        return self.named or operation.path[: operation.path.rindex("}") + 1].format_map(self.parameters)

    def subject(self, operation: Operation) -> str:
        """Return the path of the record that the operation's entry is about."""
        return self.about or self.record(operation)

    def but(self, **parameters: str) -> "Example":
        """Return the same call of something else."""
        return replace(self, parameters={**self.parameters, **parameters})

    def of_nothing(self, parameter: str) -> "Example":
        """Return the same call with a parameter that is well-formed and names nothing."""
        return self.but(**{parameter: _nothing(parameter)})

    def at(self, needs: RequireRole, name: str | None = None) -> "Example":
        """Return the same call at another place, named as the operation names it; without a name at none there is."""
        name = name or _nothing(needs.parameter)
        return (
            replace(self, body={**self.body, needs.field: name})
            if needs.in_body
            else self.but(**{needs.parameter: name})
        )


def _nothing(parameter: str) -> str:
    return "nothing-here" if parameter == "slug" else _NOTHING


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
    """Return an example of these path parameters."""
    return Example(parameters, body, query or {}, only, about, named, parts, everybodys, headers or {})
