"""A record set is replaced completely or not at all, and each replacement increases its container's version."""

from dataclasses import field
from typing import Any

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS, Container, Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.stored_records import new_id_and_time_fields

pytestmark = pytest.mark.usefixtures("aws")


class Room(Container):
    kind, pk, sk = "room", "R#{id}", "#"

    organization_id: str = "o"
    name: str = "Attic"


class Chair(Entity):
    kind, pk, sk = "room.chair", "R#{room_id}", "C#{label}"

    room_id: str
    label: str
    settings: dict[str, Any] = field(default_factory=dict)


class Chairs(RecordSet):
    kind, max_items, max_bytes, item_key_field = "room.chairs", 3, 400, "label"


for kind in ("room", "room.chair", "room.chairs"):
    del KINDS[kind]


@pytest.fixture
def room() -> Room:
    changes = UnitOfWork(now())
    room = changes.create(Room(**new_id_and_time_fields(now())))
    changes.commit()
    return room


def build_chair(room: Room, label: str, **settings: Any) -> Chair:
    return Chair(**new_id_and_time_fields(now()), room_id=room.id, label=label, settings=settings)


def load_chairs(room: Room) -> list[Chair]:
    return [Chair.from_item(item) for item in table.query_all(f"R#{room.id}", "C#")]


def replacement(room: Room, *chairs: Chair, before: list[Chair] | None = None) -> UnitOfWork:
    changes = UnitOfWork(now())
    changes.replace_set(
        room, load_chairs(room) if before is None else before, chairs, Chairs.from_container_and_records
    )
    return changes


def load_version(room: Room) -> int:
    item = table.get(room.item_key)
    assert item
    return int(item["version"])


def test_a_replacement_keeps_records_that_stay(room):
    first, second = build_chair(room, "a"), build_chair(room, "b")
    replacement(room, first, second).commit()
    room = room.replace(version=load_version(room))
    changes = replacement(room, build_chair(room, "b", soft=True), build_chair(room, "c"))
    changes.commit()
    chairs_by_label = {chair.label: chair for chair in load_chairs(room)}
    assert list(chairs_by_label) == ["b", "c"]
    assert (chairs_by_label["b"].id, chairs_by_label["b"].version, chairs_by_label["b"].settings) == (
        second.id,
        2,
        {"soft": True},
    )
    assert load_version(room) == 3


def test_the_event_describes_the_whole_set(room):
    before, after = replacement(room, build_chair(room, "a")).event_subject_before_and_after
    assert isinstance(before, Chairs)
    assert isinstance(after, Chairs)
    assert (before.id, before.version, before.items) == (room.id, 1, ())
    assert (after.id, after.version, [chair.label for chair in after.items]) == (room.id, 2, ["a"])
    assert (after.audit_log_id, after.audit_log_label) == ("o", "Attic")


def test_a_set_is_compared_item_by_item(room):
    chairs = Chairs.from_container_and_records(room, [])
    public_fields = {"id": room.id, "items": [{"label": "a"}, {"label": "b.c"}]}
    assert chairs.flattened_items_for_diff(public_fields) == {
        "items": ["a", "b.c"],
        "items.a": {"label": "a"},
        "items.b.c": {"label": "b.c"},
    }


def test_an_unchanged_set_is_not_written(room):
    replacement(room, build_chair(room, "a", legs=1)).commit()
    assert replacement(room, build_chair(room, "a", legs=1)).is_empty
    assert not replacement(room, build_chair(room, "a", legs=True)).is_empty  # In Python, 1 == True.


def test_one_of_two_concurrent_replacements_conflicts(room):
    first, second = replacement(room, build_chair(room, "a")), replacement(room, build_chair(room, "b"))
    first.commit()
    with pytest.raises(ConcurrentModification):
        second.commit()
    assert [chair.label for chair in load_chairs(room)] == ["a"]


def test_the_number_and_size_of_items_are_limited(room):
    chairs = [build_chair(room, label) for label in "abc"]
    Chairs.reject_too_many_or_large_records(chairs)
    with pytest.raises(Problem, match="At most 3 chairs are allowed"):
        Chairs.reject_too_many_or_large_records([*chairs, build_chair(room, "d")])
    with pytest.raises(Problem, match="400 are allowed"):
        Chairs.reject_too_many_or_large_records([build_chair(room, "a", text="x" * 400)])
