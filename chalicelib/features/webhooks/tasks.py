"""Sending events to webhooks; and what becomes of one that gives no answer, or has given none for days."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from chalicelib.features.deliveries import lots, sending
from chalicelib.features.deliveries.entities import Delivery
from chalicelib.features.deliveries.rules import next_attempt
from chalicelib.features.deliveries.sending import Told
from chalicelib.features.members.entities import Member
from chalicelib.features.organizations.entities import Organization
from chalicelib.features.webhooks import outcomes, signing
from chalicelib.features.webhooks.entities import (
    PROBE,
    SEND,
    DisabledNotice,
    Disabling,
    Exhaustion,
    Webhook,
    WebhookDelivery,
)
from chalicelib.features.webhooks.rules import disabling, misconfigured, parked, unknown
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound import mail, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits import host_rates
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, queues, tasks
from chalicelib.kernel.work.tasks import task

_WAITING_SECONDS: Final = 3600
"""For so long the sweep leaves alone what waits for a webhook to answer: as soon as it does, all is queued."""

_PROBING_SECONDS: Final = 300
"""How long a probe may be under way before it is taken for lost."""

_CATCHING_UP_SECONDS: Final = 120
"""How long what waited may be under way, a lot of it, before it is taken for lost."""


class _Pace:
    """How many more events of a message may be sent in this second; turns for all are taken before the first is.

    `over`: whether there was none for one of them, which has to wait until `next_at`.
    """

    def __init__(self) -> None:
        self._wanted, self._left, self.over, self.next_at = 1, -1, False, ""

    def begin(self, number: int) -> None:
        """Say how many events there are."""
        self._wanted = number

    def admits(self, webhook: Webhook) -> bool:
        """Return whether one more may be sent now. Raises Problem `unavailable`."""
        if self._left < 0:
            turns = host_rates.acquire_slots(webhook.organization_id, webhook.url, self._wanted)
            self._left, self.next_at = turns.granted, turns.next_at
        if self._left == 0:
            self.over = True
            return False
        self._left -= 1
        return True


@task(SEND)
def send_to_webhook(message: dict[str, Any]) -> None:
    """Send a webhook the events that a message names; one that does not answer, or was never asked, only a `probe`.

    A message that is to `catch_up` names none: it is all that waits, a lot at a time. What its host may not be sent in
    this second waits, and all that comes later behind it.
    """
    probes, catches_up, pace = bool(message.get("probe")), bool(message.get("catch_up")), _Pace()

    def attempt(webhook: Webhook, delivery: Delivery, event: Told) -> Webhook:
        if not webhook.takes_events:
            sending.skip(delivery)
        elif webhook.caught_up or probes or (catches_up and webhook.answers):
            if pace.admits(webhook):
                return _send(webhook, delivery, event)
            if not catches_up:  # Else it waits already.
                sending.put_off(webhook, delivery, _WAITING_SECONDS)
            return _let_wait(webhook, pace.next_at)
        else:
            sending.put_off(webhook, delivery, _WAITING_SECONDS)
            if webhook.parked_until is None:
                return _probe(webhook, delivery)
        return webhook

    webhook = sending.send(Webhook, message, attempt, pace.begin)
    if webhook and catches_up and not pace.over and (webhook.answers or not webhook.takes_events):
        _go_on(webhook)


@task(PROBE)
def attend_to_parked_webhook(message: dict[str, Any]) -> None:
    """Probe a webhook that does not answer with what is due to it; once it does, send it all that waits for it."""
    webhook = tasks.load_record(Webhook, message)
    if webhook is None or webhook.parked_until is None or webhook.parked_until > now():
        return
    if webhook.answers or not webhook.takes_events:
        _catch_up(webhook)
    elif waiting := sending.waiting(webhook):
        _probe(webhook, waiting[0])
    else:
        _park(webhook, None)


def _probe(webhook: Webhook, delivery: Delivery) -> Webhook:
    # First: what is parked for so long has to be under way. A second probe finds that nothing is due.
    queues.enqueue_slow({**lots.message(webhook.item_key, [delivery]), "probe": True})
    return _park(webhook, after(now(), seconds=_PROBING_SECONDS))


def _let_wait(webhook: Webhook, until: str) -> Webhook:
    """Let all that comes for a webhook wait, in its order, until its host may be sent more."""
    if not webhook.caught_up and webhook.parked_until == until:
        return webhook

    def tell(changes: UnitOfWork, present: Webhook) -> Webhook:
        changes.update_untracked(present, caught_up=False, parked_until=until)
        return present.replace(caught_up=False, parked_until=until)

    waiting = sending.settle(webhook, tell)
    queues.enqueue_at(PROBE, waiting.item_key, until)
    return waiting


def _catch_up(webhook: Webhook) -> None:
    """Queue what lets all that waits for a webhook be sent, behind what is queued for it already."""
    until = after(now(), seconds=_CATCHING_UP_SECONDS)
    if _park(webhook, until).parked_until == until:
        (pk, sk) = webhook.item_key
        queues.enqueue_deliveries([(webhook.id, {"task": SEND, "pk": pk, "sk": sk, "catch_up": True})])


def _go_on(webhook: Webhook) -> None:
    """Let the next lot of what waits for a webhook be sent; if there is none, it has caught up with the log.

    This is done in its group of the queue, so nothing else is sent to it meanwhile: what comes now waits as well.
    """
    if sending.waiting(webhook):
        _catch_up(webhook)
    else:
        _caught_up(webhook)


def _caught_up(webhook: Webhook) -> None:
    def tell(changes: UnitOfWork, present: Webhook) -> Webhook:
        caught_up = present.answers
        changes.update_untracked(present, caught_up=caught_up, parked_until=None)
        return present.replace(caught_up=caught_up, parked_until=None)

    sending.settle(webhook, tell)


def _park(webhook: Webhook, until: str | None) -> Webhook:
    def tell(changes: UnitOfWork, present: Webhook) -> Webhook:
        if (present.answers, present.parked_until) != (webhook.answers, webhook.parked_until):
            return present  # Somebody else attends to it.
        changes.update_untracked(present, parked_until=until)
        return present.replace(parked_until=until)

    return sending.settle(webhook, tell)


@task(DisabledNotice.task)
def tell_of_disabled_webhook(message: dict[str, Any]) -> None:
    """Let the admins of an organization know by mail that the service has disabled one of its webhooks.

    Should the worker die after SES took a mail and before that is stored, that one is sent a second time.
    """
    notice = jobs.claim(DisabledNotice, message)
    if notice is None:
        return
    if letter := _letter(notice):
        for admin in _admins(notice):
            try:
                _tell(admin, letter)
            except Problem:
                jobs.retry_later(notice)
                return
            notice = jobs.checkpoint(notice, told=admin.id)
    jobs.remove(notice)


@task(Disabling.task, emits={outcomes.DISABLED: Webhook})
def disable_webhook(message: dict[str, Any]) -> None:
    """Disable a webhook that takes no events, and let its organization's admins know."""
    outcomes.commit_disabled(message)


