"""Tasks that send events to integration channels."""

import random
from functools import partial
from typing import Any

from chalicelib.features.notifications.channels.entities import SEND_TASK, IntegrationChannel
from chalicelib.features.notifications.channels.logic.chat_messages import MessageContent
from chalicelib.features.notifications.channels.logic.message_delivery import (
    update_channel_after_response,
    wait_and_send_message,
)
from chalicelib.features.notifications.channels.logic.provider_rules import (
    RETRY_SECONDS,
    is_permanent_failure,
    retry_after_seconds,
)
from chalicelib.features.notifications.entities import Delivery, scheduler_due_at
from chalicelib.features.notifications.logic import batches, delivery_attempts
from chalicelib.features.notifications.logic.delivery_events import DeliveryEvent
from chalicelib.features.notifications.logic.retry_schedule import next_attempt_at
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.tasks import task


@task(SEND_TASK)
def send_to_channel(message: dict[str, Any]) -> None:
    """Send the events in a message to a channel, one each second. While the channel backs off, they are postponed."""

    def attempt_delivery(channel: IntegrationChannel, delivery: Delivery, event: DeliveryEvent) -> IntegrationChannel:
        if not channel.enabled or channel.status != "active":
            delivery_attempts.skip_delivery(delivery)
        elif channel.free_at and channel.free_at > after(now(), seconds=channel.min_interval_seconds):
            _postpone_and_requeue_delivery(delivery, channel.free_at)
        else:
            return _send_event_and_store_attempt(channel, delivery, event)
        return channel

    delivery_attempts.send_due_deliveries(IntegrationChannel, message, attempt_delivery)


def _postpone_and_requeue_delivery(delivery: Delivery, attempt_at: str) -> None:
    """Move a delivery to a later time, without counting an attempt."""
    changes = UnitOfWork(now())
    postponed = changes.update(delivery, next_attempt_at=attempt_at, due_at=scheduler_due_at(attempt_at, changes.now))
    changes.commit()
    batches.queue_delivery_at_next_attempt(postponed)


def _send_event_and_store_attempt(
    channel: IntegrationChannel, delivery: Delivery, event: DeliveryEvent
) -> IntegrationChannel:
    content = MessageContent.from_entry(event.entry, event.sequence, event.declared_sentence)
    response = wait_and_send_message(channel, content)
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    next_at = next_attempt_at(delivery.tries + 1, now(), jitter, retry_after_seconds(response), RETRY_SECONDS)
    delivery_attempts.store_attempt_and_queue_retry(
        delivery, response, None if is_permanent_failure(response) else next_at
    )
    return delivery_attempts.update_subscriber_unless_endpoint_changed(
        channel, partial(update_channel_after_response, response=response)
    )
