"""Erasures that are broken off, doubled, overtaken, or meet a log that somebody damaged: each is finished, or says why.

That every task is finished whatever strikes its first turn, `test_workers.py` and `test_tasks.py` see to.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import pytest

from chalicelib.features.privacy.erasures import tasks as erasures
from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs, queues
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults.table_shapes import Shape, shape
from tests.faults.variants import Variant
from tests.harness import cloud, snapshots
from tests.harness.api import Json
from tests.harness.callers import Person
from tests.harness.clock import Clock, ago
from tests.harness.erasures import begin_erasure, found_at, left_of
from tests.harness.faults import Died, Fault, failing, overtaken
from tests.harness.invitations import invite
from tests.harness.logs import alter, entry, finding, head, verify
from tests.harness.organizations import Founded, found, joins, make_key

VARIANTS: Final = [Variant(fault, lasts=False) for fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER, Fault.CONFLICT)]
GIVEN_UP: Final = "The erasure could not be finished. Verify the log, then create the erasure again."
NOT_AGAIN: Final = (
    "The second search, for records in flight at the completion, failed. Verify the log, then create the erasure again."
)


@dataclass(frozen=True)
class Begun:
    """An erasure that nobody has worked on yet; whom it is about, and where it is found."""

    organization: Founded
    person: Person
    path: str

    @property
    def key(self) -> tuple[str, str]:
        """Where it is stored."""
        return f"O#{self.organization.id}", f"Z#{self.path.rpartition('/')[2]}"

    @property
    def stored(self) -> Json:
        """What is stored of it."""
        return table.get(self.key) or {}

    def again(self, world: World, **whom: str) -> "Begun":
        """Begin another one of the same person."""
        return replace(self, path=begin_erasure(world.api, self.organization, **whom))


def begun(world: World) -> Begun:
    """Let an admin with several traces in an organization be still to be erased."""
    owner, person = world.people.owner, world.people.issuer.person("lise", "Lise Meitner")
    with ago(minutes=9):
        organization = found(world.api, owner)
        joins(organization, person, "admin")
        invite(world.api, organization, "sophie@example.org", as_=person, message=f"Yours, {person.email}")
        invite(world.api, organization, person.email.replace("@", "@at."))
        make_key(world.api, organization, as_=person)
        world.api.patch(organization.path, as_=person, json={"companyAddress": f"{person.email} {'x' * 3900}"})
        world.api.patch(organization.path, as_=owner, json={"name": f"Friends of {person.email}"})
        world.workers.settle()
    path = begin_erasure(world.api, organization, email=person.email)
    for queue in cloud.queues():
        queue._messages.clear()  # noqa: SLF001 - its first message is sent when it is worked on
    return Begun(organization, person, path)


def paused(world: World) -> Begun:
    """Let an erasure be completed, and still have to look again."""
    erasure = begun(world)
    queues.enqueue(Erasure.task, erasure.key)
    world.workers.deliver()
    return erasure


@pytest.fixture(autouse=True)
def _in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page of an erasure be some records or entries, and a transaction two of these."""
    monkeypatch.setattr(erasures, "_PAGE_SIZE", 8)
    monkeypatch.setattr(erasures, "_MAX_ENTRIES_PER_TRANSACTION", 2)


def work(world: World, clock: Clock, erasure: Begun) -> None:
    """Do what can be done now and, once the erasure has paused, what is left."""
    for minutes in (0, 2):
        clock.shift(minutes=minutes)
        with suppress(Died, Problem):
            queues.enqueue(Erasure.task, erasure.key)
            world.workers.attempt()


def finished(world: World, clock: Clock, erasure: Begun) -> Json:
    """Return what is stored of an erasure that nothing holds up any more, once nothing is left to be done of it."""
    for _ in range(10):
        if "turn_at" not in erasure.stored:
            return erasure.stored
        clock.shift(minutes=4)
        world.workers.sweep()
        world.workers.attempt()
    raise AssertionError(erasure.stored)


def stopped(world: World, clock: Clock, erasure: Begun, *, at: int) -> bool:
    """Let the table answer no Query from the `at`th on until an erasure is given up; return whether it was."""
    with failing(Fault.THROTTLED, at=at, times=None, name="dynamodb:Query"):
        for _ in range(jobs.MAX_FAILURES + 3):
            queues.enqueue(Erasure.task, erasure.key)
            world.workers.attempt()
            clock.shift(minutes=4)
    return "error" in erasure.stored


def counted(stored: Json) -> tuple[object, ...]:
    return tuple(stored.get(name) for name in ("status", "erased_records", "erased_entries", "error"))


DONE: Final = ("completed", 4, 5, None)
_shapes: dict[str, Shape] = {}


@pytest.fixture
def done(world: World, begin: Begin, clock: Clock) -> Shape:
    """What is there when nothing went wrong."""
    if not _shapes:
        erasure: Begun = begin(begun)
        assert counted(finished(world, clock, erasure)) == DONE
        _shapes["done"] = shape(snapshots.stored())
    return _shapes["done"]


