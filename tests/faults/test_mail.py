"""Emails whose worker fails at any AWS call are sent once, or twice if it failed after sending."""

from contextlib import suppress
from typing import Final

from chalicelib.features.tenancy.invitations.entities import InvitationMail
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.work import queues
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults.variants import Variant, call_numbers, with_all_variants
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, failing
from tests.harness.invitations import invite
from tests.harness.mailbox import Mailbox

_ROUNDS: Final = 2


def create_email_without_message(world: World) -> ItemKey:
    """Create an invitation without its message, and return the key of the email."""
    with failing(Fault.TIMED_OUT, name="sqs:SendMessage", times=None):
        invite(world.api, world.organization, "sophie@example.org")
    (email_key,) = pending_email_keys()
    return email_key


def pending_email_keys() -> list[ItemKey]:
    """Return the keys of the pending emails."""
    return [key for key, item in snapshots.stored().items() if item.get("kind") == InvitationMail.kind]


def run_recovery(world: World, clock: Clock) -> None:
    """Redeliver messages and run the schedule after leases have ended."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=5)
        world.workers.attempt()
        world.workers.sweep()
        world.workers.attempt()


@with_all_variants
def test_email_is_sent_once_unless_its_worker_failed_after_sending(
    variant: Variant, world: World, begin: Begin, clock: Clock, mailbox: Mailbox
) -> None:
    for at in call_numbers():
        key = begin(create_email_without_message)
        queues.enqueue(InvitationMail.task, key)
        mailbox.received.clear()
        with variant.inject(at) as injected, suppress(Died):
            world.workers.attempt()
        if not injected.hit:
            break
        received_before_recovery, was_item_removed = len(mailbox.letters), pending_email_keys() == []
        run_recovery(world, clock)
        assert pending_email_keys() == []
        assert len(mailbox.letters) == 1 or (
            received_before_recovery == 1 and not was_item_removed and len(mailbox.letters) == 2
        )
    assert at > 1, "the fault was never injected"
