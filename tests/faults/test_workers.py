"""A fault at any AWS call of any worker: what it left is finished by the message that returns, or by the sweep."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.work import queues
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults import tasks
from tests.faults.table_shapes import Shape, shape
from tests.faults.variants import Variant, by_lean_variant, calls
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Died


def with_entries_that_wait(world: World) -> None:
    """Let something have happened in both organizations, and nobody have told the ledger."""
    for place, letters in ((world.organization, 3000), (world.rivals, 30)):
        answer = world.api.patch(place.path, as_=place.owner, json={"companyAddress": "x" * letters})
        assert answer.status == 200


def with_all_that_can_be_due(world: World) -> None:
    """Let entries wait and a key expire."""
    tasks.a_key_expires(world)
    with_entries_that_wait(world)


def append(world: World, _given: object) -> None:
    """Deliver what tells the ledger of both organizations."""
    for place in (world.organization, world.rivals):
        queues.notify_ledger(place.id, new_id(now()))
    world.workers.attempt()


def sweep(world: World, _given: object) -> None:
    """Let the schedule tick."""
    world.workers.sweep()


@dataclass(frozen=True)
class Work:
    """Something workers do: what it begins with, how much later it is done, how it is begun, what makes up for it."""

    given: Callable[[World], Any]
    later: Mapping[str, float]
    do: Callable[[World, Any], None]
    tick: tasks.Tick = tasks.sweeping

    @classmethod
    def of(cls, name: str, example: tasks.TaskExample) -> "Work":
        """Return the work of a task that is begun by its message."""

        def do(world: World, record: Any) -> None:
            tasks.start(name, record)
            world.workers.attempt()

        return cls(example.given, example.later, do, example.tick)


STRUCK_ELSEWHERE: Final = ("audit_exports.run", "erasures.run")
"""Tasks of very many calls, each struck in a file of its own: `test_exports.py`, `test_erasures.py`."""

WORKS: Final = {
    "append": Work(with_entries_that_wait, {}, append),
    "sweep": Work(with_all_that_can_be_due, {"days": 2}, sweep),
    **{name: Work.of(name, example) for name, example in tasks.EXAMPLES.items() if name not in STRUCK_ELSEWHERE},
}
by_work = pytest.mark.parametrize("work", WORKS.values(), ids=WORKS.keys())

_done: dict[int, Shape] = {}


@by_lean_variant
@by_work
class TestAWorker:
    def test_finishes_once_what_was_begun(
        self, work: Work, variant: Variant, world: World, begin: Begin, clock: Clock
    ) -> None:
        done = self._without_fault(work, world, begin, clock)
        for at in calls():
            given = begin(work.given)
            with clock.later(**work.later):
                with variant.strikes(at) as injected, suppress(Died, Problem):
                    work.do(world, given)
                if not injected.hit:
                    break
                ended = tasks.finished(world, clock, work.tick, done)
            assert shape(ended) == done
            evidence.assert_proven(ended)
        assert at > 1, "the fault found no call"

    @staticmethod
    def _without_fault(work: Work, world: World, begin: Begin, clock: Clock) -> Shape:
        if id(work) not in _done:
            given = begin(work.given)
            before = snapshots.stored()
            with clock.later(**work.later):
                work.do(world, given)
                ended = tasks.finished(world, clock, work.tick)
            assert shape(ended) != shape(before)
            _done[id(work)] = shape(ended)
        return _done[id(work)]