class TestAnErasure:
    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    def test_that_is_broken_off_at_any_call_is_finished_and_counts_right(
        self, variant: Variant, world: World, begin: Begin, clock: Clock, done: Shape
    ) -> None:
        for at in count(1):
            erasure: Begun = begin(begun)
            with variant.strikes(at) as injected:
                work(world, clock, erasure)
            stored = finished(world, clock, erasure)
            assert (counted(stored), shape(snapshots.stored())) == (DONE, done), f"{injected.hit}, call {at}"
            assert left_of(erasure.person.id, erasure.person.email) == []
            evidence.assert_proven()
            if not injected.hit:
                break
        assert at > (30 if variant.fault is Fault.DIED_BEFORE else 15)

    def test_that_two_workers_end_at_once_is_done_once(
        self, world: World, begin: Begin, clock: Clock, done: Shape
    ) -> None:
        for at in count(1):
            erasure: Begun = begin(paused)
            clock.shift(minutes=2)

            def another(erasure: Begun = erasure) -> None:
                queues.enqueue(Erasure.task, erasure.key)
                world.workers.attempt()

            with overtaken(another, at=at) as overtaking:
                another()
            stored = finished(world, clock, erasure)
            assert (counted(stored), shape(snapshots.stored())) == (DONE, done), f"{overtaking.hit}, call {at}"
            if not overtaking.hit:
                break
        assert at > 10

    def test_of_somebody_who_is_made_the_owner_meanwhile_leaves_one_owner(
        self, world: World, begin: Begin, clock: Clock
    ) -> None:
        outcomes = set[str]()
        for at in count(1):
            erasure: Begun = begin(begun)
            organization, person = erasure.organization, erasure.person

            def hand_over(organization: Founded = organization, person: Person = person) -> None:
                path, body = f"{organization.path}/transfer-ownership", {"newOwnerId": person.id}
                world.api.post(path, as_=organization.owner, json=body)

            with overtaken(hand_over, at=at) as overtaking:
                work(world, clock, erasure)
            stored = finished(world, clock, erasure)
            outcomes.add(stored["status"])
            members = [i for i in cloud.stored() if i["pk"] == erasure.key[0] and i["sk"].startswith("M#")]
            (owner,) = (member["user_id"] for member in members if member["role"] == "owner")
            assert owner == (table.get(Organization.make_item_key(id=organization.id)) or {})["owner_id"]
            assert (owner == person.id) == (stored["status"] == "failed"), f"{overtaking.hit}, call {at}"
            assert (stored["user_ids"], stored["emails"]) == ([], [])
            if not overtaking.hit:
                break
        assert outcomes == {"completed", "failed"}

    def test_in_an_organization_that_is_purged_meanwhile_ends_with_it(
        self, world: World, begin: Begin, clock: Clock
    ) -> None:
        for at in count(1, 4):
            erasure: Begun = begin(in_an_organization_whose_time_is_over)
            purge = Organization.make_item_key(id=erasure.organization.id)

            def let_it_go(purge: tuple[str, str] = purge) -> None:
                queues.enqueue("organizations.purge", purge)
                world.workers.attempt()

            with clock.later(days=RESTORABLE_DAYS, minutes=3):
                with overtaken(let_it_go, at=at) as overtaking:
                    queues.enqueue(Erasure.task, erasure.key)
                    with suppress(Problem):
                        world.workers.attempt()
                for _ in range(3):
                    clock.shift(minutes=4)
                    world.workers.sweep()
                    world.workers.attempt()
                assert not [key for key in snapshots.stored() if key[0] == purge[0]], f"{overtaking.hit}, call {at}"
                assert world.workers.attempt().failed == []
                evidence.assert_proven()
            if not overtaking.hit:
                break
        assert at > 5


def in_an_organization_whose_time_is_over(world: World) -> Begun:
    """Let an organization with an erasure that nobody worked on be deleted."""
    erasure = begun(world)
    assert world.api.delete(erasure.organization.path, as_=erasure.organization.owner).status == 204
    return erasure


