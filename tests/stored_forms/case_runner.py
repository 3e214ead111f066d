"""Runs cases: their request, message, schedule or function, and the outcome."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.core import aws, threads
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import webhook_client
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.external_servers import stub_external_servers
from tests.harness.mailbox import SENDER, Mailbox, ReceivedEmail
from tests.harness.workers import Workers
from tests.stored_forms.determinism import run_deterministically
from tests.stored_forms.forms import Outcome, Trigger, normal_headers, normal_text
from tests.stored_forms.states import Json, State

PEOPLE: Final[Mapping[str, tuple[str, ...]]] = {
    "owner": ("ada", "Ada Lovelace"),
    "admin": ("grace", "Grace Hopper"),
    "editor": ("edith", "Edith Clarke"),
    "member": ("mary", "Mary Somerville"),
    "invited": ("emmy", "Emmy Noether"),
    "outsider": ("stranger", "Sophie Germain"),
    "operator": ("operator", "Olga Ladyzhenskaya", "operators"),
}
"""The people of the tenant by role: username, name and the groups in their tokens."""

_DELIVERY_MS: Final = 7
_VERIFICATION_WINDOW_ENTRIES: Final = 20
"""The number of entries in a page of a verification. The logs of the tenant have several pages."""


def create_people(issuer: Issuer, known: Mapping[str, Any]) -> dict[str, Person]:
    """Return the people of a tenant by role, with tokens that are valid until 2100, whatever the current time."""
    return {
        role: issuer.create_person(username, name, exp=4_102_444_800, **({"groups": groups} if groups else {}))
        for role, (username, name, *groups) in known.items()
    }


@dataclass
class Stage:
    """The service at a fixed time, and the e-mails and webhook requests that it has sent."""

    api: ApiClient
    workers: Workers
    people: Mapping[str, Person]
    mailbox: Mailbox
    posts: list[Json]

    def run(self, about: str, trigger: Trigger) -> Outcome:
        before = State.capture()
        status, headers, body = _TRIGGERS[trigger.kind](self, about, trigger)
        return Outcome(
            status,
            headers,
            body,
            before.difference_to(State.capture()),
            queued_messages(),
            [_to_json(received) for received in self.mailbox.received_emails],
            sorted(self.posts, key=json.dumps),
        )

    def send_request(self, about: str, trigger: Trigger) -> tuple[int, dict[str, str], str | None]:
        """Send the request of a trigger, and return the compared parts of the response."""
        answer = self.api.request(
            trigger.method,
            trigger.url,
            caller=self.people[trigger.role] if trigger.role else None,
            body=None if trigger.text is None else trigger.text.encode(),
            headers=trigger.headers,
        )
        return answer.status, normal_headers(about, answer.headers, answer.text), normal_text(about, answer.text)

    def process_message(self, _about: str, trigger: Trigger) -> tuple[None, dict[str, str], None]:
        send_message(trigger)
        self.workers.deliver()
        return None, {}, None

    def run_schedule(self, _about: str, trigger: Trigger) -> tuple[None, dict[str, str], None]:
        {"sweep": self.workers.run_sweep, "anchor": self.workers.run_hourly_anchoring}[str(trigger.text)]()
        return None, {}, None

    def run_function(self, _about: str, trigger: Trigger) -> tuple[None, dict[str, str], str]:
        """Call the function of a trigger, and return its response."""
        return None, {}, json.dumps({"migrate": self.workers.run_migrations}[str(trigger.text)]())


_TRIGGERS: Final[Mapping[str, Callable[..., Any]]] = {
    "request": Stage.send_request,
    "message": Stage.process_message,
    "schedule": Stage.run_schedule,
    "function": Stage.run_function,
}


@contextmanager
def open_stage(
    api: ApiClient, workers: Workers, people: Mapping[str, Person], label: str, timestamp: str
) -> Iterator[Stage]:
    """Prepare the service for a run at a fixed time with the randomness of a label, and stub external servers.

    Everything runs in one thread. Otherwise the order of messages and random values would depend on chance.
    """
    posts: list[Json] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MAIL_FROM", SENDER)
        settings.cache_clear()
        mailbox = Mailbox()
        mailbox.start_recording(patched)
        stub_external_servers(patched)
        post_to_stub = webhook_client.post_webhook

        def post(url: str, body: bytes, headers: Mapping[str, str], *args: Any) -> Any:
            posts.append({"url": url, "body": body.decode(), "headers": dict(headers)})
            # Parallel deliveries would have varying durations.
            return replace(post_to_stub(url, body, headers, *args), duration_ms=_DELIVERY_MS)

        patched.setattr(webhook_client, "post_webhook", post)
        patched.setattr(threads, "start_in_background", lambda function, **_: function())
        patched.setattr(threads, "call_in_threads", lambda functions, **_: [function() for function in functions])
        patched.setattr(log_verification, "WINDOW_ENTRIES", _VERIFICATION_WINDOW_ENTRIES)
        with run_deterministically(label, timestamp):
            yield Stage(api, workers, people, mailbox, posts)
    settings.cache_clear()


def _to_json(received: ReceivedEmail) -> Json:
    email = received.email
    content = {"subject": email.subject, "text": email.text, "html": email.html}
    return {"to": received.recipients, "from": received.sender, "headers": received.headers, **content}


def queued_messages() -> list[Json]:
    return [
        {
            "queue": queue.name,
            "text": message.body,
            "group": message.group_id,
            "deduplication": message.deduplication_id,
            "delay": round((message.delayed_until - now_ms()) / 1000),
        }
        for queue in sorted(memory_aws.get_queues(), key=lambda queue: str(queue.name))
        for message in queue._messages  # noqa: SLF001
    ]


def send_message(trigger: Trigger) -> None:
    urls = [value for name, value in os.environ.items() if name.endswith("_QUEUE_URL")]
    (url,) = (url for url in urls if url.rpartition("/")[2] == trigger.queue)
    fifo_attributes = {"MessageGroupId": trigger.group, "MessageDeduplicationId": trigger.deduplication}
    aws.client("sqs").send_message(
        QueueUrl=url, MessageBody=trigger.text, **{name: value for name, value in fifo_attributes.items() if value}
    )
