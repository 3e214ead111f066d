"""Examples of the tasks of webhooks and channels: functions that prepare a record and return its key."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

from chalicelib.features.notifications.entities import START_STREAM_TASK
from chalicelib.features.notifications.log_streams.entities import StreamNotice
from chalicelib.features.notifications.log_streams.logic import stream_worker
from chalicelib.features.notifications.webhooks.entities import DisabledNotice, Webhook
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.work import queues
from tests.catalogue.examples.registry import add_feature_neighbours
from tests.catalogue.tenant_fixture import TenantFixture, put_records
from tests.harness import memory_aws
from tests.harness.channels import create_channel, stored_channel
from tests.harness.external_servers import GONE_URL, reject_deliveries, time_out_deliveries
from tests.harness.log_streams import create_log_stream
from tests.harness.webhooks import create_webhook, rename_organization

_STREAM_URL: Final = "https://receiver.example/entries"
_CHANNEL_URL: Final = "https://hooks.slack.com/services/T0/B0/room"


def delete_webhook_with_deliveries(tenant: TenantFixture) -> ItemKey:
    """Delete a webhook with more deliveries than one transaction removes."""
    add_feature_neighbours("notifications.deliveries", tenant, table.MAX_TRANSACT_ITEMS)
    assert tenant.api.delete(tenant.organization.webhook_path, caller=tenant.people.owner).status == 204
    return memory_aws.get_only_item_key("organization.clearing")


def create_replay(tenant: TenantFixture) -> ItemKey:
    """Request a replay of two deliveries."""
    add_feature_neighbours("notifications.deliveries", tenant, 2)
    body = {"from": tenant.organization.record["createdAt"], "status": "succeeded"}
    replay = tenant.api.post(f"{tenant.organization.webhook_path}/replay", caller=tenant.people.owner, json=body)
    return f"O#{tenant.id}", f"R#{tenant.organization.webhook_id}#{replay.json['id']}"


def create_pending_channel_delivery(tenant: TenantFixture) -> ItemKey:
    """Create a delivery to a channel whose first attempt the provider rejected."""
    channel = create_channel(tenant.api, tenant.organization, _CHANNEL_URL, events=["organization.updated"])
    renamed = tenant.api.patch(tenant.organization.path, caller=tenant.people.owner, json={"name": "Engines"})
    assert renamed.status == 200
    with reject_deliveries():
        tenant.workers.deliver()
    return stored_channel(channel).item_key


def create_pending_delivery(tenant: TenantFixture, url: str = "https://receiver.example/hooks") -> ItemKey:
    """Create a delivery to a webhook whose first attempt the endpoint rejected."""
    created = create_webhook(tenant.api, tenant.organization, url, events=["organization.updated"])
    tenant.workers.deliver()
    rename_organization(tenant.api, tenant.organization, "Engines")
    with reject_deliveries():
        tenant.workers.deliver()
    items = [item for item in memory_aws.all_items() if item["pk"] == f"V#{created.id}"]
    (delivery,) = (item for item in items if "kind" in item)
    return delivery["pk"], delivery["sk"]


def create_delivery_to_gone_webhook(tenant: TenantFixture) -> ItemKey:
    """Create a pending delivery to a webhook that will respond with 410."""
    pk, _ = create_pending_delivery(tenant, GONE_URL)
    return f"O#{tenant.id}", f"W#{pk.partition('#')[2]}"


def create_unresponsive_webhook(tenant: TenantFixture) -> ItemKey:
    """Create a webhook that timed out, with a further event that waits for it."""
    created = create_webhook(
        tenant.api, tenant.organization, "https://receiver.example/hooks", events=["organization.updated"]
    )
    with time_out_deliveries():
        for name in ("Engines", "More Engines"):
            rename_organization(tenant.api, tenant.organization, name)
            tenant.workers.deliver()
    return f"O#{tenant.id}", f"W#{created.id}"


def create_webhook_to_disable(tenant: TenantFixture) -> ItemKey:
    """Create a webhook that responded with 410 and is not disabled yet."""
    create_webhook(tenant.api, tenant.organization, GONE_URL, events=["organization.updated"])
    tenant.workers.deliver()
    rename_organization(tenant.api, tenant.organization, "Engines")
    with discard_messages("webhooks.disable"):
        tenant.workers.deliver()
    return memory_aws.get_only_item_key("organization.webhook.disabling")


def create_exhausted_delivery(tenant: TenantFixture) -> ItemKey:
    """Create a delivery that has failed for good, of which no event tells yet."""
    create_webhook(tenant.api, tenant.organization, "https://receiver.example/hooks", events=["organization.updated"])
    tenant.workers.deliver()
    rename_organization(tenant.api, tenant.organization, "Engines")
    no_further_attempt = patch("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
    with reject_deliveries(), no_further_attempt, discard_messages("webhooks.exhaust"):
        tenant.workers.deliver()
    return memory_aws.get_only_item_key("organization.webhook.exhaustion")


@contextmanager
def discard_messages(name: str) -> Iterator[None]:
    """Discard the messages of a task that are enqueued within the block. Its record remains due."""
    enqueue = queues.enqueue

    def enqueue_unless_discarded(task: str, record: ItemKey) -> None:
        if task != name:
            enqueue(task, record)

    with patch.object(queues, "enqueue", enqueue_unless_discarded):
        yield


def create_stream_with_waiting_entries(tenant: TenantFixture) -> ItemKey:
    """Create a log stream that has sent nothing yet, and return its key."""
    stream = create_log_stream(tenant.api, tenant.organization, {"type": "https", "url": _STREAM_URL}, startAt=1)
    return stream.stored.item_key


def create_stream_to_disable(tenant: TenantFixture) -> ItemKey:
    """Create a log stream whose destination answered 410 and that is not disabled yet. Return the key of its progress.

    A message for the disabling would be the message of the task itself.
    """
    stream = create_log_stream(tenant.api, tenant.organization, {"type": "https", "url": GONE_URL}, startAt=1)
    queues.enqueue_delivery_to_slow_recipient(stream_worker.build_message(stream.progress))
    with discard_messages(START_STREAM_TASK):
        tenant.workers.deliver()
    return stream.progress.item_key


def create_stream_disabled_notice(tenant: TenantFixture) -> ItemKey:
    """Create the pending notice of a disabled log stream."""
    timestamp = now()
    stream = create_log_stream(tenant.api, tenant.organization, {"type": "https", "url": _STREAM_URL}).stored
    disabled = stream.replace(enabled=False, disabled_reason="Every attempt has failed for 5 days.")
    put_records([disabled, StreamNotice.create(disabled, timestamp, timestamp)])
    return memory_aws.get_only_item_key("organization.log_stream.disabled_notice")


def create_disabled_notice(tenant: TenantFixture) -> ItemKey:
    """Create the pending notice of a disabled webhook."""
    timestamp, key = now(), (f"O#{tenant.id}", f"W#{tenant.organization.webhook_id}")
    reason = {"enabled": False, "disabled_reason": "Every attempt has failed for 5 days.", "failing_since": timestamp}
    webhook = Webhook.from_item(table.get(key) or {}).replace(**reason)
    put_records([webhook, DisabledNotice.create(webhook, timestamp)])
    return memory_aws.get_only_item_key("organization.webhook.disabled_notice")
