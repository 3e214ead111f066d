"""Stubs for servers outside of the service: receivers of webhooks, witnesses, DNS and the public sources of research.

By default the receivers and witnesses accept everything, DNS has no records, and the sources have a few sample works.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any, Final
from unittest.mock import patch

import pytest

from chalicelib.features.audit.witnesses.logic import witness_client
from chalicelib.features.research.logic import source_client
from chalicelib.features.research.logic.source_client import Source
from chalicelib.kernel.outbound import dns, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from local.server.stub_sources import SAMPLE_SOURCES
from tests.harness import witnesses

GONE_URL: Final = "https://gone.example/hooks"
"""The URL of a receiver that answers 410."""


def stub_external_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace all external servers. Each delivery takes 1 ms longer than the one before."""
    durations = count(7)

    def post(url: str, *_: Any) -> WebhookResponse:
        return WebhookResponse(status=410 if url == GONE_URL else 204, error=None, body="", duration_ms=next(durations))

    monkeypatch.setattr(webhook_client, "post_webhook", post)
    monkeypatch.setattr(witness_client, "add_checkpoint", witnesses.accept)
    monkeypatch.setattr(dns, "query_dns", lambda *_: [])
    monkeypatch.setattr(source_client, "_send", _sample_response)


def _sample_response(_source: Source, url: str) -> source_client.SourceResponse:
    reply = SAMPLE_SOURCES.respond(url)
    return source_client.SourceResponse(
        reply.status, reply.headers.get("Location"), None, json.dumps(reply.body).encode()
    )


def reject_deliveries() -> AbstractContextManager[object]:
    """Make all receivers respond with 503 within the block."""
    return _respond_with(WebhookResponse(status=503, error=None, body="", duration_ms=7))


def _respond_with(response: WebhookResponse) -> AbstractContextManager[object]:
    return patch.object(webhook_client, "post_webhook", lambda *_: response)


@contextmanager
def record_delivery_urls() -> Iterator[list[str]]:
    """Make all receivers accept within the block, and yield the list of the URLs of deliveries."""
    urls: list[str] = []

    def post(url: str, *_: Any) -> WebhookResponse:
        urls.append(url)
        return WebhookResponse(status=204, error=None, body="", duration_ms=7)

    with patch.object(webhook_client, "post_webhook", post):
        yield urls


def forbid_deliveries() -> AbstractContextManager[object]:
    """Fail the test if the block sends a delivery."""
    return patch.object(webhook_client, "post_webhook", side_effect=AssertionError("a delivery was sent"))


def time_out_deliveries() -> AbstractContextManager[object]:
    error = "The server did not respond within 15 s."
    return _respond_with(WebhookResponse(status=None, error=error, body="", duration_ms=15_000, timed_out=True))
