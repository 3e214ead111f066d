"""What whoever makes or changes a subscriber may let it be told of."""

from collections.abc import Sequence
from typing import TypeVar

from chalicelib.features.deliveries.entities import Subscriber
from chalicelib.features.deliveries.rules import refuse_outside
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import readable_areas

S = TypeVar("S", bound=Subscriber)


def areas_within_reach(ctx: Context, events: Sequence[str]) -> list[str] | None:
    """Return the areas that the caller may read, None if that is all of them.

    Raises Problem 403 for exact types of events that lie outside.
    """
    areas = readable_areas(ctx.scopes)
    refuse_outside(events, areas)
    return areas


def within_reach(ctx: Context, changed: S, before: S) -> S:
    """Return a subscriber that the caller changed, within the areas that they may read; as it is if nothing changed.

    It may lead to a server of theirs by now. Raises Problem 403 if it wants exact types of events outside.
    """
    if changed is before:
        return changed
    return ctx.changes.update(changed, areas=areas_within_reach(ctx, changed.events))
