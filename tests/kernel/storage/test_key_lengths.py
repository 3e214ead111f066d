"""Keys that exceed the limits of DynamoDB are never written, and reading them returns nothing."""

import pytest

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.writes import Write
from tests.harness.aws_calls import record_calls

LONGEST_KEY = ("P" * 2048, "S" * 1024)
INVALID_KEYS = [
    *((pk, "S") for pk in ("P" * 2049, "é" * 1025, "", "P\ud800")),
    *(("P", sk) for sk in ("S" * 1025, "é" * 513, "\U0001f4a9" * 257, "")),
]

pytestmark = pytest.mark.usefixtures("aws")


def test_an_item_can_have_the_longest_key():
    table.write_transaction([writes.put_if_absent_write({"pk": LONGEST_KEY[0], "sk": LONGEST_KEY[1], "n": 1})])
    assert table.get(LONGEST_KEY)
    assert table.get_all([LONGEST_KEY, *INVALID_KEYS]).keys() == {LONGEST_KEY}
    assert len(table.query(LONGEST_KEY[0], prefix=LONGEST_KEY[1]).items) == 1


@pytest.mark.parametrize("key", INVALID_KEYS, ids=repr)
def test_an_invalid_key_is_neither_read_nor_written(key):
    with record_calls() as calls:
        assert table.get(key) is None
        assert table.get_all([key]) == {}
        for kind in ("Put", "Update", "Delete", "ConditionCheck"):
            item = {"pk": key[0], "sk": key[1]} if kind == "Put" else None
            with pytest.raises(Problem) as raised:
                table.write_transaction([Write(kind, key, item=item, condition="attribute_exists(#pk)", names=["pk"])])
            assert raised.value.code == "validation_failed"
        index_writes = [writes.put_if_absent_write({"pk": "P", "sk": "S", "index1pk": key[0], "index1sk": key[1]})]
        if key[0] != "P":
            values = {"facet1pk": key[0]}
            index_writes += [Write("Update", ("P", "S"), update="SET #n = :n", names={"n": "facet1pk"}, values=values)]
        for write in index_writes:
            with pytest.raises(Problem):
                table.write_transaction([write])
    assert calls.call_list == []


@pytest.mark.parametrize("partition", ["P" * 2049, "", Partition("P" * 2049, "index1")], ids=str)
def test_an_invalid_partition_is_empty(partition):
    with record_calls() as calls:
        assert table.query(partition).items == []
        assert table.count_items_in_one_read(partition) == 0
        assert table.query("P", prefix="S" * 1025).items == []
    assert calls.call_list == []
