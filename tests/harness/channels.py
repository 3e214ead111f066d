"""Integration channels of an organization, and the messages that they receive."""

import json
from dataclasses import dataclass
from typing import Any

from chalicelib.features.notifications.channels.entities import ChannelMessage, IntegrationChannel
from tests.harness import cloud
from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver


@dataclass(frozen=True)
class Room(Made):
    """An integration channel."""

    organization: Founded

    listed_at = "{organization.path}/integration-channels"


def created_room(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Answer:
    """Request a channel as the owner of the organization, and return the response."""
    target = url if isinstance(url, str) else url.at("127.0.0.1", "/services/T0/B0/secret-of-the-room")
    body = {"provider": "slack", "name": "#engines", "config": {"webhookUrl": target}, **fields}
    return api.post(f"{organization.path}/integration-channels", as_=organization.owner, json=body)


def room(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Room:
    """Create a channel as the owner of the organization."""
    answer = created_room(api, organization, url, **fields)
    assert answer.status == 201, answer.text
    return Room(answer.json, organization)


def shown(api: Api, made: Room) -> Json:
    """Read a channel as the owner of its organization."""
    return api.get(made.path, as_=made.organization.owner).json


def change(api: Api, made: Room, **fields: Any) -> Answer:
    """Change a channel as the owner of its organization."""
    answer = api.patch(made.path, as_=made.organization.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer


def trial(api: Api, made: Room) -> Json:
    """Send a test message to a channel as the owner, and return the result."""
    answer = api.post(f"{made.path}/test", as_=made.organization.owner)
    assert answer.status == 200, answer.text
    return answer.json


def messages(made: Room) -> list[ChannelMessage]:
    """Return the stored messages to a channel, in the order of the log."""
    items = [item for item in cloud.stored() if item.get("kind") == ChannelMessage.kind]
    found = [ChannelMessage.from_item(item) for item in items if item["channel_id"] == made.id]
    return sorted(found, key=lambda message: message.sequence)


def stored(made: Room) -> IntegrationChannel:
    """Return a channel as it is stored."""
    return next(IntegrationChannel.from_item(item) for item in cloud.stored() if item.get("id") == made.id)


def texts(receiver: Receiver) -> list[str]:
    """Return the texts of the messages that a Slack channel received, in order."""
    return [str(json.loads(request.body)["text"]) for request in receiver.requests]
