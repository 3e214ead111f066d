"""Fixtures of the tests of webhooks, channels and log streams."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.features.notifications.channels.logic import message_delivery
from chalicelib.features.notifications.log_streams.logic import entry_batches, stream_worker
from chalicelib.features.notifications.logic import stream_wakeups
from chalicelib.kernel.outbound import customer_buckets, webhook_client
from tests.harness.api import ApiClient
from tests.harness.channels import ChannelClient, create_channel
from tests.harness.clock import Clock
from tests.harness.log_streams import CustomerBucket, LogStreamClient, create_log_stream
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import NO_REPLY, Receiver, Reply
from tests.harness.webhooks import UPDATED, WebhookClient, create_webhook, rename_organization
from tests.harness.workers import Workers

NewWebhook = Callable[..., WebhookClient]
NewChannel = Callable[..., ChannelClient]
Emit = Callable[..., None]
NewStream = Callable[..., LogStreamClient]


@pytest.fixture
def new_webhook(api: ApiClient, organization: CreatedOrganization) -> NewWebhook:
    """A function that creates a webhook, which by default subscribes to changes of Ada's organization."""

    def new_webhook(url: str | Receiver, of: CreatedOrganization = organization, **fields: Any) -> WebhookClient:
        created = create_webhook(api, of, url, **{"events": [UPDATED], **fields})
        return WebhookClient(created.record, of, api=api, caller=of.owner)

    return new_webhook


@pytest.fixture
def webhook(
    private_targets_allowed: None, new_webhook: NewWebhook, workers: Workers, receiver: Receiver
) -> WebhookClient:
    """A webhook that subscribes to changes of its organization."""
    webhook = new_webhook(receiver)
    workers.deliver()
    return webhook


@pytest.fixture
def new_channel(api: ApiClient, organization: CreatedOrganization) -> NewChannel:
    """A function that creates a channel, which by default is of Slack and receives changes of the organization."""

    def new_channel(url: str | Receiver, **fields: Any) -> ChannelClient:
        created = create_channel(api, organization, url, **{"events": [UPDATED], **fields})
        return ChannelClient(created.record, organization, api=api, caller=organization.owner)

    return new_channel


@pytest.fixture
def channel(private_targets_allowed: None, new_channel: NewChannel, receiver: Receiver) -> ChannelClient:
    """A Slack channel that receives every update of the organization."""
    return new_channel(receiver)


@pytest.fixture
def rename(api: ApiClient, organization: CreatedOrganization) -> Emit:
    """A function that gives the organization one name after the other. Each change is an event."""

    def rename(*names: str) -> None:
        for name in names:
            rename_organization(api, organization, name)

    return rename


@pytest.fixture
def emit(rename: Emit, workers: Workers) -> Emit:
    """A function that gives the organization one name after the other, and then delivers all events."""

    def emit(*names: str, include_delayed: bool = False) -> None:
        rename(*names)
        workers.deliver(include_delayed=include_delayed)

    return emit


@pytest.fixture
def emit_each(rename: Emit, workers: Workers) -> Emit:
    """A function that gives the organization one name after the other, and delivers each event before the next."""

    def emit_each(*names: str) -> None:
        for name in names:
            rename(name)
            workers.try_deliver()

    return emit_each


@pytest.fixture
def silence(receiver: Receiver) -> Callable[[], AbstractContextManager[None]]:
    """A context in which the receiver does not reply to requests to `/`, and webhooks time out soon."""

    @contextmanager
    def silence() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)
            receiver.replies_by_path["/"] = NO_REPLY
            yield
        receiver.replies_by_path["/"] = Reply()

    return silence


@pytest.fixture
def pauses_by_clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pauses between the messages to a channel shift the clock, instead of taking time."""
    sleeper = SimpleNamespace(sleep=lambda seconds: clock.shift(seconds=seconds))
    monkeypatch.setattr(message_delivery, "time", sleeper)


@pytest.fixture
def new_stream(private_targets_allowed: None, api: ApiClient, organization: CreatedOrganization) -> NewStream:
    """A function that creates a log stream with a destination."""
    return partial(create_log_stream, api, organization)


@pytest.fixture
def stream(new_stream: NewStream, receiver: Receiver) -> LogStreamClient:
    """A log stream that sends the whole log to an HTTPS endpoint, as lines of JSON."""
    return new_stream({"type": "https", "url": receiver.url, "format": "ndjson"}, startAt=1)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> int:
    """The maximum number of entries in a batch of a log stream, which is 1,000 in production."""
    assert entry_batches.MAX_BATCH_ENTRIES == 1_000
    for module in (entry_batches, stream_worker):
        monkeypatch.setattr(module, "MAX_BATCH_ENTRIES", 10)
    monkeypatch.setattr(stream_wakeups, "_NOTIFY_ENTRIES", 2)
    return 10


@pytest.fixture
def bucket(_aws: None) -> Iterator[CustomerBucket]:
    """A bucket of a customer."""
    customer_buckets.forget_all_sessions()
    bucket = CustomerBucket()
    yield bucket
    bucket.remove()


@pytest.fixture
def send(workers: Workers, clock: Clock) -> Callable[..., None]:
    """A function that lets the workers run until nothing waits any more."""

    def send(rounds: int = 3) -> None:
        for _ in range(rounds):
            workers.deliver()
            clock.shift(seconds=31)
            workers.run_until_idle()

    return send
