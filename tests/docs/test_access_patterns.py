"""`docs/reference/access-patterns.md` lists the AWS calls of each operation."""

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from tests.docs.access_patterns import FILE, access_patterns_page
from tests.docs.keys import item_name, partition_template


def test_the_committed_document_equals_the_measured_one(tenant):
    assert access_patterns_page(tenant) == FILE.read_text(), "run `make generate`, and review the changes"


def test_every_operation_has_a_row():
    rows = [line.split("`")[1] for line in FILE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [operation.id for operation in all_operations()]


def test_undocumented_items_and_partitions_raise_lookup_error():
    with pytest.raises(LookupError, match="has no item X#1 / #"):
        item_name("X#1", "#")
    with pytest.raises(LookupError, match="has no partition X#1 of index1"):
        partition_template("index1", "X#1")
