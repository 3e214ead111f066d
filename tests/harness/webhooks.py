"""Webhooks of an organization, and the events that their receivers get."""

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
        """The secret that its creation returned."""
        return str(self.record["secret"])


def hook(api: Api, organization: Founded, url: str | Receiver, **fields: Any) -> Hook:
    """Create a webhook as the owner of an organization."""
    target = url if isinstance(url, str) else url.url
    answer = api.post(f"{organization.path}/webhooks", as_=organization.owner, json={"url": target, **fields})
    assert answer.status == 201, answer.text
    return Hook(answer.json, organization)


def shown(api: Api, made: Hook) -> Json:
    """Read a webhook as the owner of its organization."""
    return api.get(made.path, as_=made.organization.owner).json


def change(api: Api, made: Hook, **fields: Any) -> Answer:
    """Change a webhook as the owner of its organization."""
    answer = api.patch(made.path, as_=made.organization.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer


def deliveries(api: Api, made: Hook, **query: object) -> list[Json]:
    """List the deliveries to a webhook, the oldest first."""
    return api.items(f"{made.path}/deliveries", as_=made.organization.owner, query=query)[::-1]


def delivery(api: Api, made: Hook, event_type: str) -> Json:
    """Return the only delivery of an event type."""
    (match,) = [each for each in deliveries(api, made) if each["eventType"] == event_type]
    return match


def rename(api: Api, organization: Founded, name: str) -> None:
    """Rename an organization, which emits `organization.updated`."""
    assert api.patch(organization.path, as_=organization.owner, json={"name": name}).status == 200


def types(receiver: Receiver) -> list[str]:
    """Return the types of the events that a receiver got, in order."""
    return [told(request)["type"] for request in receiver.requests]


def told(request: Request) -> Json:
    """Return the event in the body of a request."""
    body: Json = json.loads(request.body)
    return body
