"""Emails whose worker fails at any AWS call are sent once, or twice if it failed after sending."""

from contextlib import suppress
from typing import Final

from chalicelib.features.tenancy.invitations.entities import InvitationMail
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.work import queues
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults.fault_variants import call_numbers, with_all_variants
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.invitations import create_invitation

_ROUNDS: Final = 2


def create_email_without_message(tenant: TenantFixture) -> ItemKey:
    """Create an invitation without its message, and return the key of the email."""
    with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
        create_invitation(tenant.api, tenant.organization, "sophie@example.org")
    (email_key,) = pending_email_keys()
    return email_key


def pending_email_keys() -> list[ItemKey]:
    """Return the keys of the pending emails."""
    return [key for key, item in snapshots.items_by_key().items() if item.get("kind") == InvitationMail.kind]


def run_recovery(tenant: TenantFixture, clock: Clock) -> None:
    """Redeliver messages and run the schedule after leases have ended."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=5)
        tenant.workers.try_deliver()
        tenant.workers.run_sweep()
        tenant.workers.try_deliver()


@with_all_variants
def test_email_is_sent_once_unless_its_worker_failed_after_sending(variant, tenant, restore_tenant, clock, mailbox):
    for at in call_numbers():
        key = restore_tenant(create_email_without_message)
        queues.enqueue(InvitationMail.task, key)
        mailbox.received_emails.clear()
        with variant.inject(at) as injected, suppress(ProcessDied):
            tenant.workers.try_deliver()
        if not injected.failed_call:
            break
        received_before_recovery, was_item_removed = len(mailbox.emails), pending_email_keys() == []
        run_recovery(tenant, clock)
        assert pending_email_keys() == []
        assert len(mailbox.emails) == 1 or (
            received_before_recovery == 1 and not was_item_removed and len(mailbox.emails) == 2
        )
    assert at > 1, "the fault was never injected"
