"""Strangers' servers as most tests want them: there are none, DNS knows none, and whatever is sent to them is taken.

The public sources of research know a handful of works.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final
from unittest.mock import patch

import pytest

from chalicelib.features.research.logic import source_client
from chalicelib.features.research.logic.source_client import Source
from chalicelib.kernel.outbound import dns, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from local.server.stub_sources import SAMPLES

GONE: Final = "https://gone.example/hooks"
"""Where somebody was who wants nothing any more, and says so (410)."""


def let_them_take_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send and ask nothing out of this process: all is taken, the next time a little later, but for `GONE`."""
    durations = count(7)

    def post(url: str, *_: Any) -> WebhookResponse:
        return WebhookResponse(status=410 if url == GONE else 204, error=None, body="", duration_ms=next(durations))

    monkeypatch.setattr(webhook_client, "post_webhook", post)
    monkeypatch.setattr(dns, "query_dns", lambda *_: [])
    monkeypatch.setattr(source_client, "_send", _sampled)


def _sampled(_source: Source, url: str) -> source_client.SourceResponse:
    reply = SAMPLES.reply(url)
    return source_client.SourceResponse(
        reply.status, reply.headers.get("Location"), None, json.dumps(reply.body).encode()
    )


@contextmanager
def refusing() -> Iterator[None]:
    """Let them take nothing within the block, for now: they answer 503."""
    answer = WebhookResponse(status=503, error=None, body="", duration_ms=7)
    with patch.object(webhook_client, "post_webhook", lambda *_: answer):
        yield


@contextmanager
def counted() -> Iterator[list[str]]:
    """Let them take everything within the block, and yield the addresses of all that is sent, as it is sent."""
    sent: list[str] = []

    def post(url: str, *_: Any) -> WebhookResponse:
        sent.append(url)
        return WebhookResponse(status=204, error=None, body="", duration_ms=7)

    with patch.object(webhook_client, "post_webhook", post):
        yield sent


@contextmanager
def unreached() -> Iterator[None]:
    """Let it be a failure of the test if anything is sent to them within the block."""

    def post(url: str, *_: Any) -> WebhookResponse:
        raise AssertionError(f"sent to {url}")

    with patch.object(webhook_client, "post_webhook", post):
        yield


@contextmanager
def silent() -> Iterator[None]:
    """Let them give no answer within the block."""
    answer = WebhookResponse(
        status=None, error="The server did not respond within 15 s.", body="", duration_ms=15_000, timed_out=True
    )
    with patch.object(webhook_client, "post_webhook", lambda *_: answer):
        yield
