"""Tasks that send events to integration channels."""

import random
from functools import partial
from typing import Any

from chalicelib.features.channels.entities import SEND, IntegrationChannel
from chalicelib.features.channels.messages import Notice
from chalicelib.features.channels.rules import RETRY_SECONDS, asked_seconds, is_final
from chalicelib.features.channels.sending import judge, send
from chalicelib.features.deliveries import lots, sending
from chalicelib.features.deliveries.entities import Delivery, looked_after
from chalicelib.features.deliveries.rules import next_attempt
from chalicelib.features.deliveries.sending import Told
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.tasks import task


@task(SEND)
def send_to_channel(message: dict[str, Any]) -> None:
    """Send the events in a message to a channel, one each second; while the channel backs off, they are postponed."""

    def attempt(channel: IntegrationChannel, delivery: Delivery, event: Told) -> IntegrationChannel:
        if not channel.enabled or channel.status != "active":
            sending.skip(delivery)
        elif channel.free_at and channel.free_at > after(now(), seconds=channel.spacing_seconds):
            _postpone(delivery, channel.free_at)
        else:
            return _send_event(channel, delivery, event)
        return channel

    sending.send(IntegrationChannel, message, attempt)


def _postpone(delivery: Delivery, at: str) -> None:
    """Move a delivery to a later time, without counting an attempt."""
    changes = UnitOfWork(now())
    postponed = changes.update(delivery, next_attempt_at=at, due_at=looked_after(at, changes.now))
    changes.commit()
    lots.queue_later(postponed)


def _send_event(channel: IntegrationChannel, delivery: Delivery, event: Told) -> IntegrationChannel:
    response = send(channel, Notice.of(event.said, event.sequence))
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    next_at = next_attempt(delivery.tries + 1, now(), jitter, asked_seconds(response), RETRY_SECONDS)
    sending.record(delivery, response, None if is_final(response) else next_at)
    return sending.settle(channel, partial(judge, response=response))
