"""Patterns of application events, which have to match event types that operators have declared."""

from collections.abc import Collection, Sequence
from typing import Final

from chalicelib.features.events.types.logic.definitions import list_declared_type_names
from chalicelib.features.notifications.models.event_types import EVENT_PATTERNS
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.problems import FieldError, ValidationProblem

_ADVICE: Final = "GET /event-types lists them"


def reject_undeclared_events(patterns: Sequence[str], stored_patterns: Collection[str] = ()) -> None:
    """Raise ValidationProblem for each pattern of application events that matches no declared type.

    `stored_patterns`: those that the subscriber has already, which stay valid. The declared types are read, with one
    Query, only if a new pattern may match an application event.
    """
    checked = {
        index: pattern
        for index, pattern in enumerate(patterns)
        if is_application_type(pattern) and pattern not in stored_patterns
    }
    if not checked:
        return
    declared = list_declared_type_names()
    known = {
        *declared,
        *(f"{name[:end]}.*" for name in declared for end, character in enumerate(name) if character == "."),
    }
    errors = [
        FieldError(f"/events/{index}", "malformed", _describe(pattern, known))
        for index, pattern in checked.items()
        if pattern not in known
    ]
    if errors:
        raise ValidationProblem(errors)


def _describe(pattern: str, known_patterns: Collection[str]) -> str:
    question = ask_whether_meant(find_nearest_names(pattern, {*known_patterns, *EVENT_PATTERNS}, max_count=3))
    return " ".join(filter(None, (f"{pattern!r} is not an event type or pattern; {_ADVICE}.", question)))
