"""Values that one record only may have: for good, for a while after, until a moment, or as long as a state lasts."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, Entity, Item
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import cloud
from tests.harness.clock import Clock
from tests.harness.parcels import Parcel, parcel, stored
from tests.harness.stored_records import beginning

pytestmark = pytest.mark.usefixtures("aws")

MOMENT = "2026-11-20T09:30:00.400Z"


class Seat(Entity):
    """A seat that is somebody's until a moment, or until they stand up."""

    kind = "seat"
    pk, sk = "S#{hall}", "{id}"
    by_number = Unique(
        "seat#{hall}",
        "{number}",
        error_code="already_exists",
        field="number",
        expires_at_field="until",
        applies_to=lambda seat: not seat.left,
    )

    hall: str = "Royal Institution"
    number: int
    until: str
    left: bool = False


del KINDS["seat"]


def taken(number: int = 7, *, hours: float = 1, **fields: object) -> Seat:
    changes = UnitOfWork(now())
    seat = Seat(**beginning(now()), number=number, until=after(now(), hours=hours), **fields)  # type: ignore[arg-type]
    changes.create(seat)
    changes.commit()
    return seat


def changed(seat: Seat, **fields: object) -> Seat:
    changes = UnitOfWork(now())
    now_so = changes.update(seat, **fields)
    changes.commit()
    return now_so


def guard(number: int = 7) -> Item | None:
    return table.get(guard_key(Seat.uniques["by_number"], {"hall": "Royal Institution", "number": number}))


class TestAValue:
    def test_a_value_is_one_records(self) -> None:
        stored("a")
        with pytest.raises(Problem, match="slug_taken") as refused:
            stored("a")
        assert [error.pointer for error in refused.value.errors] == ["/label"]

    def test_a_former_value_leads_to_its_record_for_a_while(self, clock: Clock) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update(made, label="b")
        changes.commit()
        guard = table.get(guard_key(Parcel.uniques["by_label"], {"label": "a"}))
        assert guard is not None
        assert (guard["ref"], guard["alias"]) == (made.id, True)
        assert abs(guard["ttl"] - time.time() - 90 * 86_400) < 5
        with pytest.raises(Problem, match="slug_taken"):
            stored("a")
        clock.shift(days=91)
        assert stored("a").label == "a"

    def test_of_many_at_once_one_takes_it(self) -> None:
        def take(_: int) -> bool:
            try:
                stored("a")
            except Problem:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(take, range(8))) == 1


class TestAValueThatIsHandedOver:
    def test_passes_from_one_record_to_another_in_one_write(self) -> None:
        former = stored("a")
        changes = UnitOfWork(now())
        changes.delete(former)
        heir = changes.create(parcel("a"))
        changes.commit()
        kept = table.get(guard_key(Parcel.by_label, heir))
        assert kept is not None
        assert kept["ref"] == heir.id

    def test_does_not_pass_from_who_does_not_have_it(self) -> None:
        former = stored("a")
        changes = UnitOfWork(now())
        changes.delete(former)
        changes.create(parcel("a"))
        key = guard_key(Parcel.by_label, former)
        cloud.put({"pk": key[0], "sk": key[1], "ref": "somebody else's"})
        with pytest.raises(Problem, match="slug_taken"):
            changes.commit()


class TestAValueThatLapses:
    def test_is_free_once_its_moment_is_past_and_not_before(self, clock: Clock) -> None:
        clock.freeze(MOMENT)
        taken(hours=1)
        clock.freeze("2026-11-20T10:30:00.399Z")
        with pytest.raises(Problem, match="already_exists"):
            taken()
        clock.freeze("2026-11-20T10:30:00.400Z")
        assert taken().number == 7

    def test_is_not_taken_back_by_a_change_of_the_record_that_had_it(self, clock: Clock) -> None:
        former = taken(hours=1)
        clock.shift(hours=2)
        present = taken()
        changed(former, updated_at=now())
        kept = guard()
        assert kept is not None
        assert kept["ref"] == present.id

    def test_is_removed_by_the_table_itself_in_the_first_whole_second_after(self, clock: Clock) -> None:
        clock.freeze(MOMENT)
        taken(hours=1)
        kept = guard()
        assert kept is not None
        assert kept["ttl"] == int(time.time()) + 3601

    def test_is_held_for_longer_when_its_moment_is_moved(self, clock: Clock) -> None:
        clock.freeze(MOMENT)
        seat = taken(hours=1)
        clock.shift(minutes=30)
        changed(seat, until=after(now(), hours=1))
        clock.shift(minutes=59)
        with pytest.raises(Problem, match="already_exists"):
            taken()
        clock.shift(minutes=2)
        assert taken().number == 7

    def test_is_not_taken_from_whoever_has_it_by_then(self, clock: Clock) -> None:
        former = taken(hours=1)
        clock.shift(hours=1, seconds=1)
        present = taken(hours=1)
        changed(former, left=True)
        changes = UnitOfWork(now())
        changes.delete(former.replace(left=True, version=2))
        changes.commit()
        held = guard()
        assert held is not None
        assert held["ref"] == present.id

    def test_cannot_be_held_anew_by_a_former_holder_once_it_is_anothers(self, clock: Clock) -> None:
        former = taken(hours=1)
        clock.shift(hours=1, seconds=1)
        taken(hours=1)
        with pytest.raises(Problem, match="already_exists"):
            changed(former, until=after(now(), hours=1))


class TestAValueThatAStateHolds:
    def test_is_free_as_soon_as_that_is_over(self) -> None:
        changed(taken(), left=True)
        assert guard() is None
        assert taken().number == 7

    def test_is_held_again_with_the_state_if_it_is_still_free(self) -> None:
        seat = changed(taken(), left=True)
        seat = changed(seat, left=False)
        held = guard()
        assert held is not None
        assert held["ref"] == seat.id

    def test_is_not_held_again_if_it_is_anothers(self) -> None:
        former = changed(taken(), left=True)
        taken()
        with pytest.raises(Problem, match="already_exists"):
            changed(former, left=False)

    def test_is_not_held_by_what_begins_without_the_state(self) -> None:
        taken(left=True)
        assert guard() is None
        assert [item["sk"] for item in cloud.stored()] != ["#"]
