"""A fault at any AWS call of the worker that sends a mail: it is sent, and twice only if it died in between."""

from contextlib import suppress
from typing import Final

from chalicelib.features.tenancy.invitations.entities import InvitationMail
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.work import queues
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults.variants import Variant, by_variant, calls
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, failing
from tests.harness.invitations import invite
from tests.harness.mailbox import Mailbox

_ROUNDS: Final = 2


def with_a_mail_that_nobody_was_told_of(world: World) -> ItemKey:
    """Invite somebody while the queues are silent, and return where the mail stands."""
    with failing(Fault.TIMED_OUT, name="sqs:SendMessage", times=None):
        invite(world.api, world.organization, "sophie@example.org")
    (mail,) = mails()
    return mail


def mails() -> list[ItemKey]:
    """Return where the mails stand that are still to be sent."""
    return [key for key, item in snapshots.stored().items() if item.get("kind") == InvitationMail.kind]


def finish(world: World, clock: Clock) -> None:
    """Let messages come back, and the schedule tick after every lease and pause."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=5)
        world.workers.attempt()
        world.workers.sweep()
        world.workers.attempt()


@by_variant
def test_a_mail_is_sent_once_unless_its_worker_fell_after_it(
    variant: Variant, world: World, begin: Begin, clock: Clock, mailbox: Mailbox
) -> None:
    for at in calls():
        key = begin(with_a_mail_that_nobody_was_told_of)
        queues.enqueue(InvitationMail.task, key)
        mailbox.received.clear()
        with variant.strikes(at) as injected, suppress(Died):
            world.workers.attempt()
        if not injected.hit:
            break
        taken, forgotten = len(mailbox.letters), mails() == []
        finish(world, clock)
        assert mails() == []
        assert len(mailbox.letters) == 1 or (taken == 1 and not forgotten and len(mailbox.letters) == 2)
    assert at > 1, "the fault found no call"
