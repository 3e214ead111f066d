"""A fault at any AWS call of any worker: what it left is finished by the message that returns, or by the sweep."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pytest

from chalicelib.features.organizations.entities import RESTORABLE_DAYS, Organization
from chalicelib.kernel import queues
from chalicelib.kernel.clock import after, now
from chalicelib.kernel.ids import new_id
from chalicelib.kernel.problems import Problem
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import crowd
from tests.catalogue.world import World
from tests.faults.shapes import Shape, shape
from tests.faults.variants import Variant, by_lean_variant, calls
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Died


def with_entries_that_wait(world: World) -> None:
    """Let something have happened in both organizations, and nobody have told the ledger."""
    for place, letters in ((world.organization, 3000), (world.rivals, 30)):
        answer = world.api.patch(place.path, as_=place.owner, json={"companyAddress": "x" * letters})
        assert answer.status == 200


def with_a_deleted_organization(world: World) -> None:
    """Let an organization with more in it than one transaction removes wait for its purge."""
    crowd(world, 3)
    assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
    world.workers.settle()


def with_a_key_that_expires(world: World) -> None:
    """Let an API key expire in a day."""
    world.key("read", expiresAt=after(now(), days=1))
    world.workers.settle()


def with_all_that_can_be_due(world: World) -> None:
    """Let entries wait and a key expire."""
    with_a_key_that_expires(world)
    with_entries_that_wait(world)


def append(world: World) -> None:
    """Deliver what tells the ledger of both organizations."""
    for place in (world.organization, world.rivals):
        queues.wake(place.id, new_id(now()))
    world.workers.attempt()


def purge(world: World) -> None:
    """Deliver what tells that the organization's time is over."""
    pk, sk = Organization.key_of(id=world.id)
    queues.start("organizations.purge", (pk, sk))
    world.workers.attempt()


def sweep(world: World) -> None:
    """Let the schedule tick."""
    world.workers.sweep()


def sweep_and_work(world: World) -> None:
    """Let the schedule tick, and do what that queues."""
    world.workers.sweep()
    world.workers.attempt()


@dataclass(frozen=True)
class Work:
    """Something workers do: what it begins with, how much later it is done, and how it is begun."""

    given: Callable[[World], None]
    later: dict[str, float]
    do: Callable[[World], None]


WORKS: Final = {
    "append": Work(with_entries_that_wait, {"seconds": 0}, append),
    "sweep": Work(with_all_that_can_be_due, {"days": 2}, sweep),
    "expire": Work(with_a_key_that_expires, {"days": 2}, sweep_and_work),
    "purge": Work(with_a_deleted_organization, {"days": RESTORABLE_DAYS, "minutes": 3}, purge),
}
_ROUNDS: Final = 2
by_work = pytest.mark.parametrize("work", WORKS.values(), ids=WORKS.keys())


def finished(world: World, clock: Clock, done: Shape | None = None) -> evidence.Items:
    """What the table holds when messages have come back, and the schedule has ticked after the leases ended."""
    for _ in range(_ROUNDS):
        clock.shift(minutes=2)
        world.workers.settle()
        items = snapshots.stored()
        if shape(items) == done:
            break
    return items


_done: dict[int, Shape] = {}


@by_lean_variant
@by_work
class TestAWorker:
    def test_finishes_once_what_was_begun(
        self, work: Work, variant: Variant, world: World, begin: Begin, clock: Clock
    ) -> None:
        done = self._without_fault(work, world, begin, clock)
        for at in calls():
            begin(work.given)
            clock.shift(**work.later)
            with variant.strikes(at) as injected, suppress(Died, Problem):
                work.do(world)
            if not injected.hit:
                break
            ended = finished(world, clock, done)
            assert shape(ended) == done
            evidence.assert_proven(ended)
            clock.shift(**{unit: -amount for unit, amount in work.later.items()})
        assert at > 1, "the fault found no call"

    @staticmethod
    def _without_fault(work: Work, world: World, begin: Begin, clock: Clock) -> Shape:
        if id(work) not in _done:
            begin(work.given)
            before = snapshots.stored()
            clock.shift(**work.later)
            work.do(world)
            ended = finished(world, clock)
            assert shape(ended) != shape(before)
            _done[id(work)] = shape(ended)
            clock.shift(**{unit: -amount for unit, amount in work.later.items()})
        return _done[id(work)]
