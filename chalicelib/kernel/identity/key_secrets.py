"""The secrets of API keys and service keys: issuing, rotating, and the end of a key."""

from typing import Any, Final

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.permissions.grants import Credential
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import tasks

MAX_ACTIVE_SECRETS: Final = 5
"""Secrets of one key that work at the same time. Each takes an action of the transaction that revokes the key."""


def issue_secret() -> tuple[str, dict[str, Any]]:
    """Return the secret of a new key, and the fields that store it."""
    return _secret_with_fields({})


def require_active(key: Credential) -> None:
    """Raise Problem `invalid_transition` if a key was revoked or has expired."""
    if key.status != "active":
        raise Problem("invalid_transition", f"The {key.title} is {key.status}. Create another one.")


def rotate_secret(key: Credential, grace_hours: int, timestamp: str) -> tuple[str, dict[str, Any]]:
    """Return the new secret of a key, and the fields that change.

    The former secrets end after `grace_hours` at the latest. Raises Problem `limit_exceeded` if too many are active.
    """
    grace_ends_at = after(timestamp, hours=grace_hours)
    active_digests: dict[str, str | None] = {
        digest: min(expires_at or grace_ends_at, grace_ends_at)
        for digest, expires_at in key.digests.items()
        if expires_at is None or expires_at > timestamp
    }
    if grace_hours and len(active_digests) == MAX_ACTIVE_SECRETS:
        detail = f"{MAX_ACTIVE_SECRETS} of its secrets are active. Wait until one expires, or rotate with graceHours 0."
        raise Problem("limit_exceeded", detail)
    return _secret_with_fields(active_digests)


def _secret_with_fields(former_digests: dict[str, str | None]) -> tuple[str, dict[str, Any]]:
    secret = api_key_format.generate_api_key()
    return secret, {
        "digests": former_digests | {api_key_format.digest_api_key(secret): None},
        "hint": api_key_format.last_characters_hint(secret),
    }


def stop_counting_if_expired(record_type: type[Credential], message: dict[str, Any]) -> None:
    """Stop counting an expired key toward its quota. The key itself stopped working when it expired.

    `message`: that of the key's scheduled task.
    """
    key = tasks.load_record_or_none(record_type, message)
    if key and key.is_live and key.status == "expired":
        changes = UnitOfWork(now())
        changes.update_untracked(key, is_live=False)
        changes.commit()
