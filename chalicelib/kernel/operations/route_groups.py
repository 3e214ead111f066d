"""Route groups: decorators that declare operations."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.core.event_patterns import EVENT_TYPE_PATTERN
from chalicelib.kernel.operations.access_rules import AccessRule
from chalicelib.kernel.operations.operation import CREATED, NO_CONTENT, OK, Operation
from chalicelib.kernel.permissions.scope_areas import ScopeArea

_EVENT: Final = re.compile(EVENT_TYPE_PATTERN)
_SCOPE: Final = re.compile(r"[a-z-]+:(read|write)")


@dataclass(frozen=True)
class RouteGroup:
    """A group of operations, which become the routes of one function. Its methods are decorators that add operations.

    `scope_areas` are the areas of scopes that the feature introduces.
    """

    name: str
    operations: list[Operation] = field(default_factory=list)
    scope_areas: tuple[ScopeArea, ...] = ()

    def get(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Add a read."""
        return self._build_decorator_returning_operation("GET", path, OK, **options)

    def post(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Add a creation (201) or, with `success`, an action (200, 202, 204)."""
        return self._build_decorator_returning_operation("POST", path, options.pop("success", CREATED), **options)

    def patch(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Add a change by JSON Merge Patch (RFC 7396)."""
        return self._build_decorator_returning_operation("PATCH", path, OK, **options)

    def put(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Add a replacement."""
        return self._build_decorator_returning_operation("PUT", path, OK, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Callable[..., Any]], Operation]:
        """Add a removal."""
        return self._build_decorator_returning_operation("DELETE", path, NO_CONTENT, **options)

    def _build_decorator_returning_operation(
        self,
        method: str,
        path: str,
        success: int,
        *,
        access: AccessRule,
        scope: str | None,
        emits: str | tuple[str, ...] | None,
        **options: Any,
    ) -> Callable[[Callable[..., Any]], Operation]:
        # None of these has a default, so a forgotten permission or event fails at import.
        events = (emits,) if isinstance(emits, str) else emits or ()
        for name, pattern in [(event, _EVENT) for event in events] + ([(scope, _SCOPE)] if scope else []):
            if not pattern.fullmatch(name):
                raise ValueError(f"{method} {path}: {name!r} is not well-formed")

        def declare(function: Callable[..., Any]) -> Operation:
            operation = Operation(self.name, method, path, function, access, scope, events, success, **options)
            self.operations.append(operation)
            return operation

        return declare
