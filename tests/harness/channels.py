"""Integration channels of an organization, and the messages that they receive."""

import json
from dataclasses import dataclass
from typing import Any

from chalicelib.features.notifications.channels.entities import ChannelMessage, IntegrationChannel
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Receiver
from tests.harness.record_clients import CreatedRecord, RecordClient


@dataclass(frozen=True)
class CreatedChannel(CreatedRecord):
    organization: CreatedOrganization

    collection_path = "{organization.path}/integration-channels"


@dataclass(frozen=True)
class ChannelClient(RecordClient, CreatedChannel):
    def stored(self) -> IntegrationChannel:
        return stored_channel(self)

    def messages(self) -> list[ChannelMessage]:
        items = [item for item in memory_aws.all_items() if item.get("kind") == ChannelMessage.kind]
        found = [ChannelMessage.from_item(item) for item in items if item["channel_id"] == self.id]
        return sorted(found, key=lambda message: message.sequence)

    def message_statuses(self) -> list[str]:
        return [message.status for message in self.messages()]

    def send_test(self) -> Json:
        return send_test_message(self.api, self)


def post_channel(api: ApiClient, organization: CreatedOrganization, url: str | Receiver, **fields: Any) -> ApiResponse:
    target = url if isinstance(url, str) else url.url_at("127.0.0.1", "/services/T0/B0/secret-of-the-room")
    body = {"provider": "slack", "name": "#engines", "config": {"webhookUrl": target}, **fields}
    return api.post(f"{organization.path}/integration-channels", caller=organization.owner, json=body)


def create_channel(
    api: ApiClient, organization: CreatedOrganization, url: str | Receiver, **fields: Any
) -> CreatedChannel:
    return CreatedChannel(post_channel(api, organization, url, **fields).expect(201).json, organization)


def send_test_message(api: ApiClient, channel: CreatedChannel) -> Json:
    return api.post(f"{channel.path}/test", caller=channel.organization.owner).expect(200).json


def stored_channel(channel: CreatedChannel) -> IntegrationChannel:
    return next(IntegrationChannel.from_item(item) for item in memory_aws.all_items() if item.get("id") == channel.id)


def received_texts(receiver: Receiver) -> list[str]:
    """Return the texts of the messages that a Slack channel received, in order."""
    return [str(json.loads(request.body)["text"]) for request in receiver.requests]
