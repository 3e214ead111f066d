"""Patterns of event types: an exact type, a prefix such as `page.*`, or `*`."""

from collections.abc import Iterable


def matches_any_pattern(patterns: Iterable[str], event_type: str) -> bool:
    """Return whether an event type matches a pattern: itself, a prefix such as `page.*`, or `*`."""
    return any(
        pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))
        for pattern in patterns
    )
