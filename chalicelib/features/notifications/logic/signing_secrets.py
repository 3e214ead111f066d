"""The secrets of a record that signs or authenticates requests: encryption at rest, and signatures of messages."""

from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.notifications.entities import RecipientWithSecrets
from chalicelib.features.notifications.models import standard_webhooks
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto import symmetric

_MAX_ACTIVE_SECRETS: Final = 5
"""Maximum number of secrets of one webhook or log stream that sign at the same time."""

CONTENT_TYPE: Final = "application/json"
"""The media type of messages to webhooks."""


def encrypted_secret_without_expiry(secret_context: str, secret: str) -> dict[str, Any]:
    """Return a secret as stored in a record with this context, encrypted and without an end."""
    return {"sealed": symmetric.encrypt_bytes(secret.encode(), secret_context), "until": None}


def active_stored_secrets(recipient: RecipientWithSecrets, timestamp: str) -> list[dict[str, Any]]:
    """Return the stored secrets that are valid at a time, with the current one first."""
    return [item for item in recipient.secrets if item["until"] is None or item["until"] > timestamp]


def decrypt_active_secrets(recipient: RecipientWithSecrets, timestamp: str) -> Sequence[str]:
    """Return the secrets that are valid at a time, with the current one first. Raises DecryptionError."""
    return [_decrypt_secret(recipient, item) for item in active_stored_secrets(recipient, timestamp)]


def rotate_secret(
    recipient: RecipientWithSecrets, grace_hours: int, timestamp: str
) -> tuple[str, list[dict[str, Any]]]:
    """Return a new secret, and the stored secrets of a record with it. The former ones end after `grace_hours`.

    Raises Problem `limit_exceeded` if too many are active, and DecryptionError if a stored secret was altered.
    """
    secret, until = standard_webhooks.generate_secret(), after(timestamp, hours=grace_hours)
    former_secrets = active_stored_secrets(recipient, timestamp) if grace_hours else []
    if len(former_secrets) == _MAX_ACTIVE_SECRETS:
        detail = f"{_MAX_ACTIVE_SECRETS} secrets are active. Wait until one expires, or rotate with graceHours 0."
        raise Problem("limit_exceeded", detail)
    expiring = [
        reencrypt_secret(recipient, item) | {"until": min(item["until"] or until, until)} for item in former_secrets
    ]
    return secret, [encrypted_secret_without_expiry(recipient.secret_context, secret), *expiring]


def signed_headers(
    recipient: RecipientWithSecrets, message_id: str, body: bytes, timestamp: str, content_type: str = CONTENT_TYPE
) -> dict[str, str]:
    """Return the headers of a message, with its id and a signature for each valid secret (Standard Webhooks).

    Raises DecryptionError if a stored secret was altered.
    """
    keys = map(standard_webhooks.decode_secret, decrypt_active_secrets(recipient, timestamp))
    signed = standard_webhooks.signed_headers(keys, message_id, timestamp_ms(timestamp) // 1000, body)
    return {"content-type": content_type, **signed}


def reencrypt_secret(recipient: RecipientWithSecrets, stored_secret: dict[str, Any]) -> dict[str, Any]:
    """Return a stored secret encrypted with the current key. Raises DecryptionError."""
    secret = _decrypt_secret(recipient, stored_secret)
    return encrypted_secret_without_expiry(recipient.secret_context, secret) | {"until": stored_secret["until"]}


def _decrypt_secret(recipient: RecipientWithSecrets, stored_secret: dict[str, Any]) -> str:
    return symmetric.decrypt_bytes(stored_secret["sealed"], recipient.secret_context).decode()
