"""A webhook request to a receiver, as the tests of the webhook client send it."""

from collections.abc import Callable
from typing import Final

from chalicelib.kernel.outbound.webhook_client import WebhookResponse, post_webhook
from tests.harness.receiver import ReceivedRequest, Receiver, Reply

BODY: Final = b'{"type":"organization.updated"}'
HEADERS: Final = {"Content-Type": "application/json", "webhook-id": "01939d3c-0000-7000-8000-00000000000a"}
CLOSED: Final = "The server closed the connection without a response."
BROKEN: Final = "The response is not HTTP, or ended too early."


def post(receiver: Receiver, reply: Reply | Callable[[ReceivedRequest], Reply] | None = None) -> WebhookResponse:
    """Return the response to a request that the receiver answers with this reply."""
    if reply:
        receiver.default_reply = reply
    return post_webhook(receiver.url, BODY, HEADERS)


def post_to_host(receiver: Receiver, host: str) -> WebhookResponse:
    return post_webhook(receiver.url_at(host, "/hooks"), BODY, HEADERS)


def outcome_of(response: WebhookResponse) -> tuple[int | None, str | None, bool]:
    """Return the status, the error, and whether the time was over."""
    return response.status, response.error, response.timed_out
