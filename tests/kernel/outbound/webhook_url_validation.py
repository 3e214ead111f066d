"""Validation of webhook URLs on a deployed stage, as their tests call it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from pydantic import TypeAdapter, ValidationError

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.webhook_urls import TargetUrl

TARGET: Final = TypeAdapter(TargetUrl)
DEPLOYED: Final = {
    "STAGE": "prod",
    "EVENTS_QUEUE_URL": "https://queue.example/events",
    "JOBS_QUEUE_URL": "https://queue.example/jobs",
    "DELIVERIES_QUEUE_URL": "https://queue.example/deliveries",
    "DELIVERIES_SLOW_QUEUE_URL": "https://queue.example/deliveries-slow",
    "EXPORTS_BUCKET": "exports",
    "AUTH_JWKS": "https://issuer.example/jwks",
    "AUTH_ISSUER": "https://issuer.example",
    "AUTH_AUDIENCE": "atrium",
    "AUDIT_SIGNING_KEY": "kms:AAAA",
    "AUDIT_PUBLIC_KEYS": "A" * 43 + "=",
    "SEAL_KEY": "kms:AAAA",
    "ENTRY_KEY": "kms:AAAA",
    "DATA_KEY": "kms:AAAA",
    "TOKEN_KEY": "kms:AAAA",
}
PUBLIC_IPV4: Final = "93.184.216.34"


@contextmanager
def deployed_stage() -> Iterator[None]:
    """Set the settings of a deployed stage within the block."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in DEPLOYED.items():
            environment.setenv(name, value)
        settings.cache_clear()
        yield
    settings.cache_clear()


def validate(url: str) -> str:
    return TARGET.validate_python(url)


def rejection_message(url: str) -> str:
    with pytest.raises(ValidationError) as raised:
        validate(url)
    [error] = raised.value.errors()
    return error["msg"]
