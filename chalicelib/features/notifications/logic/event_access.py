"""Limits the events of a subscriber to those that the caller may read."""

from collections.abc import Sequence
from typing import TypeVar

from chalicelib.features.notifications.entities import Subscriber
from chalicelib.features.notifications.logic.retry_schedule import reject_unreadable_event_types
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import completely_readable_areas

S = TypeVar("S", bound=Subscriber)


def require_readable_event_areas(ctx: Context, event_patterns: Sequence[str]) -> list[str] | None:
    """Return the areas that the caller may read. None stands for all areas.

    Raises Problem 403 for exact event types outside these areas.
    """
    areas = completely_readable_areas(ctx.scopes)
    reject_unreadable_event_types(event_patterns, areas)
    return areas


def limit_to_caller_areas(ctx: Context, subscriber: S, previous: S) -> S:
    """Return a changed subscriber limited to the areas that the caller may read, if it was changed.

    The change may have pointed it to a server of the caller. Raises Problem 403 for exact event types outside the
    areas.
    """
    if subscriber is previous:
        return subscriber
    return ctx.changes.update(subscriber, areas=require_readable_event_areas(ctx, subscriber.events))
