"""The secrets of a webhook: their encryption at rest, and the signatures of messages."""

from typing import Any, Final

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.models import standard_webhooks
from chalicelib.kernel.core.clock import timestamp_ms
from chalicelib.kernel.crypto import symmetric

CONTENT_TYPE: Final = "application/json"
"""The media type of all messages."""


def encrypted_secret_without_expiry(webhook_id: str, secret: str) -> dict[str, Any]:
    """Return a secret (`whsec_…`) as stored in its webhook, encrypted and without an end."""
    return {"sealed": symmetric.encrypt_bytes(secret.encode(), _encryption_context_text(webhook_id)), "until": None}


def active_stored_secrets(webhook: Webhook, timestamp: str) -> list[dict[str, Any]]:
    """Return the stored secrets that sign at a time, with the current one first."""
    return [item for item in webhook.secrets if item["until"] is None or item["until"] > timestamp]


def signed_headers(webhook: Webhook, message_id: str, body: bytes, timestamp: str) -> dict[str, str]:
    """Return the headers of a message to a webhook, with its id and signatures (Standard Webhooks).

    Raises DecryptionError if a stored secret was altered.
    """
    decrypted = [_decrypt_secret(webhook, item) for item in active_stored_secrets(webhook, timestamp)]
    signed = standard_webhooks.signed_headers(
        map(standard_webhooks.decode_secret, decrypted), message_id, timestamp_ms(timestamp) // 1000, body
    )
    return {"content-type": CONTENT_TYPE, **signed}


def reencrypt_secret(webhook: Webhook, stored_secret: dict[str, Any]) -> dict[str, Any]:
    """Return a stored secret encrypted with the current key. Raises DecryptionError."""
    return encrypted_secret_without_expiry(webhook.id, _decrypt_secret(webhook, stored_secret)) | {
        "until": stored_secret["until"]
    }


def _decrypt_secret(webhook: Webhook, stored_secret: dict[str, Any]) -> str:
    return symmetric.decrypt_bytes(stored_secret["sealed"], _encryption_context_text(webhook.id)).decode()


def _encryption_context_text(webhook_id: str) -> str:
    return f"webhook:{webhook_id}"
