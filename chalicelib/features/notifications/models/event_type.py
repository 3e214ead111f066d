"""An event type: when the event occurs, and how chat messages describe it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EventType:
    """An event type.

    `description`: when it occurs. `sentence`: `{actor}` performed the action on `{target}`. `{count}` is the sum of the
    numbers in the object `counts_field` of the event's `data`.
    """

    description: str
    sentence: str
    counts_field: str = ""
