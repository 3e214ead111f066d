"""Event types, and patterns of them: an exact type, a prefix such as `page.*`, or `*`."""

from collections.abc import Iterable
from typing import Final

TEST_FIRST_PARTS: Final = frozenset({"channel", "log_stream", "webhook"})
"""The first parts of the types of test messages, such as `webhook.test`."""

RESERVED_FIRST_PARTS: Final = TEST_FIRST_PARTS | {
    *("lead", "mail", "organization", "page", "platform", "research", "site", "space", "system", "taxonomy")
}
"""The first parts of the types of built-in events and test messages. No application event has a type with one."""

MAX_EVENT_TYPE_CHARACTERS: Final = 100
"""Length of an event type, and of a pattern of event types."""

_LENGTH: Final = f"(?=.{{3,{MAX_EVENT_TYPE_CHARACTERS}}}$)"

EVENT_TYPE_PATTERN: Final = rf"^{_LENGTH}[a-z_]+(\.[a-z_]+)+$"
"""The grammar of event types, built-in ones and those of applications: two or more words, joined by dots."""

EVENT_TYPE_OR_PREFIX_PATTERN: Final = rf"^{_LENGTH}[a-z_]+(\.[a-z_]+)*\.([a-z_]+|\*)$"
"""The grammar of event types, and of prefixes of them such as `invoice.*`."""


def matches_any_pattern(patterns: Iterable[str], event_type: str) -> bool:
    """Return whether an event type matches a pattern: itself, a prefix such as `page.*`, or `*`."""
    return any(
        pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))
        for pattern in patterns
    )


def is_application_type(event_type: str) -> bool:
    """Return whether an event type, or a pattern of several, can only be that of application events."""
    first = event_type.partition(".")[0]
    return first != "*" and first not in RESERVED_FIRST_PARTS
