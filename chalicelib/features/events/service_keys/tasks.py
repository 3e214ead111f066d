"""The task of expired service keys."""

from typing import Any

from chalicelib.features.events.service_keys.entities import ServiceKey
from chalicelib.kernel.identity import key_secrets
from chalicelib.kernel.work.tasks import task


@task(ServiceKey.expiry_task)
def stop_counting_expired_service_key(message: dict[str, Any]) -> None:
    """Stop counting an expired service key toward the quota. The key itself stopped working when it expired."""
    key_secrets.stop_counting_if_expired(ServiceKey, message)
