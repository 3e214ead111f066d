"""Test messages to webhooks, channels and log streams: their limits, and their results."""

from typing import Final

from chalicelib.features.notifications.models.schemas import TrialOut
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.rate_limits.buckets import RateLimit

TEST_TIMEOUT_SECONDS: Final = 5.0
"""Time limit of a test message, because the caller and a function instance wait for it."""

TEST_RATE_LIMITS: Final = (
    RateLimit("tests", limit=10, seconds=60, per="organization"),
    RateLimit("tests-of-caller", limit=30, seconds=60, per="principal"),
)
"""Rate limits of test messages. The second one keeps a caller with many organizations from occupying many functions."""


def describe_trial(response: WebhookResponse, error: str | None) -> TrialOut:
    """Return the result of a test message. `error`: why the message was not delivered."""
    return TrialOut(
        delivered=response.succeeded, status_code=response.status, error=error, duration_ms=response.duration_ms
    )
