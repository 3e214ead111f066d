"""Unique values are reserved by guards: permanently, for a retention period, until a time, or during a state."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, Entity
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import memory_aws
from tests.harness.sample_entity import Parcel, build_parcel, create_parcel
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields

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


def create_seat(*, left: bool = False) -> Seat:
    """Store a seat that is reserved for an hour."""
    with committed_changes() as changes:
        seat = Seat(**new_id_and_time_fields(now()), number=7, until=after(now(), hours=1), left=left)
        changes.create(seat)
    return seat


def update_seat(seat: Seat, **fields: Any) -> Seat:
    with committed_changes() as changes:
        return changes.update(seat, **fields)


def load_guard():
    return table.get(guard_key(Seat.uniques["by_number"], {"hall": "Royal Institution", "number": 7}))


def assert_taken(field, reserve):
    with pytest.raises(Problem, match={"label": "slug_taken", "number": "already_exists"}[field]) as raised:
        reserve()
    assert [error.pointer for error in raised.value.errors] == [f"/{field}"]


def test_a_former_value_is_reserved_for_a_retention_period(clock):
    record = create_parcel("a")
    assert_taken("label", create_parcel)
    with committed_changes() as changes:
        changes.update(record, label="b")
    guard = load_item(guard_key(Parcel.uniques["by_label"], {"label": "a"}))
    assert (guard["ref"], guard["alias"]) == (record.id, True)
    assert abs(guard["ttl"] - time.time() - 90 * 86_400) < 5
    assert_taken("label", create_parcel)
    clock.shift(days=91)
    assert create_parcel().label == "a"


def test_one_of_several_concurrent_creations_succeeds():
    def can_create(_: int) -> bool:
        try:
            create_parcel("a")
        except Problem:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(can_create, range(8))) == 1


def test_a_value_passes_to_another_record_in_one_transaction():
    former = create_parcel("a")
    with committed_changes() as changes:
        changes.delete(former)
        successor = changes.create(build_parcel("a"))
    assert load_item(guard_key(Parcel.by_label, successor))["ref"] == successor.id


def test_a_value_does_not_pass_from_a_record_without_it():
    former, changes = create_parcel("a"), UnitOfWork(now())
    changes.delete(former)
    changes.create(build_parcel("a"))
    key = guard_key(Parcel.by_label, former)
    memory_aws.put_item({"pk": key[0], "sk": key[1], "ref": "somebody else's"})
    assert_taken("label", changes.commit)


def test_a_value_is_free_at_its_expiry_and_not_before(clock):
    clock.freeze(TIMESTAMP)
    create_seat()
    assert load_guard()["ttl"] == int(time.time()) + 3601, "the second after the expiry"
    clock.freeze("2026-11-20T10:30:00.399Z")
    assert_taken("number", create_seat)
    clock.freeze("2026-11-20T10:30:00.400Z")
    assert create_seat().number == 7


def test_a_later_expiry_extends_the_reservation(clock):
    clock.freeze(TIMESTAMP)
    seat = create_seat()
    clock.shift(minutes=30)
    update_seat(seat, until=after(now(), hours=1))
    clock.shift(minutes=59)
    assert_taken("number", create_seat)
    clock.shift(minutes=2)
    assert create_seat().number == 7


def test_the_former_holder_cannot_change_release_or_renew_the_value_of_another(clock):
    former = create_seat()
    clock.shift(hours=1, seconds=1)
    current = create_seat()
    assert_taken("number", lambda: update_seat(former, until=after(now(), hours=1)))
    former = update_seat(former, updated_at=now())
    assert load_guard()["ref"] == current.id
    former = update_seat(former, left=True)
    assert load_guard()["ref"] == current.id
    with committed_changes() as changes:
        changes.delete(former)
    assert load_guard()["ref"] == current.id


def test_a_value_is_free_when_the_condition_ends_and_reserved_again_if_it_is_free():
    former = update_seat(create_seat(), left=True)
    assert load_guard() is None
    seat = update_seat(former, left=False)
    assert load_guard()["ref"] == seat.id
    former = update_seat(seat, left=True)
    assert create_seat().number == 7
    assert_taken("number", lambda: update_seat(former, left=False))


def test_a_record_that_does_not_meet_the_condition_reserves_nothing():
    seat = create_seat(left=True)
    assert load_guard() is None
    assert [item["sk"] for item in memory_aws.all_items()] == [seat.id]
