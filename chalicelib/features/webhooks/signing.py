"""The secrets of a webhook: how they are kept, and how a message to it is signed with those that live."""

from typing import Any

from chalicelib.features.webhooks import standard_webhooks
from chalicelib.features.webhooks.entities import Webhook
from chalicelib.kernel.core.clock import timestamp_ms
from chalicelib.kernel.crypto import encryption


def sealed(webhook_id: str, secret: str) -> dict[str, Any]:
    """Return a secret (`whsec_…`) as its webhook keeps it, for as long as no other follows it."""
    return {"sealed": encryption.encrypt(secret.encode(), _context(webhook_id)), "until": None}


def live(webhook: Webhook, moment: str) -> list[dict[str, Any]]:
    """Return the secrets, as they are kept, that sign at a moment; the present one first."""
    return [one for one in webhook.secrets if one["until"] is None or one["until"] > moment]


def headers(webhook: Webhook, message_id: str, body: bytes, moment: str) -> dict[str, str]:
    """Return the headers of a message to a webhook: what it is, and its signatures (Standard Webhooks).

    Raises SealBroken if somebody altered a secret.
    """
    opened = [_opened(webhook, one) for one in live(webhook, moment)]
    signed = standard_webhooks.headers(
        map(standard_webhooks.secret_bytes, opened), message_id, timestamp_ms(moment) // 1000, body
    )
    return {"content-type": "application/json", **signed}


def sealed_anew(webhook: Webhook, one: dict[str, Any]) -> dict[str, Any]:
    """Return one of a webhook's secrets as it keeps it, sealed by the present key. Raises SealBroken."""
    return sealed(webhook.id, _opened(webhook, one)) | {"until": one["until"]}


def _opened(webhook: Webhook, one: dict[str, Any]) -> str:
    return encryption.decrypt(one["sealed"], _context(webhook.id)).decode()


def _context(webhook_id: str) -> str:
    return f"webhook:{webhook_id}"