class TestOneThatIsGivenUp:
    """It may have erased what told which ids and addresses are one person's: the next one knows it from it."""

    @pytest.fixture(autouse=True)
    def _in_smaller_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let what names the person by their id only, or by their address only, stand behind a page that does both."""
        monkeypatch.setattr(erasures, "_PAGE_SIZE", 4)

    @pytest.mark.parametrize("by", ["email", "userId"])
    def test_says_what_to_do_and_then_nothing_is_left_wherever_it_was(
        self, world: World, begin: Begin, clock: Clock, by: str
    ) -> None:
        outcomes = list[str]()
        for at in count(1):
            erasure: Begun = begin(begun)
            if not stopped(world, clock, erasure, at=at):
                break
            record = found_at(world.api, erasure.organization, erasure.path)
            outcomes.append(record["status"])
            assert record["error"] == {"failed": GIVEN_UP, "completed": NOT_AGAIN}[record["status"]]
            assert (erasure.stored["user_ids"], erasure.stored["emails"]) == ([], [])
            again = erasure.again(world, **{by: {"email": erasure.person.email, "userId": erasure.person.id}[by]})
            assert finished(world, clock, again)["status"] == "completed"
            assert left_of(erasure.person.id, erasure.person.email) == [], f"Query {at}"
            assert erasure.stored["accounts"] == again.stored["accounts"] == []
            assert found_at(world.api, erasure.organization, erasure.path)["error"] == record["error"]
            evidence.assert_proven()
        assert outcomes == sorted(outcomes, reverse=True)
        assert set(outcomes) == {"failed", "completed"}

    def test_keeps_of_the_person_what_belongs_together_and_shows_it_to_nobody(self, world: World, clock: Clock) -> None:
        erasure = begun(world)
        fields = set(found_at(world.api, erasure.organization, erasure.path))
        assert stopped(world, clock, erasure, at=6)
        assert erasure.stored["accounts"] == [[erasure.person.id, erasure.person.email]]
        assert set(found_at(world.api, erasure.organization, erasure.path)) == fields

    def test_draws_in_nobody_whom_the_next_one_does_not_mean(self, world: World, clock: Clock) -> None:
        """Hedy has the address that was Lise's; both were meant by it, then only Lise is."""
        erasure = begun(world)
        hedy = world.people.issuer.person("hedy", "Hedy Lamarr", email=erasure.person.email)
        owner, members = erasure.organization.owner, f"{erasure.organization.path}/members"
        assert world.api.delete(f"{members}/{erasure.person.id}", as_=owner).status == 204
        with ago(minutes=3):
            joins(erasure.organization, hedy, "member")
        at = next(at for at in count(1) if self._known(world, clock, erasure, at) == {erasure.person.id, hedy.id})
        assert at > 1
        again = erasure.again(world, userId=erasure.person.id)
        assert finished(world, clock, again)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        assert world.api.get(f"{members}/{hedy.id}", as_=owner).status == 200

    @staticmethod
    def _known(world: World, clock: Clock, erasure: Begun, at: int) -> set[str]:
        """Return who is known by an erasure that was stopped."""
        before = snapshots.taken()
        assert stopped(world, clock, erasure, at=at)
        known = {user_id for user_id, _ in erasure.stored["accounts"]}
        if len(known) < 2:
            snapshots.put_back(before)
        return known


class TestADamagedLog:
    """What can be erased is erased; where the log itself can't go on, the owner is told, and nothing goes round."""

    @pytest.fixture
    def erasure(self, world: World) -> Begun:
        return begun(world)

    @pytest.mark.parametrize("sequence", [1, 2, 3, 5])
    def test_that_has_a_gap_is_erased_around_it(
        self, world: World, clock: Clock, erasure: Begun, sequence: int
    ) -> None:
        cloud.remove(entry(erasure.organization, sequence))
        assert finished(world, clock, erasure)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        assert finding(world.api, erasure.organization) == ("missing", sequence)

    @pytest.mark.parametrize("gone", [["facet1pk"], ["leaf"], ["type", "actor"], ["id"], ["seal"], ["index1pk"]])
    def test_of_which_an_entry_lacks_something_is_erased_as_well(
        self, world: World, clock: Clock, erasure: Begun, gone: list[str]
    ) -> None:
        item = entry(erasure.organization, 3)
        cloud.put({name: value for name, value in item.items() if name not in gone})
        assert finished(world, clock, erasure)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        assert finding(world.api, erasure.organization)[1] == 3

    def test_that_lost_an_entry_that_waited_goes_on_without_it(
        self, world: World, clock: Clock, erasure: Begun
    ) -> None:
        (item,) = (i for i in cloud.stored() if i["pk"] == f"A#{erasure.organization.id}" and "sequence" not in i)
        cloud.remove(item)
        assert finished(world, clock, erasure)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        assert verify(world.api, erasure.organization)["suppressed"] == 1

    def test_of_which_an_entry_lost_its_place_is_erased_around_it(
        self, world: World, clock: Clock, erasure: Begun
    ) -> None:
        item = entry(erasure.organization, 3)
        gone = ("sequence", "index1pk", "index1sk")
        cloud.put({name: value for name, value in item.items() if name not in gone})
        assert finished(world, clock, erasure)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        assert finding(world.api, erasure.organization) == ("missing", 3)

    def test_that_can_not_go_on_ends_the_erasure_with_a_word_to_the_owner(
        self, world: World, clock: Clock, erasure: Begun
    ) -> None:
        alter(head(erasure.organization), peaks=b"x")
        stored = finished(world, clock, erasure)
        assert (stored["status"], stored["failures"]) == ("failed", jobs.MAX_FAILURES + 1)
        assert found_at(world.api, erasure.organization, erasure.path)["error"] == GIVEN_UP

    def test_that_was_repaired_lets_another_erasure_finish(self, world: World, clock: Clock, erasure: Begun) -> None:
        whole = head(erasure.organization)
        alter(whole, peaks=b"x")
        finished(world, clock, erasure)
        cloud.put(whole)
        again = erasure.again(world, email=erasure.person.email)
        assert finished(world, clock, again)["status"] == "completed"
        assert left_of(erasure.person.id, erasure.person.email) == []
        evidence.assert_proven()
