"""Messages in dead-letter queues."""

import json
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sqs.models import sqs_backends

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from chalicelib.kernel.work.queues import queue_urls_by_name
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller
from tests.harness.memory_aws import REGION, get_queues


def put_dead_letter(queue: str, body: object, group: str = "a") -> str:
    """Put a message into the dead-letter queue of a queue, without a call of the service, and return its id."""
    name = dead_letter_queue_name(queue_urls_by_name()[queue].rpartition("/")[2])
    fifo: dict[str, Any] = {"group_id": group, "deduplication_id": new_id(now())} if name.endswith(".fifo") else {}
    text = body if isinstance(body, str) else json.dumps(body)
    return str(sqs_backends[DEFAULT_ACCOUNT_ID][REGION].send_message(name, text, **fifo).id)


def start_redrive(api: ApiClient, operator: Caller, queue: str, **body: object) -> ApiResponse:
    """Start a redrive over HTTP."""
    return api.post("/system/dead-letters/redrive", caller=operator, json={"queue": queue, **body}).expect(202)


def waiting_bodies(queue: str, *, dead: bool = False) -> list[Any]:
    """Return the bodies of the messages that wait in a queue, or in its dead-letter queue."""
    source = queue_urls_by_name()[queue].rpartition("/")[2]
    name = dead_letter_queue_name(source) if dead else source
    found = next(each for each in get_queues() if each.name == name)
    return [message.body for message in found._messages if message.visible]  # noqa: SLF001 - moto has no public access
