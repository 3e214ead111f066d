"""Items of older schema versions are read as current records, and stored in the current schema with a change."""

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
from tests.harness import memory_aws
from tests.harness.stored_records import new_id_and_time_fields

pytestmark = pytest.mark.usefixtures("aws")
SHELF = "01939d3c-0000-7000-8000-00000000000b"


def _convert_to_grams(item: Item) -> Item:
    return {"grams": item.pop("kilograms") * 1000, **item}


def _rename_label_to_title(item: Item) -> Item:
    return {"title": item.pop("label", None) or "Untitled", **item}


class Crate(Entity):
    """A record whose weight was in kilograms in version 1, and whose title was called label until version 2."""

    kind, pk, sk = "crate", "P#{shelf_id}", "{id}"
    by_title = Collection("P#{shelf_id}#T", "{title}", index="index1")
    by_grams = Collection("P#{shelf_id}#G", "{grams:09d}", index="index2")
    version_fields = ("version", "grams")
    schema_version = 3
    upcasters: ClassVar[schema_versions.Upcasters] = {1: _convert_to_grams, 2: _rename_label_to_title}

    shelf_id: str
    title: str
    grams: int
    sent: bool = False


del KINDS["crate"]


def put_version_1(**fields: Any) -> Item:
    """Store a crate of schema version 1 with its former index keys and an attribute of another writer."""
    base_fields = new_id_and_time_fields(now())
    item = {
        **base_fields,
        "version": 1,
        "kind": "crate",
        "shelf_id": SHELF,
        "label": "Looms",
        "kilograms": 2,
        "pk": f"P#{SHELF}",
        "sk": base_fields["id"],
        "facet1pk": f"P#{SHELF}#heavy",
        "closing": "mark",
        **fields,
    }
    memory_aws.put_item(item)
    return item


def load(item: Item) -> Crate:
    return Crate.from_item(table.get((item["pk"], item["sk"])) or {})


def update(crate: Crate, **fields: Any) -> None:
    changes = UnitOfWork(now())
    changes.update(crate, **fields)
    changes.commit()


class TestReading:
    def test_every_older_version_is_read_as_current(self):
        first, second = put_version_1(), put_version_1(shape=2, grams=5)
        assert (load(first).title, load(first).grams) == ("Looms", 2000)
        assert (load(second).title, load(second).grams) == ("Looms", 5)

    def test_a_list_contains_records_of_all_versions(self):
        first = put_version_1()
        new = Crate(**new_id_and_time_fields(now()), shelf_id=SHELF, title="New", grams=1)
        memory_aws.put_item(new.item())
        crates = {crate.id: crate for crate in map(Crate.from_item, table.query(f"P#{SHELF}").items)}
        base_fields = {name: first[name] for name in ("id", "created_at", "updated_at")}
        assert crates == {first["id"]: Crate(**base_fields, shelf_id=SHELF, title="Looms", grams=2000), new.id: new}

    def test_reading_changes_neither_the_item_nor_the_table(self):
        item = put_version_1()
        before = dict(item)
        Crate.from_item(item)
        assert item == before
        assert table.get((item["pk"], item["sk"])) == before

    def test_a_newer_version_is_not_misread(self):
        item = put_version_1(shape=4, title="Looms", grams=2)
        with pytest.raises(Problem, match="unavailable"):
            load(item)

    def test_the_first_version_is_not_stored(self):
        class Box(Entity):
            kind, pk, sk = "box", "P#{id}", "#"

        del KINDS["box"]
        assert "shape" not in Box(**new_id_and_time_fields(now())).item()
        assert Crate(**new_id_and_time_fields(now()), shelf_id=SHELF, title="x", grams=1).item()["shape"] == 3

    def test_an_entity_without_all_upcasters_is_an_error(self):
        with pytest.raises(TypeError, match="from each version from 1 to 1"):

            class Box(Entity):
                kind, pk, sk, schema_version = "box", "P#{id}", "#", 2


class TestWriting:
    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.sampled_from([{}, {"shape": 2, "grams": 7}, {"label": ""}]),
        st.sampled_from([{"sent": True}, {"title": "Mills"}, {"title": "Looms", "sent": True}, {"grams": 2000}]),
    )
    def test_the_first_change_stores_the_current_version(self, item_fields, changed):
        item = put_version_1(**item_fields)
        if item_fields.get("shape") == 2:
            del item["kilograms"]
            memory_aws.put_item(item)
        changes = UnitOfWork(now())
        updated = changes.bump_version(load(item), **changed)
        changes.commit()
        assert table.get(updated.item_key) == {**updated.item(), "closing": "mark"}
        assert load(item).legacy_item is None

    def test_index_keys_are_those_of_the_current_version(self):
        item = put_version_1()
        update(load(item), sent=True)
        item_fields = table.get((item["pk"], item["sk"])) or {}
        assert "facet1pk" not in item_fields
        (listed,) = table.query(Partition(f"P#{SHELF}#T", "index1")).items
        assert listed["title"] == "Looms"

    def test_a_change_to_equal_values_is_not_written(self):
        item = put_version_1()
        changes = UnitOfWork(now())
        changes.update(load(item), title="Looms", grams=2000)
        assert changes.is_empty
        assert table.get((item["pk"], item["sk"])) == item

    def test_one_of_two_concurrent_changes_of_an_old_item_conflicts(self):
        item = put_version_1()
        first, second = load(item), load(item)
        changes = UnitOfWork(now())
        updated = changes.update_untracked(first, sent=True)
        changes.commit()
        assert updated.version == 1
        for method in ("update_untracked", "update", "delete"):
            changes = UnitOfWork(now())
            getattr(changes, method)(second, **({} if method == "delete" else {"title": "Mills"}))
            with pytest.raises(ConcurrentModification):
                changes.commit()
        update(load(item), title="Mills")
        assert (load(item).title, load(item).sent) == ("Mills", True)

    def test_replaced_fields_of_an_old_record_are_written_with_the_next_change(self):
        item = put_version_1()
        update(load(item).replace(title="Mills"), grams=9)
        assert (load(item).title, load(item).grams, load(item).legacy_item) == ("Mills", 9, None)

    def test_a_changed_record_can_be_changed_again(self):
        item = put_version_1()
        for grams in (5, 2000):
            changes = UnitOfWork(now())
            crate = changes.update_untracked(load(item), grams=grams)
            changes.commit()
            update(crate.replace(sent=True), title=f"{grams}")
        assert (load(item).grams, load(item).title, load(item).version) == (2000, "2000", 3)

    def test_an_old_record_can_be_required_and_deleted(self):
        item, other = put_version_1(), put_version_1()
        changes = UnitOfWork(now())
        changes.require_unchanged(load(item))
        changes.delete(load(other))
        changes.commit()
        assert table.get((other["pk"], other["sk"])) is None
