"""Limits the events of a subscriber to those that the caller may read."""

from collections.abc import Sequence
from typing import TypeVar

from chalicelib.features.deliveries.entities import Subscriber
from chalicelib.features.deliveries.rules import refuse_outside
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import readable_areas

S = TypeVar("S", bound=Subscriber)


def areas_within_reach(ctx: Context, events: Sequence[str]) -> list[str] | None:
    """Return the areas that the caller may read; None stands for all areas.

    Raises Problem 403 for exact event types outside these areas.
    """
    areas = readable_areas(ctx.scopes)
    refuse_outside(events, areas)
    return areas


def within_reach(ctx: Context, changed: S, before: S) -> S:
    """Return a changed subscriber limited to the areas that the caller may read; unchanged if nothing changed.

    The change may have pointed it to a server of the caller. Raises Problem 403 for exact event types outside the
    areas.
    """
    if changed is before:
        return changed
    return ctx.changes.update(changed, areas=areas_within_reach(ctx, changed.events))
