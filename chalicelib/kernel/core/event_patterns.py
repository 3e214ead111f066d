"""Patterns of event types: an exact type, a prefix such as `page.*`, or `*`."""

from collections.abc import Iterable
from typing import Final

BUILT_IN_SUBJECTS: Final = frozenset(
    {"lead", "mail", "organization", "page", "platform", "research", "site", "space", "system", "taxonomy"}
)
"""The first parts of the types of built-in events. No type of application events begins with one of them."""


def matches_any_pattern(patterns: Iterable[str], event_type: str) -> bool:
    """Return whether an event type matches a pattern: itself, a prefix such as `page.*`, or `*`."""
    return any(
        pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))
        for pattern in patterns
    )


def is_application_type(event_type: str) -> bool:
    """Return whether an event type, or a pattern of several, can only be that of application events."""
    return event_type.partition(".")[0] not in (*BUILT_IN_SUBJECTS, "*")
