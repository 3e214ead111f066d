"""The areas of event types: what the scopes of an API key have to cover, so that its subscribers receive events."""

from collections.abc import Container, Sequence
from typing import Final

from chalicelib.kernel.core.event_patterns import is_application_type, matches_any_pattern

_AREA_BY_PREFIX: Final = {
    "organization": "organizations",
    "organization.member": "members",
    "organization.invitation": "members",
    "organization.person_erased": "members",
    "organization.api_key": "api-keys",
    "organization.audit_export": "audit-log",
    "organization.reconciliation": "audit-log",
    "organization.record": "audit-log",
    "organization.webhook": "webhooks",
    "organization.log_stream": "log-streams",
    "organization.integration_channel": "channels",
    "platform": "platforms",
    "platform.member": "members",
    "platform.invitation": "members",
    "platform.custom_domain": "domains",
    "space": "spaces",
    "space.member": "members",
    "taxonomy": "taxonomy",
    "research": "research",
    "site": "sites",
    "page": "sites",
    "lead": "leads",
    "mail": "mail",
    "system": "system",
}
"""The area of built-in event types by their prefix. The longest prefix wins.

No key has a scope of `leads`, `mail` or `system`.
"""

_APPLICATION_EVENTS_AREA: Final = "events"


def scope_area_of(event_type: str) -> str:
    """Return the area of an event type, whose read scope is needed to receive the event."""
    if is_application_type(event_type):
        return _APPLICATION_EVENTS_AREA
    parts = event_type.split(".")
    return next(_AREA_BY_PREFIX[".".join(parts[:end])] for end in (2, 1) if ".".join(parts[:end]) in _AREA_BY_PREFIX)


def accepts_event_type(patterns: Sequence[str], areas: Container[str] | None, event_type: str) -> bool:
    """Return whether a recipient with these patterns and areas wants events of a type, and may receive them."""
    return matches_any_pattern(patterns, event_type) and is_in_scope_areas(event_type, areas)


def is_in_scope_areas(event_type: str, areas: Container[str] | None) -> bool:
    """Return whether an event type belongs to one of the areas. None stands for all areas."""
    return areas is None or scope_area_of(event_type) in areas
