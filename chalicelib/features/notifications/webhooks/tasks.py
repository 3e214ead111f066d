"""Tasks that send events to webhooks, probe unresponsive webhooks, and disable those that keep failing."""

import random
from functools import partial
from typing import Any, Final

from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic import admin_notices, batches, delivery_attempts
from chalicelib.features.notifications.logic.delivery_events import DeliveryEvent
from chalicelib.features.notifications.logic.retry_schedule import next_attempt_at
from chalicelib.features.notifications.webhooks.entities import (
    PROBE_TASK,
    SEND_TASK,
    DisabledNotice,
    DisableJob,
    ExhaustionJob,
    Webhook,
    WebhookDelivery,
)
from chalicelib.features.notifications.webhooks.logic import final_outcomes, host_rate_limit, webhook_requests
from chalicelib.features.notifications.webhooks.models.circuit import CircuitState
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.outbound import mail
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks
from chalicelib.kernel.work.tasks import task

_PROBE_TIMEOUT_SECONDS: Final = 300
"""Time after which a probe without a result counts as lost."""

_BACKLOG_TIMEOUT_SECONDS: Final = 120
"""Time after which a batch of the backlog without a result counts as lost."""


class _HostAllowance:
    """The number of requests that may still be sent to the host of a webhook in this second.

    The first request acquires slots for the whole batch. `exhausted` is true once a request was denied, which can be
    sent at `next_at`.
    """

    def __init__(self) -> None:
        self._requested, self._remaining, self.exhausted, self.next_at = 1, -1, False, ""

    def set_batch_size(self, event_count: int) -> None:
        """Set the number of events in the batch."""
        self._requested = event_count

    def try_acquire_slot(self, webhook: Webhook) -> bool:
        """Return whether one more request may be sent now. Raises Problem `unavailable`."""
        if self._remaining < 0:
            slots = host_rate_limit.acquire_send_slots_and_retry_at(
                webhook.organization_id, webhook.url, self._requested
            )
            self._remaining, self.next_at = slots.granted, slots.retry_at
        if self._remaining == 0:
            self.exhausted = True
            return False
        self._remaining -= 1
        return True


@task(SEND_TASK)
def send_to_webhook(message: dict[str, Any]) -> None:
    """Send the events in a message to a webhook. An unresponsive or new webhook gets only one, as a probe.

    A message with `catch_up` contains no events, and stands for the next batch of the backlog. Events over the rate
    limit of the host are deferred, and so are all later ones.
    """
    is_probe, sends_backlog, allowance = bool(message.get("probe")), bool(message.get("catch_up")), _HostAllowance()

    def attempt_delivery(webhook: Webhook, delivery: Delivery, event: DeliveryEvent) -> Webhook:
        if not webhook.is_active_and_not_being_disabled:
            delivery_attempts.skip_delivery(delivery)
        elif webhook.circuit.permits_request(is_probe=is_probe, sends_backlog=sends_backlog):
            if allowance.try_acquire_slot(webhook):
                return _send_event_and_store_outcome(webhook, delivery, event)
            if not sends_backlog:  # A delivery of the backlog is deferred already.
                delivery_attempts.defer_until_subscriber_ready(webhook, delivery)
            return _defer_new_events_and_queue_probe(webhook, allowance.next_at)
        else:
            delivery_attempts.defer_until_subscriber_ready(webhook, delivery)
            if webhook.circuit.state is CircuitState.HALF_OPEN:
                return _queue_probe_and_store_timeout(webhook, delivery)
        return webhook

    webhook = delivery_attempts.send_due_deliveries(Webhook, message, attempt_delivery, allowance.set_batch_size)
    if webhook and sends_backlog and not allowance.exhausted and webhook.sends_or_skips_backlog:
        _queue_backlog_or_mark_drained(webhook)


@task(PROBE_TASK)
def queue_probe_or_backlog(message: dict[str, Any]) -> None:
    """Probe an unresponsive webhook with its oldest deferred event, or send the backlog of a responsive one."""
    webhook = tasks.load_record_or_none(Webhook, message)
    if webhook is None or not webhook.circuit.has_due_probe(now()):
        return
    if webhook.sends_or_skips_backlog:
        _claim_and_queue_backlog_batch(webhook)
    elif deferred := delivery_attempts.prune_and_load_first_deferred_deliveries(webhook):
        _queue_probe_and_store_timeout(webhook, deferred[0])
    else:
        _set_probe_at_unless_probe_changed(webhook, None)


def _queue_probe_and_store_timeout(webhook: Webhook, delivery: Delivery) -> Webhook:
    # Queue before storing, so the stored time implies a queued probe. A duplicate probe finds nothing due.
    queues.enqueue_delivery_to_slow_recipient(
        {**batches.build_queue_message(webhook.item_key, [delivery]), "probe": True}
    )
    return _set_probe_at_unless_probe_changed(webhook, _sweep_at(_PROBE_TIMEOUT_SECONDS))


def _sweep_at(timeout_seconds: float) -> str:
    """Return when the sweep starts the probe or the backlog again: after a time-out, or now if no message is queued."""
    return after(now(), seconds=0 if queues.has_chain_ended() else timeout_seconds)


