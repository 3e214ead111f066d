"""Webhooks of an organization, made over HTTP, and what reaches those who receive their events."""

import json
from dataclasses import dataclass
from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Request


@dataclass(frozen=True)
class Hook(Made):
    """A webhook."""

    organization: Founded

    listed_at = "{organization.path}/webhooks"

    @property
    def secret(self) -> str:
        """Its first secret."""
        return str(self.record["secret"])


def hook(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Hook:
    """Return a webhook of an organization, made by its owner."""
    target = url if isinstance(url, str) else url.url
    answer = api.post(f"{organization.path}/webhooks", as_=organization.owner, json={"url": target, **fields})
    assert answer.status == 201, answer.text
    return Hook(answer.json, organization)


def shown(api: Api, made: Hook) -> Json:
    """Return a webhook as its organization's owner sees it now."""
    return api.get(made.path, as_=made.organization.owner).json


def change(api: Api, made: Hook, **fields: Any) -> Answer:
    """Let the owner change a webhook."""
    answer = api.patch(made.path, as_=made.organization.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer


def deliveries(api: Api, made: Hook, **query: object) -> list[Json]:
    """Return the deliveries to a webhook, the oldest first."""
    return api.items(f"{made.path}/deliveries", as_=made.organization.owner, query=query)[::-1]


def delivery(api: Api, made: Hook, event_type: str) -> Json:
    """Return the one delivery of a type of event."""
    (found,) = [one for one in deliveries(api, made) if one["eventType"] == event_type]
    return found


def rename(api: Api, organization: Founded, name: str) -> None:
    """Let something happen in an organization: `organization.updated`."""
    assert api.patch(organization.path, as_=organization.owner, json={"name": name}).status == 200


def types(receiver: Receiver) -> list[str]:
    """Return the types of the events that reached a receiver, in order."""
    return [told(request)["type"] for request in receiver.requests]


def told(request: Request) -> Json:
    """Return what a request tells."""
    body: Json = json.loads(request.body)
    return body
