"""Examples of the operations on an organization's webhooks and integration channels, and on their deliveries."""

from typing import Any, Final

from chalicelib.features.notifications.channels.entities import IntegrationChannel, encrypted_url_fields
from chalicelib.features.notifications.log_streams.entities import LogStream, StreamProgress
from chalicelib.features.notifications.logic.signing_secrets import encrypted_secret_without_expiry
from chalicelib.features.notifications.models.standard_webhooks import generate_secret
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks.entities import Webhook, WebhookDelivery
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

_CHANNEL_URL: Final = "https://discord.com/api/webhooks/1100000000000000000/token-of-the-room"
_LOG_DESTINATION: Final = {"type": "https", "url": "https://logs.example.org/entries", "format": "ndjson"}
_WEBHOOK_URL: Final = "https://hooks.example.org/atrium"
_EVENTS: Final = ["organization.member.*", "platform.*"]
_SINCE: Final = "2026-01-01T00:00:00.000Z"

EXAMPLES: Final[ExampleFactories] = {
    "create_integration_channel": lambda _: example(
        {"provider": "discord", "name": "#looms", "events": _EVENTS, "config": {"webhookUrl": _CHANNEL_URL}}
    ),
    "update_integration_channel": lambda _: example({"provider": "discord", "config": {"webhookUrl": _CHANNEL_URL}}),
    "create_log_stream": lambda _: example(
        {"destination": _LOG_DESTINATION, "events": _EVENTS, "description": "Feeds the SIEM."}
    ),
    "update_log_stream": lambda _: example({"description": "Feeds the SIEM.", "events": _EVENTS}),
    "rotate_log_stream_secret": lambda _: example({"graceHours": 1}),
    "create_webhook": lambda _: example({"url": _WEBHOOK_URL, "events": _EVENTS, "description": "Feeds the lake."}),
    "update_webhook": lambda _: example({"url": _WEBHOOK_URL, "description": "Feeds the lake."}),
    "create_webhook_link": lambda _: example(merges_into_subject=True),
    "rotate_webhook_secret": lambda _: example({"graceHours": 1}),
    "replay_webhook_deliveries": lambda _: example({"from": _SINCE}),
}


def build_channels(tenant: TenantFixture, _n: int) -> Neighbours:
    fields = new_fields()
    url_fields = encrypted_url_fields(fields["id"], _CHANNEL_URL)
    options: Any = {"provider": "discord", "name": "#looms", "events": ["*"], "enabled": False}
    yield IntegrationChannel(**fields, **url_fields, organization_id=tenant.id, **options)


def build_deliveries(tenant: TenantFixture, _n: int) -> Neighbours:
    fields = new_fields()
    delivery = WebhookDelivery.create_pending_or_skipped(
        tenant.organization.webhook_id,
        event_id=fields["id"],
        event_type="organization.updated",
        organization_id=tenant.id,
        sequence=1,
        received_at=fields["created_at"],
        now=fields["created_at"],
        attempt_at=None,
    )
    yield delivery.replace(status="succeeded")


def build_log_streams(tenant: TenantFixture, _n: int) -> Neighbours:
    stream = LogStream(
        **new_fields(), organization_id=tenant.id, destination=_LOG_DESTINATION, events=["*"], enabled=False
    )
    yield stream
    yield StreamProgress.create(stream, due_at=None).replace(position=10**9)


def build_replays(tenant: TenantFixture, _n: int) -> Neighbours:
    container_ids: Any = {"organization_id": tenant.id, "webhook_id": tenant.organization.webhook_id}
    yield Replay(**new_fields(), **container_ids, since=_SINCE, until=_SINCE, status="completed", ttl=2**40)


def build_webhooks(tenant: TenantFixture, _n: int) -> Neighbours:
    fields = new_fields()
    options: Any = {"url": _WEBHOOK_URL, "events": ["*"], "enabled": False}
    secret = encrypted_secret_without_expiry(Webhook.secret_context_of(fields["id"]), generate_secret())
    yield Webhook(**fields, organization_id=tenant.id, **options, secrets=[secret])
