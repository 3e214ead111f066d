"""Deliveries of the sample company's webhooks with attempts of all kinds, stored without sending anything."""

from typing import Any, Final

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import Json

HOSTILE_ANSWER: Final = '<img src=x onerror="document.title=1"><script>document.title = 2</script> ' + "w" * 300
"""What a receiver answers that means no good."""


def store_sample_deliveries(webhook: Json, entries: list[Json]) -> list[str]:
    """Store a delivery of each entry of the log: failed, pending, succeeded and skipped in turn. Return their ids."""
    for sequence, (entry, status) in enumerate(zip(entries, _ATTEMPTS, strict=False), 1):
        _store_delivery(webhook["id"], entry, sequence, status)
    return [entry["id"] for entry in entries]


def _store_delivery(webhook_id: str, entry: Json, sequence: int, status: Any) -> None:
    started_at = now()
    delivery = WebhookDelivery.create_pending_or_skipped(
        webhook_id,
        event_id=entry["id"],
        event_type=entry["type"],
        organization_id=entry["organizationId"],
        sequence=sequence,
        received_at=entry["occurredAt"],
        now=started_at,
        attempt_at=after(started_at, seconds=1800) if status == "pending" else None,
    )
    attempts = _ATTEMPTS[status]
    stored = [{"number": number, "at": started_at, **attempt} for number, attempt in enumerate(attempts, 1)]
    memory_aws.put_item(delivery.replace(status=status, attempts=stored, tries=len(stored)).item())


_REFUSED: Final = {"duration_ms": 4, "status_code": None, "error": "Connection refused.", "response_body": None}
_BROKEN: Final = {"duration_ms": 1204, "status_code": 500, "error": None, "response_body": HOSTILE_ANSWER}
_ACCEPTED: Final = {"duration_ms": 84, "status_code": 200, "error": None, "response_body": '{"ok": true}'}
_ATTEMPTS: Final[dict[str, list[Json]]] = {
    "failed": [_REFUSED, _BROKEN, _REFUSED],
    "pending": [_BROKEN],
    "succeeded": [_BROKEN, _ACCEPTED],
    "skipped": [],
}
