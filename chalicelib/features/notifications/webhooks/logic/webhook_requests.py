"""The requests that deliver events to webhooks, as they are sent and as callers see them."""

from dataclasses import replace

from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.features.notifications.logic.delivery_events import DeliveryEvent
from chalicelib.features.notifications.models import standard_webhooks
from chalicelib.features.notifications.models.schemas import DeliveryRequestOut
from chalicelib.features.notifications.models.webhook_urls import MASK, mask_query_values
from chalicelib.features.notifications.webhooks.entities import Webhook, WebhookDelivery
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import now, timestamp_ms
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse


def send_event(webhook: Webhook, event: DeliveryEvent) -> WebhookResponse:
    """Send an event to a webhook, signed with its active secrets, and return the result.

    Raises DecryptionError if a stored secret was altered.
    """
    body, signed_at = event.encode_request_body(), now()
    headers = signing_secrets.signed_headers(webhook, event.entry["id"], body, signed_at)
    response = webhook_client.post_webhook(webhook.url, body, headers | _request_id_header(event))
    return replace(response, signed_at=signed_at)


def describe_request(
    webhook: Webhook, delivery: WebhookDelivery, event: DeliveryEvent | None, *, shows_body: bool
) -> DeliveryRequestOut:
    """Return the request of the last attempt or, before the first one, of the next attempt, without secrets.

    It is derived from the webhook and the log entry as they are now. `event` is None if the entry was erased.
    """
    last_attempt = delivery.attempts[-1] if delivery.attempts else {}
    signed_at = last_attempt.get("signed_at") or last_attempt.get("at")  # Attempts of release 0.9.0 have only `at`.
    secret_count = len(signing_secrets.active_stored_secrets(webhook, signed_at or now()))
    headers = {
        **webhook_client.connection_headers(webhook.url),
        "content-type": signing_secrets.CONTENT_TYPE,
        "webhook-id": delivery.event_id,
        **({"webhook-timestamp": str(timestamp_ms(signed_at) // 1000)} if signed_at else {}),
        "webhook-signature": standard_webhooks.join_signatures([MASK] * secret_count),
        **(_request_id_header(event) if event else {}),
    }
    return DeliveryRequestOut(
        url=mask_query_values(webhook.url),
        headers={ascii_lower(name): value for name, value in headers.items()},
        body=event.encode_request_body().decode() if event and shows_body else None,
    )


def failure_reason(response: WebhookResponse) -> str | None:
    """Return the reason why a message was not delivered, or None if it was."""
    if response.succeeded or response.error:
        return response.error
    return f"It answered {response.status} instead of 2xx."


def _request_id_header(event: DeliveryEvent) -> dict[str, str]:
    return {"x-request-id": event.request_id} if event.request_id else {}
