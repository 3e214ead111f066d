"""Records of a shape that fields had before: read as they would be today, and stored so when they change."""

from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import schema_versions, table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS, Collection, Entity, Item, Partition
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import cloud
from tests.harness.stored_records import beginning

pytestmark = pytest.mark.usefixtures("aws")
SHELF = "01939d3c-0000-7000-8000-00000000000b"


def _in_grams(item: Item) -> Item:
    return {"grams": item.pop("kilograms") * 1000, **item}


def _with_a_title(item: Item) -> Item:
    return {"title": item.pop("label", None) or "Untitled", **item}


class Crate(Entity):
    """Was weighed in kilograms, and then called by a label, which its list was by."""

    kind, pk, sk = "crate", "P#{shelf_id}", "{id}"
    by_title = Collection("P#{shelf_id}#T", "{title}", index="index1")
    by_grams = Collection("P#{shelf_id}#G", "{grams:09d}", index="index2")
    version_fields = ("version", "grams")
    schema_version = 3
    upcasters: ClassVar[schema_versions.Upcasts] = {1: _in_grams, 2: _with_a_title}

    shelf_id: str
    title: str
    grams: int
    sent: bool = False


del KINDS["crate"]


def old(**fields: Any) -> Item:
    """Put a crate as the first shape had it, in the index of that shape, with a mark of somebody else's."""
    begun = beginning(now())
    item = {
        **begun,
        "version": 1,
        "kind": "crate",
        "shelf_id": SHELF,
        "label": "Looms",
        "kilograms": 2,
        "pk": f"P#{SHELF}",
        "sk": begun["id"],
        "facet1pk": f"P#{SHELF}#heavy",
        "closing": "mark",
        **fields,
    }
    cloud.put(item)
    return item


def read(item: Item) -> Crate:
    return Crate.from_item(table.get((item["pk"], item["sk"])) or {})


def update(crate: Crate, **fields: Any) -> None:
    changes = UnitOfWork(now())
    changes.update(crate, **fields)
    changes.commit()


class TestReading:
    def test_every_older_shape_is_read_as_it_would_be_today(self) -> None:
        first, second = old(), old(shape=2, grams=5)
        assert (read(first).title, read(first).grams) == ("Looms", 2000)
        assert (read(second).title, read(second).grams) == ("Looms", 5)

    def test_a_list_holds_all_of_them_and_what_is_read_says_the_same_whatever_it_was_read_from(self) -> None:
        first = old()
        new = Crate(**beginning(now()), shelf_id=SHELF, title="New", grams=1)
        cloud.put(new.item())
        crates = {crate.id: crate for crate in map(Crate.from_item, table.query(f"P#{SHELF}").items)}
        begun = {name: first[name] for name in ("id", "created_at", "updated_at")}
        assert crates == {first["id"]: Crate(**begun, shelf_id=SHELF, title="Looms", grams=2000), new.id: new}

    def test_reading_changes_nothing_and_the_upcast_gets_an_item_of_its_own(self) -> None:
        item = old()
        before = dict(item)
        Crate.from_item(item)
        assert item == before
        assert table.get((item["pk"], item["sk"])) == before

    def test_a_newer_shape_is_not_misread(self) -> None:
        item = old(shape=4, title="Looms", grams=2)
        with pytest.raises(Problem, match="unavailable"):
            read(item)

    def test_only_a_shape_above_the_first_is_stored(self) -> None:
        class Box(Entity):
            kind, pk, sk = "box", "P#{id}", "#"

        del KINDS["box"]
        assert "shape" not in Box(**beginning(now())).item()
        assert Crate(**beginning(now()), shelf_id=SHELF, title="x", grams=1).item()["shape"] == 3

    def test_an_entity_without_a_way_from_every_older_shape_is_a_mistake(self) -> None:
        with pytest.raises(TypeError, match="from each of 1 to 1"):

            class Box(Entity):
                kind, pk, sk, schema_version = "box", "P#{id}", "#", 2


class TestChanging:
    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.sampled_from([{}, {"shape": 2, "grams": 7}, {"label": ""}]),
        st.sampled_from([{"sent": True}, {"title": "Mills"}, {"title": "Looms", "sent": True}, {"grams": 2000}]),
    )
    def test_the_first_change_stores_it_wholly_in_todays_shape(self, stored: Item, changed: dict[str, Any]) -> None:
        item = old(**stored)
        if stored.get("shape") == 2:
            del item["kilograms"]
            cloud.put(item)
        changes = UnitOfWork(now())
        made = changes.bump_version(read(item), **changed)
        changes.commit()
        assert table.get(made.item_key) == {**made.item(), "closing": "mark"}
        assert read(item).legacy_item is None

    def test_its_index_keys_are_those_of_today(self) -> None:
        item = old()
        update(read(item), sent=True)
        stored = table.get((item["pk"], item["sk"])) or {}
        assert "facet1pk" not in stored
        (listed,) = table.query(Partition(f"P#{SHELF}#T", "index1")).items
        assert listed["title"] == "Looms"

    def test_what_changes_nothing_leaves_it_as_it_is(self) -> None:
        item = old()
        changes = UnitOfWork(now())
        changes.update(read(item), title="Looms", grams=2000)
        assert changes.is_empty
        assert table.get((item["pk"], item["sk"])) == item

    def test_of_two_who_read_the_old_one_the_second_decides_again(self) -> None:
        item = old()
        first, second = read(item), read(item)
        changes = UnitOfWork(now())
        settled = changes.update_untracked(first, sent=True)
        changes.commit()
        assert settled.version == 1
        for change in ("update_untracked", "update", "delete"):
            changes = UnitOfWork(now())
            getattr(changes, change)(second, **({} if change == "delete" else {"title": "Mills"}))
            with pytest.raises(ConcurrentModification):
                changes.commit()
        update(read(item), title="Mills")
        assert (read(item).title, read(item).sent) == ("Mills", True)

    def test_what_is_made_of_it_before_it_changes_is_written_as_well(self) -> None:
        item = old()
        update(read(item).replace(title="Mills"), grams=9)
        assert (read(item).title, read(item).grams, read(item).legacy_item) == ("Mills", 9, None)

    def test_it_goes_on_from_what_it_became(self) -> None:
        item = old()
        for grams in (5, 2000):
            changes = UnitOfWork(now())
            crate = changes.update_untracked(read(item), grams=grams)
            changes.commit()
            update(crate.replace(sent=True), title=f"{grams}")
        assert (read(item).grams, read(item).title, read(item).version) == (2000, "2000", 3)

    def test_it_can_be_required_and_removed(self) -> None:
        item, other = old(), old()
        changes = UnitOfWork(now())
        changes.require_unchanged(read(item))
        changes.delete(read(other))
        changes.commit()
        assert table.get((other["pk"], other["sk"])) is None
