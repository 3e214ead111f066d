"""The JSON that programs receive about an event, from webhooks and from channels of the provider `webhook`. No I/O."""

from collections.abc import Mapping
from typing import Any


def build_event_payload(entry: Mapping[str, Any], sequence: int | None) -> dict[str, Any]:
    """Return what a subscriber receives of a log entry.

    It is never longer than the entry, whose long values are digests already. The name of the actor, the target and the
    context of the request stay in the log. `sequence` is None for a test message, which is no event of the log.
    """
    actor = entry["actor"]
    return {
        "type": entry["type"],
        "timestamp": entry["occurredAt"],
        "data": entry["data"],
        "organizationId": entry["organizationId"],
        "sequence": sequence,
        "actor": {"type": actor["type"], "id": actor["id"]},
        "changes": entry["changes"],
    }
