"""Items of older schema versions are read as current records, and stored in the current schema with a change."""

from typing import Any, ClassVar

import pytest

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import schema_versions, table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS, Collection, Entity, Item, Partition
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import memory_aws
from tests.harness.stored_records import committed_changes, new_id_and_time_fields

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


def build_crate(title: str = "x") -> Crate:
    return Crate(**new_id_and_time_fields(now()), shelf_id=SHELF, title=title, grams=1)


def put_version_1(**fields: Any) -> Item:
    """Store a crate of schema version 1 with its former index keys and an attribute of another writer."""
    base_fields = new_id_and_time_fields(now())
    keys = {"pk": f"P#{SHELF}", "sk": base_fields["id"], "facet1pk": f"P#{SHELF}#heavy"}
    own_fields = {"version": 1, "kind": "crate", "shelf_id": SHELF, "label": "Looms", "kilograms": 2}
    item = {**base_fields, **own_fields, **keys, "closing": "mark", **fields}
    memory_aws.put_item({name: value for name, value in item.items() if value is not ...})
    return item


def stored(item):
    return table.get((item["pk"], item["sk"]))


def load(item):
    return Crate.from_item(stored(item))


def update(crate: Crate, **fields: Any) -> None:
    with committed_changes() as changes:
        changes.update(crate, **fields)


def test_every_older_version_is_read_as_current_also_in_a_list():
    first, second, new = put_version_1(), put_version_1(shape=2, grams=5), build_crate()
    memory_aws.put_item(new.item())
    crates = {crate.id: crate for crate in map(Crate.from_item, table.query(f"P#{SHELF}").items)}
    base_fields = {name: first[name] for name in ("id", "created_at", "updated_at")}
    assert crates.pop(first["id"]) == load(first) == Crate(**base_fields, shelf_id=SHELF, title="Looms", grams=2000)
    assert crates.pop(new.id) == new
    assert [(crate.title, crate.grams) for crate in (*crates.values(), load(second))] == [("Looms", 5)] * 2


def test_reading_changes_neither_the_item_nor_the_table():
    item = put_version_1()
    before = dict(item)
    Crate.from_item(item)
    assert item == stored(item) == before


def test_versions_after_the_first_are_stored_and_require_all_upcasters():
    class Box(Entity):
        kind, pk, sk = "box", "P#{id}", "#"

    del KINDS["box"]
    assert "shape" not in Box(**new_id_and_time_fields(now())).item()
    assert build_crate().item()["shape"] == 3
    with pytest.raises(TypeError, match="from each version from 1 to 1"):

        class Incomplete(Entity):
            kind, pk, sk, schema_version = "box", "P#{id}", "#", 2


@pytest.mark.parametrize("fields", [{}, {"shape": 2, "grams": 7, "kilograms": ...}, {"label": ""}])
@pytest.mark.parametrize(
    "changed", [{"sent": True}, {"title": "Mills"}, {"title": "Looms", "sent": True}, {"grams": 2000}]
)
def test_the_first_change_stores_the_current_version(fields, changed):
    item = put_version_1(**fields)
    with committed_changes() as changes:
        updated = changes.update(load(item), touch=True, **changed)
    assert stored(item) == {**updated.item(), "closing": "mark"}
    assert load(item).legacy_item is None
    (listed,) = table.query(Partition(f"P#{SHELF}#T", "index1")).items
    assert listed["title"] == updated.title


def test_a_change_to_equal_values_is_not_written():
    item = put_version_1()
    changes = UnitOfWork(now())
    changes.update(load(item), title="Looms", grams=2000)
    assert changes.is_empty
    assert stored(item) == item


def test_one_of_two_concurrent_changes_of_an_old_item_conflicts():
    item = put_version_1()
    first, second = load(item), load(item)
    with committed_changes() as changes:
        assert changes.update_untracked(first, sent=True).version == 1
    for method, fields in (("update_untracked", {"title": "Mills"}), ("update", {"title": "Mills"}), ("delete", {})):
        with pytest.raises(ConcurrentModification), committed_changes() as changes:
            getattr(changes, method)(second, **fields)
    update(load(item), title="Mills")
    assert (load(item).title, load(item).sent) == ("Mills", True)


def test_a_changed_record_can_be_changed_again():
    item = put_version_1()
    update(load(item).replace(title="Mills"), grams=9)
    assert (load(item).title, load(item).grams, load(item).legacy_item) == ("Mills", 9, None)
    other = put_version_1()
    for grams in (5, 2000):
        with committed_changes() as changes:
            crate = changes.update_untracked(load(other), grams=grams)
        update(crate.replace(sent=True), title=f"{grams}")
    assert (load(other).grams, load(other).title, load(other).version) == (2000, "2000", 3)


def test_an_old_record_can_be_required_and_deleted():
    item, other = put_version_1(), put_version_1()
    with committed_changes() as changes:
        changes.require_unchanged(load(item))
        changes.delete(load(other))
    assert stored(other) is None