@task(Exhaustion.task, emits={outcomes.EXHAUSTED: WebhookDelivery})
def tell_of_exhausted_delivery(message: dict[str, Any]) -> None:
    """Commit the entry that says that a delivery has failed for good."""
    outcomes.commit_exhausted(message)


def _send(webhook: Webhook, delivery: Delivery, event: Told) -> Webhook:
    body = event.body()
    headers = signing.headers(webhook, delivery.event_id, body, now())
    headers |= {"x-request-id": event.request_id} if event.request_id else {}
    answer = webhook_client.post_webhook(webhook.url, body, headers)
    failing_since = None if answer.succeeded else webhook.failing_since or now()
    misconfigured_since = misconfigured(answer, webhook.misconfigured_since, now())
    if reason := disabling(answer, failing_since, misconfigured_since, now()):
        last = partial(sending.tried, delivery=delivery, answer=answer, next_at=None)
        return outcomes.disable(webhook, reason, failing_since, last)
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    next_at = next_attempt(delivery.tries + 1, now(), jitter, answer.retry_after)
    # First: a worker that dies in between is followed by one that tries again.
    judged = _judged(webhook, answer, failing_since, misconfigured_since, next_at)
    sending.record(delivery, answer, next_at, outcomes.exhaust)
    return judged


def _judged(
    webhook: Webhook,
    answer: WebhookResponse,
    failing_since: str | None,
    misconfigured_since: str | None,
    next_at: str | None,
) -> Webhook:
    """Return the webhook as it is after an attempt that does not disable it: well, failing or parked."""
    moment = now()
    if answer.timed_out:
        silences = webhook.silences + 1
        until = parked(next_at, silences, moment)
        parking: dict[str, Any] = {**unknown(until), "silences": silences}
    else:
        parking = {} if webhook.answers else {"answers": True, "silences": 0, "parked_until": moment}

    health = parking | {"misconfigured_since": misconfigured_since}

    def tell(changes: UnitOfWork, present: Webhook) -> Webhook:
        if present.failing_since != failing_since:  # Callers see that, so it makes a new version.
            return changes.update(present, failing_since=failing_since, **health)
        changes.update_untracked(present, **health)
        return present.replace(**health)

    judged = sending.settle(webhook, tell)
    if parking and judged.parked_until:
        queues.enqueue_at(PROBE, judged.item_key, judged.parked_until)
    return judged


def _letter(notice: DisabledNotice) -> mail.Email | None:
    """Return what a notice says; None if the webhook is gone, or enabled again."""
    webhook_key = Webhook.make_item_key(organization_id=notice.organization_id, id=notice.webhook_id)
    organization_key = Organization.make_item_key(id=notice.organization_id)
    items = table.get_all([webhook_key, organization_key])
    if webhook_key not in items or organization_key not in items:
        return None
    webhook, organization = Webhook.from_item(items[webhook_key]), Organization.from_item(items[organization_key])
    if webhook.disabled_reason is None:
        return None
    return mail.render_email(
        "features/webhooks/mail.jinja",
        organization=organization.name,
        url=webhook.url,
        reason=webhook.disabled_reason,
        failing_since=webhook.failing_since or webhook.updated_at,
    )


def _admins(notice: DisabledNotice) -> Iterator[Member]:
    """Yield the organization's admins and its owner, as far as they were not told yet."""
    members = Member.in_organization.partition(organization_id=notice.organization_id)
    for items in table.iter_pages(members, since=notice.told):
        # The index lags: who is an admin no more, or no member, is told nothing.
        for member in map(Member.from_item, table.read_current(items)):
            if member.id != notice.told and Role(member.role).includes(Role.ADMIN):
                yield member


def _tell(admin: Member, letter: mail.Email) -> None:
    if admin.email:
        try:
            mail.send_email(admin.email, letter)
        except mail.EmailRejected as refused:
            add_fields(mail=f"given up: {refused}")