def _defer_new_events_and_queue_probe(webhook: Webhook, probe_at: str) -> Webhook:
    """Defer all new events of a webhook, in order, until its host can receive more requests."""
    if webhook.circuit == webhook.circuit.deferred_until(probe_at):
        return webhook

    def apply_change(changes: UnitOfWork, current: Webhook) -> Webhook:
        return changes.update_untracked(current, **current.circuit.deferred_until(probe_at).to_fields())

    changed = delivery_attempts.update_subscriber_unless_endpoint_changed(webhook, apply_change)
    queues.enqueue_at_if_soon(PROBE_TASK, changed.item_key, probe_at)
    return changed


def _claim_and_queue_backlog_batch(webhook: Webhook) -> None:
    """Queue the next batch of the backlog, after the messages that are queued already."""
    until = _sweep_at(_BACKLOG_TIMEOUT_SECONDS)
    if _set_probe_at_unless_probe_changed(webhook, until).probe_at == until:
        (pk, sk) = webhook.item_key
        queues.enqueue_deliveries([(webhook.id, {"task": SEND_TASK, "pk": pk, "sk": sk, "catch_up": True})])


def _queue_backlog_or_mark_drained(webhook: Webhook) -> None:
    """Queue the next batch of the backlog, or mark the backlog as drained if there is none.

    This runs in the webhook's message group of the queue, so no other message is sent to it meanwhile; new events are
    deferred too.
    """
    if delivery_attempts.prune_and_load_first_deferred_deliveries(webhook):
        _claim_and_queue_backlog_batch(webhook)
    else:
        _clear_probe_and_set_drained_if_responsive(webhook)


def _clear_probe_and_set_drained_if_responsive(webhook: Webhook) -> None:
    def apply_change(changes: UnitOfWork, current: Webhook) -> Webhook:
        if current.circuit.probe_at != webhook.circuit.probe_at:
            return current  # A replay of pending deliveries has begun, or another worker is handling it.
        return changes.update_untracked(current, **current.circuit.after_backlog().to_fields())

    delivery_attempts.update_subscriber_unless_endpoint_changed(webhook, apply_change)


def _set_probe_at_unless_probe_changed(webhook: Webhook, probe_at: str | None) -> Webhook:
    def apply_change(changes: UnitOfWork, current: Webhook) -> Webhook:
        if not current.circuit.has_same_probe_as(webhook.circuit):
            return current  # Another worker is handling it.
        return changes.update_untracked(current, **current.circuit.probing(probe_at).to_fields())

    return delivery_attempts.update_subscriber_unless_endpoint_changed(webhook, apply_change)


@task(DisabledNotice.task)
def notify_webhook_disabled(message: dict[str, Any]) -> None:
    """Notify the admins of an organization by email that the service disabled a webhook."""
    admin_notices.send_to_admins(message, DisabledNotice, Webhook, _render_email)


@task(DisableJob.task, emits={final_outcomes.DISABLED_EVENT: Webhook})
def disable_webhook(message: dict[str, Any]) -> None:
    """Disable a webhook that accepts no events, and notify the organization's admins."""
    final_outcomes.commit_disabling_if_still_pending(message)


@task(ExhaustionJob.task, emits={final_outcomes.EXHAUSTED_EVENT: WebhookDelivery})
def commit_delivery_exhausted_event(message: dict[str, Any]) -> None:
    """Commit the log entry for a delivery whose last attempt failed."""
    final_outcomes.commit_exhaustion_entry(message)


def _send_event_and_store_outcome(webhook: Webhook, delivery: Delivery, event: DeliveryEvent) -> Webhook:
    response = webhook_requests.send_event(webhook, event)
    circuit = webhook.circuit.with_outcome(response, now())
    if reason := circuit.disable_reason_or_none(response, now()):
        record_last_attempt = partial(
            delivery_attempts.log_attempt_and_update_delivery, delivery=delivery, response=response, next_at=None
        )
        return final_outcomes.stop_deliveries_and_queue_disabling(
            webhook, reason, circuit.failing_since, record_last_attempt
        )
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    next_at = next_attempt_at(delivery.tries + 1, now(), jitter, response.retry_after)
    # Stored before the attempt: if the worker dies in between, the attempt is repeated.
    updated = _store_circuit_and_queue_due_probe(webhook, response, next_at)
    delivery_attempts.store_attempt_and_queue_retry(delivery, response, next_at, final_outcomes.add_exhaustion_job)
    return updated


def _store_circuit_and_queue_due_probe(
    webhook: Webhook, response: WebhookResponse, next_attempt_at: str | None
) -> Webhook:
    """Return the webhook with the state after an attempt that does not disable it."""
    fields: dict[str, Any] = webhook.circuit.fields_after_attempt(response, next_attempt_at, now())

    def apply_change(changes: UnitOfWork, current: Webhook) -> Webhook:
        if fields["failing_since"] != current.failing_since:  # A public field, so this creates a new version.
            return changes.update(current, **fields)
        return changes.update_untracked(current, **fields)

    updated = delivery_attempts.update_subscriber_unless_endpoint_changed(webhook, apply_change)
    if webhook.circuit.reschedules_probe(response) and updated.probe_at:
        queues.enqueue_at_if_soon(PROBE_TASK, updated.item_key, updated.probe_at)
    return updated


def _render_email(_notice: DisabledNotice, webhook: Webhook, organization: Organization) -> mail.Email:
    return mail.render_email(
        "features/notifications/webhooks/mail.jinja",
        organization=organization.name,
        url=webhook.url,
        reason=webhook.disabled_reason,
        failing_since=webhook.failing_since or webhook.updated_at,
    )
