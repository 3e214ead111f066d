"""Webhooks of an organization, and the events that their receivers get."""

import json
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.ids import new_id
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import ReceivedRequest, Receiver
from tests.harness.record_clients import CreatedRecord, RecordClient

LONG_AGO: Final = "2020-01-01T00:00:00Z"
UPDATED: Final = "organization.updated"


@dataclass(frozen=True)
class CreatedWebhook(CreatedRecord):
    organization: CreatedOrganization

    collection_path = "{organization.path}/webhooks"

    @property
    def secret(self) -> str:
        return str(self.record["secret"])


@dataclass(frozen=True)
class WebhookClient(RecordClient, CreatedWebhook):
    def list_deliveries(self, **query: object) -> list[Json]:
        """List the deliveries, the oldest first."""
        return list_deliveries(self.api, self, **query)

    def delivery_statuses(self) -> list[str]:
        return [delivery["status"] for delivery in self.list_deliveries()]

    def get_delivery(self, event_type: str = UPDATED) -> Json:
        """Return the only delivery of an event type."""
        return get_delivery(self.api, self, event_type)

    def retry(self, delivery: Json, **options: Any) -> ApiResponse:
        """Ask for another attempt of a delivery, and return the response."""
        return self.post(f"/deliveries/{delivery['id']}/retry", **options)

    def send_test(self) -> Json:
        return self.post("/test").expect(200).json


def create_webhook(
    api: ApiClient, organization: CreatedOrganization, url: str | Receiver, **fields: Any
) -> CreatedWebhook:
    target = url if isinstance(url, str) else url.url
    answer = api.post(
        f"{organization.path}/webhooks", caller=organization.owner, json={"url": target, **fields}
    ).expect(201)
    return CreatedWebhook(answer.json, organization)


def get_webhook(api: ApiClient, webhook: CreatedWebhook) -> Json:
    return api.get(webhook.path, caller=webhook.organization.owner).json


def update_webhook(api: ApiClient, webhook: CreatedWebhook, **fields: Any) -> ApiResponse:
    return api.patch(webhook.path, caller=webhook.organization.owner, json=fields).expect(200)


def list_deliveries(api: ApiClient, webhook: CreatedWebhook, **query: object) -> list[Json]:
    """List the deliveries to a webhook, the oldest first."""
    return api.get_items(f"{webhook.path}/deliveries", caller=webhook.organization.owner, query=query)[::-1]


def get_delivery(api: ApiClient, webhook: CreatedWebhook, event_type: str) -> Json:
    """Return the only delivery of an event type."""
    (match,) = [each for each in list_deliveries(api, webhook) if each["eventType"] == event_type]
    return match


def request_replay(api: ApiClient, webhook: CreatedWebhook, **body: Any) -> ApiResponse:
    return api.post(f"{webhook.path}/replay", caller=webhook.organization.owner, json={"from": LONG_AGO, **body})


def start_replay(api: ApiClient, webhook: CreatedWebhook, **body: Any) -> Json:
    return request_replay(api, webhook, **body).expect(202).json


def get_finished_replay(api: ApiClient, webhook: CreatedWebhook, replay: Json) -> Json:
    """Return a replay in its current form, after checking that it is over."""
    record = api.get(f"{webhook.path}/replays/{replay['id']}", caller=webhook.organization.owner).json
    assert record["status"] in ("completed", "failed"), record
    return record


def store_delivery(
    webhook: CreatedWebhook,
    occurred_at: str,
    status: DeliveryStatus = "succeeded",
    *,
    event_type: str = UPDATED,
    sequence: int = 1,
) -> str:
    """Store a delivery of an event with the given timestamp, bypassing HTTP, and return its id."""
    delivery = WebhookDelivery.create_pending_or_skipped(
        webhook.id,
        event_id=new_id(occurred_at),
        event_type=event_type,
        organization_id=webhook.organization.id,
        sequence=sequence,
        received_at=occurred_at,
        now=occurred_at,
        attempt_at=occurred_at if status == "pending" else None,
    )
    memory_aws.put_item(delivery.replace(status=status).item())
    return delivery.id


def rename_organization(api: ApiClient, organization: CreatedOrganization, name: str) -> None:
    """Rename an organization, which emits `organization.updated`."""
    assert api.patch(organization.path, caller=organization.owner, json={"name": name}).status == 200


def received_event_types(receiver: Receiver) -> list[str]:
    return [parse_event(request)["type"] for request in receiver.requests]


def received_names(receiver: Receiver) -> list[str]:
    return [parse_event(request)["data"]["name"] for request in receiver.requests]


def parse_event(request: ReceivedRequest) -> Json:
    body: Json = json.loads(request.body)
    return body
