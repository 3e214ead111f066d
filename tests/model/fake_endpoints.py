"""Fake servers that receive webhooks. They store what they accept and respond according to their state."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.outbound.webhook_client import WebhookResponse

STATES: Final = ("well", "refusing", "silent")

_ANSWERS: Final = {
    "well": {"status": 204, "error": None},
    "refusing": {"status": 503, "error": None},
    "silent": {"status": None, "error": "The server did not respond within 15 s.", "timed_out": True},
}


@dataclass
class FakeEndpoints:
    """The accepted messages by URL, in order of their arrival."""

    state: str = "well"
    accepted_messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def post(self, url: str, body: bytes, headers: Any, _seconds: float | None = None) -> WebhookResponse:
        """Respond to a message, and store it if it is accepted."""
        if self.state == "well":
            self.accepted_messages.setdefault(url, []).append(
                json.loads(body) | {"webhook-id": headers.get("webhook-id")}
            )
        return WebhookResponse(body="", duration_ms=7, **_ANSWERS[self.state])  # type: ignore[arg-type]
