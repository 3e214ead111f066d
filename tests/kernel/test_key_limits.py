"""Keys that are longer than the table takes: nothing stands at them, and nothing is put there."""

import pytest

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import ItemKey, Partition
from chalicelib.kernel.storage.writes import Write
from tests.harness.calls import recorded

LONGEST: ItemKey = ("P" * 2048, "S" * 1024)
MISFITS: list[ItemKey] = [
    ("P" * 2049, "S"),
    ("é" * 1025, "S"),
    ("P", "S" * 1025),
    ("P", "é" * 513),
    ("P", "\U0001f4a9" * 257),
    ("", "S"),
    ("P", ""),
    ("P\ud800", "S"),
]

pytestmark = pytest.mark.usefixtures("aws")


def test_an_item_stands_at_the_longest() -> None:
    table.write_transaction([writes.put_new({"pk": LONGEST[0], "sk": LONGEST[1], "n": 1})])
    assert table.get(LONGEST)
    assert table.get_all([LONGEST, *MISFITS]).keys() == {LONGEST}
    assert len(table.query(LONGEST[0], prefix=LONGEST[1]).items) == 1


@pytest.mark.parametrize("key", MISFITS, ids=repr)
class TestAMisfit:
    def test_is_not_looked_for(self, key: ItemKey) -> None:
        with recorded() as calls:
            assert table.get(key) is None
            assert table.get_all([key]) == {}
        assert calls.made == []

    @pytest.mark.parametrize("kind", ["Put", "Update", "Delete", "ConditionCheck"])
    def test_is_not_written(self, key: ItemKey, kind: str) -> None:
        item = {"pk": key[0], "sk": key[1]} if kind == "Put" else None
        with recorded() as calls, pytest.raises(Problem) as refused:
            table.write_transaction([Write(kind, key, item=item, condition="attribute_exists(#pk)", names=["pk"])])  # type: ignore[arg-type]
        assert refused.value.code == "validation_failed"
        assert calls.made == []

    def test_is_no_key_of_an_index_either(self, key: ItemKey) -> None:
        item = {"pk": "P", "sk": "S", "index1pk": key[0], "index1sk": key[1]}
        update = Write("Update", ("P", "S"), update="SET #n = :n", names={"n": "facet1pk"}, values={"facet1pk": key[0]})
        with pytest.raises(Problem):
            table.write_transaction([writes.put_new(item)])
        if key[0] != "P":
            with pytest.raises(Problem):
                table.write_transaction([update])


@pytest.mark.parametrize("where", ["P" * 2049, "", Partition("P" * 2049, "index1")], ids=str)
def test_a_partition_that_can_not_be_is_empty(where: str | Partition) -> None:
    with recorded() as calls:
        assert table.query(where).items == []
        assert table.count_items(where) == 0
        assert table.query("P", prefix="S" * 1025).items == []
    assert calls.made == []
