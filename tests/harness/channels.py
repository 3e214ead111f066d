"""Integration channels of an organization, made over HTTP, and what reaches their rooms."""

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
    """A channel."""

    organization: Founded

    listed_at = "{organization.path}/integration-channels"


def created_room(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Answer:
    """Return the answer to the owner's request for a channel."""
    target = url if isinstance(url, str) else url.at("127.0.0.1", "/services/T0/B0/secret-of-the-room")
    body = {"provider": "slack", "name": "#engines", "config": {"webhookUrl": target}, **fields}
    return api.post(f"{organization.path}/integration-channels", as_=organization.owner, json=body)


def room(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Room:
    """Return a channel of an organization, made by its owner."""
    answer = created_room(api, organization, url, **fields)
    assert answer.status == 201, answer.text
    return Room(answer.json, organization)


def shown(api: Api, made: Room) -> Json:
    """Return a channel as its organization's owner sees it now."""
    return api.get(made.path, as_=made.organization.owner).json


def change(api: Api, made: Room, **fields: Any) -> Answer:
    """Let the owner change a channel."""
    answer = api.patch(made.path, as_=made.organization.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer


def trial(api: Api, made: Room) -> Json:
    """Let the owner test a channel, and return what came of that."""
    answer = api.post(f"{made.path}/test", as_=made.organization.owner)
    assert answer.status == 200, answer.text
    return answer.json


def messages(made: Room) -> list[ChannelMessage]:
    """Return what is stored of the messages to a channel, in the order of the log."""
    items = [item for item in cloud.stored() if item.get("kind") == ChannelMessage.kind]
    found = [ChannelMessage.from_item(item) for item in items if item["channel_id"] == made.id]
    return sorted(found, key=lambda message: message.sequence)


def stored(made: Room) -> IntegrationChannel:
    """Return a channel as the table holds it."""
    return next(IntegrationChannel.from_item(item) for item in cloud.stored() if item.get("id") == made.id)


def texts(receiver: Receiver) -> list[str]:
    """Return what the messages to a room of Slack's say, in order."""
    return [str(json.loads(request.body)["text"]) for request in receiver.requests]
