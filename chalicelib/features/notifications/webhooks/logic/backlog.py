"""The backlog of a webhook: the deliveries that wait until it responds."""

from typing import Final

from chalicelib.features.notifications.logic import delivery_attempts
from chalicelib.features.notifications.webhooks.entities import PROBE_TASK, Webhook
from chalicelib.features.notifications.webhooks.models.circuit import Circuit
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues

_MAX_WAIT_SECONDS: Final = 300
"""Time after which the backlog is sent even if the worker that was to start it died."""


def defer_new_events(circuit: Circuit, timestamp: str) -> Circuit:
    """Return the circuit of a webhook whose new events join its backlog, which a worker starts to send soon."""
    return circuit.deferred_until(after(timestamp, seconds=_MAX_WAIT_SECONDS))


def probe_or_send_backlog_now(webhook: Webhook) -> None:
    """Start the task that probes an unresponsive webhook, or sends the backlog of a responsive one.

    Nothing happens if the webhook has another URL by now. Raises ConcurrentModification if other workers keep changing
    the webhook.
    """

    def apply_change(changes: UnitOfWork, current: Webhook) -> Webhook:
        return changes.update_untracked(current, **current.circuit.probing(changes.now).to_fields())

    changed = delivery_attempts.update_subscriber_unless_endpoint_changed(webhook, apply_change)
    if changed.probe_at and changed.probe_at <= now():
        queues.enqueue_at_if_soon(PROBE_TASK, changed.item_key, changed.probe_at)
