"""A record set is replaced as a whole. Conflicts, limits and differences are tested over HTTP."""

from dataclasses import field
from typing import Any

import pytest

from chalicelib.features.platforms.logic.record_set_replacement import replace_record_set
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import KINDS, Container, Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields

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
    kind, item_key_field = "room.chairs", "label"


for kind in ("room", "room.chair", "room.chairs"):
    del KINDS[kind]


@pytest.fixture
def room():
    with committed_changes() as changes:
        return changes.create(Room(**new_id_and_time_fields(now())))


def build_chair(room: Room, label: str, **settings: Any) -> Chair:
    return Chair(**new_id_and_time_fields(now()), room_id=room.id, label=label, settings=settings)


def load_chairs(room):
    return [Chair.from_item(item) for item in table.query_all(f"R#{room.id}", "C#")]


def replacement(room: Room, *chairs: Chair) -> UnitOfWork:
    changes = UnitOfWork(now())
    replace_record_set(changes, room, load_chairs(room), chairs, Chairs.from_container_and_records)
    return changes


def test_a_replacement_keeps_records_that_stay(room):
    first, second = build_chair(room, "a"), build_chair(room, "b")
    replacement(room, first, second).commit()
    room = Room.from_item(load_item(room.item_key))
    replacement(room, build_chair(room, "b", soft=True), build_chair(room, "c")).commit()
    kept, added = load_chairs(room)
    assert (kept.id, kept.label, kept.version, kept.settings) == (second.id, "b", 2, {"soft": True})
    assert added.label == "c"
    assert load_item(room.item_key)["version"] == 3


def test_an_unchanged_set_is_not_written(room):
    replacement(room, build_chair(room, "a", legs=1)).commit()
    assert replacement(room, build_chair(room, "a", legs=1)).is_empty
    assert not replacement(room, build_chair(room, "a", legs=True)).is_empty  # In Python, 1 == True.
