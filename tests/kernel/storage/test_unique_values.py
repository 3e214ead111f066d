"""Unique values are reserved by guards: permanently, for a retention period, until a time, or during a state."""

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
from tests.harness import memory_aws
from tests.harness.sample_entity import Parcel, build_parcel, create_parcel
from tests.harness.stored_records import new_id_and_time_fields

pytestmark = pytest.mark.usefixtures("aws")

TIMESTAMP = "2026-11-20T09:30:00.400Z"


class Seat(Entity):
    """A seat that is reserved until a time, or until it is left."""

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


def create_seat(number: int = 7, *, hours: float = 1, **fields: object) -> Seat:
    changes = UnitOfWork(now())
    seat = Seat(**new_id_and_time_fields(now()), number=number, until=after(now(), hours=hours), **fields)  # type: ignore[arg-type]
    changes.create(seat)
    changes.commit()
    return seat


def update_seat(seat: Seat, **fields: object) -> Seat:
    changes = UnitOfWork(now())
    updated = changes.update(seat, **fields)
    changes.commit()
    return updated


def load_guard(number: int = 7) -> Item | None:
    return table.get(guard_key(Seat.uniques["by_number"], {"hall": "Royal Institution", "number": number}))


class TestUniqueValue:
    def test_a_value_belongs_to_one_record(self):
        create_parcel("a")
        with pytest.raises(Problem, match="slug_taken") as raised:
            create_parcel("a")
        assert [error.pointer for error in raised.value.errors] == ["/label"]

    def test_a_former_value_is_reserved_for_a_retention_period(self, clock):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update(record, label="b")
        changes.commit()
        load_guard = table.get(guard_key(Parcel.uniques["by_label"], {"label": "a"}))
        assert load_guard is not None
        assert (load_guard["ref"], load_guard["alias"]) == (record.id, True)
        assert abs(load_guard["ttl"] - time.time() - 90 * 86_400) < 5
        with pytest.raises(Problem, match="slug_taken"):
            create_parcel("a")
        clock.shift(days=91)
        assert create_parcel("a").label == "a"

    def test_one_of_several_concurrent_creations_succeeds(self):
        def try_to_create(_: int) -> bool:
            try:
                create_parcel("a")
            except Problem:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(try_to_create, range(8))) == 1


class TestTransferredValue:
    def test_a_value_passes_to_another_record_in_one_transaction(self):
        former = create_parcel("a")
        changes = UnitOfWork(now())
        changes.delete(former)
        successor = changes.create(build_parcel("a"))
        changes.commit()
        stored_guard = table.get(guard_key(Parcel.by_label, successor))
        assert stored_guard is not None
        assert stored_guard["ref"] == successor.id

    def test_a_value_does_not_pass_from_a_record_without_it(self):
        former = create_parcel("a")
        changes = UnitOfWork(now())
        changes.delete(former)
        changes.create(build_parcel("a"))
        key = guard_key(Parcel.by_label, former)
        memory_aws.put_item({"pk": key[0], "sk": key[1], "ref": "somebody else's"})
        with pytest.raises(Problem, match="slug_taken"):
            changes.commit()


class TestExpiringValue:
    def test_a_value_is_free_at_its_expiry_and_not_before(self, clock):
        clock.freeze(TIMESTAMP)
        create_seat(hours=1)
        clock.freeze("2026-11-20T10:30:00.399Z")
        with pytest.raises(Problem, match="already_exists"):
            create_seat()
        clock.freeze("2026-11-20T10:30:00.400Z")
        assert create_seat().number == 7

    def test_a_change_of_the_former_holder_does_not_affect_the_new_one(self, clock):
        former = create_seat(hours=1)
        clock.shift(hours=2)
        current = create_seat()
        update_seat(former, updated_at=now())
        stored_guard = load_guard()
        assert stored_guard is not None
        assert stored_guard["ref"] == current.id

    def test_the_guards_ttl_is_the_second_after_the_expiry(self, clock):
        clock.freeze(TIMESTAMP)
        create_seat(hours=1)
        stored_guard = load_guard()
        assert stored_guard is not None
        assert stored_guard["ttl"] == int(time.time()) + 3601

    def test_a_later_expiry_extends_the_reservation(self, clock):
        clock.freeze(TIMESTAMP)
        seat = create_seat(hours=1)
        clock.shift(minutes=30)
        update_seat(seat, until=after(now(), hours=1))
        clock.shift(minutes=59)
        with pytest.raises(Problem, match="already_exists"):
            create_seat()
        clock.shift(minutes=2)
        assert create_seat().number == 7

    def test_release_by_the_former_holder_does_not_affect_the_new_one(self, clock):
        former = create_seat(hours=1)
        clock.shift(hours=1, seconds=1)
        current = create_seat(hours=1)
        update_seat(former, left=True)
        changes = UnitOfWork(now())
        changes.delete(former.replace(left=True, version=2))
        changes.commit()
        stored_guard = load_guard()
        assert stored_guard is not None
        assert stored_guard["ref"] == current.id

    def test_a_former_holder_cannot_renew_a_value_of_another(self, clock):
        former = create_seat(hours=1)
        clock.shift(hours=1, seconds=1)
        create_seat(hours=1)
        with pytest.raises(Problem, match="already_exists"):
            update_seat(former, until=after(now(), hours=1))


class TestConditionalValue:
    def test_a_value_is_free_when_the_condition_ends(self):
        update_seat(create_seat(), left=True)
        assert load_guard() is None
        assert create_seat().number == 7

    def test_a_value_is_reserved_again_if_it_is_free(self):
        seat = update_seat(create_seat(), left=True)
        seat = update_seat(seat, left=False)
        stored_guard = load_guard()
        assert stored_guard is not None
        assert stored_guard["ref"] == seat.id

    def test_a_value_is_not_reserved_again_if_it_belongs_to_another(self):
        former = update_seat(create_seat(), left=True)
        create_seat()
        with pytest.raises(Problem, match="already_exists"):
            update_seat(former, left=False)

    def test_a_record_that_does_not_meet_the_condition_reserves_nothing(self):
        create_seat(left=True)
        assert load_guard() is None
        assert [item["sk"] for item in memory_aws.all_items()] != ["#"]
