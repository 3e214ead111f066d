"""Limits the events of a recipient to those that the caller may read."""

from collections.abc import Collection, Container, Sequence
from typing import TypeVar

from chalicelib.features.notifications.entities import EventRecipient
from chalicelib.features.notifications.logic.declared_events import reject_undeclared_events
from chalicelib.features.notifications.models.event_areas import is_in_scope_areas, scope_area_of
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import fully_readable_areas_or_none_if_all

S = TypeVar("S", bound=EventRecipient)


def check_events_and_get_readable_areas(
    ctx: Context, event_patterns: Sequence[str], stored_patterns: Collection[str] = ()
) -> list[str] | None:
    """Return the areas that the caller may read. None stands for all areas.

    Raises ValidationProblem for patterns of application events that match no declared type, unless they are among the
    `stored_patterns` of the subscriber, and Problem 403 for exact event types outside the areas.
    """
    reject_undeclared_events(event_patterns, stored_patterns)
    areas = fully_readable_areas_or_none_if_all(ctx.api_key_scopes)
    _reject_unreadable_exact_event_types(event_patterns, areas)
    return areas


def _reject_unreadable_exact_event_types(patterns: Sequence[str], readable_areas: Container[str] | None) -> None:
    """Raise Problem 403 for each exact event type outside the areas. Prefix patterns are always allowed."""
    errors = [
        FieldError(
            f"/events/{index}", "insufficient_scope", f"This event requires the scope {scope_area_of(pattern)}:read."
        )
        for index, pattern in enumerate(patterns)
        if "*" not in pattern and not is_in_scope_areas(pattern, readable_areas)
    ]
    if errors:
        raise Problem("insufficient_scope", "The API key lacks the scope to read some of these events.", errors)


def can_read_events_of(ctx: Context, event_type: str) -> bool:
    """Return whether the caller may read events of a type."""
    return is_in_scope_areas(event_type, fully_readable_areas_or_none_if_all(ctx.api_key_scopes))


def limit_changed_recipient_to_caller_areas(ctx: Context, recipient: S, previous: S) -> S:
    """Return a changed recipient limited to the areas that the caller may read, if it was changed.

    The change may have pointed it to a server of the caller. Raises as `check_events_and_get_readable_areas` does.
    """
    if recipient is previous:
        return recipient
    areas = check_events_and_get_readable_areas(ctx, recipient.events, previous.events)
    return ctx.changes.update(recipient, areas=areas)
