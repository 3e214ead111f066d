"""Sets of records: replaced as a whole or not at all, each time with another version of the place they are in."""

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
from tests.harness.stored_records import beginning

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
    room = changes.create(Room(**beginning(now())))
    changes.commit()
    return room


def chair(room: Room, label: str, **settings: Any) -> Chair:
    return Chair(**beginning(now()), room_id=room.id, label=label, settings=settings)


def present(room: Room) -> list[Chair]:
    return [Chair.from_item(item) for item in table.query_all(f"R#{room.id}", "C#")]


def replaced(room: Room, *wanted: Chair, before: list[Chair] | None = None) -> UnitOfWork:
    changes = UnitOfWork(now())
    changes.replace_set(room, present(room) if before is None else before, wanted, Chairs.create)
    return changes


def version(room: Room) -> int:
    item = table.get(room.item_key)
    assert item
    return int(item["version"])


def test_a_set_becomes_what_is_wanted_and_what_stays_stays_the_same_record(room: Room) -> None:
    first, second = chair(room, "a"), chair(room, "b")
    replaced(room, first, second).commit()
    room = room.replace(version=version(room))
    changes = replaced(room, chair(room, "b", soft=True), chair(room, "c"))
    changes.commit()
    kept = {each.label: each for each in present(room)}
    assert list(kept) == ["b", "c"]
    assert (kept["b"].id, kept["b"].version, kept["b"].settings) == (second.id, 2, {"soft": True})
    assert version(room) == 3


def test_the_entry_is_about_the_whole_of_it(room: Room) -> None:
    before, after = replaced(room, chair(room, "a")).event_subject
    assert isinstance(before, Chairs)
    assert isinstance(after, Chairs)
    assert (before.id, before.version, before.items) == (room.id, 1, ())
    assert (after.id, after.version, [each.label for each in after.items]) == (room.id, 2, ["a"])
    assert (after.log, after.log_label) == ("o", "Attic")


def test_the_whole_is_told_item_by_item(room: Room) -> None:
    whole = Chairs.create(room, [])
    shown = {"id": room.id, "items": [{"label": "a"}, {"label": "b.c"}]}
    assert whole.diffable(shown) == {
        "items": ["a", "b.c"],
        "items.a": {"label": "a"},
        "items.b.c": {"label": "b.c"},
    }


def test_a_set_that_is_as_wanted_changes_nothing(room: Room) -> None:
    replaced(room, chair(room, "a", legs=1)).commit()
    assert replaced(room, chair(room, "a", legs=1)).is_empty
    assert not replaced(room, chair(room, "a", legs=True)).is_empty  # To Python, 1 is true.


def test_of_two_who_replace_it_at_once_one_does_it_again(room: Room) -> None:
    one, other = replaced(room, chair(room, "a")), replaced(room, chair(room, "b"))
    one.commit()
    with pytest.raises(ConcurrentModification):
        other.commit()
    assert [each.label for each in present(room)] == ["a"]


def test_it_holds_so_many_and_so_much(room: Room) -> None:
    labels = [chair(room, label) for label in "abc"]
    Chairs.check_size(labels)
    with pytest.raises(Problem, match="At most 3 chairs are allowed"):
        Chairs.check_size([*labels, chair(room, "d")])
    with pytest.raises(Problem, match="400 are allowed"):
        Chairs.check_size([chair(room, "a", text="x" * 400)])
