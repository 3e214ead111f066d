"""Write units by partition key of the table and of its indexes, as DynamoDB calculates them.

DynamoDB throttles a partition key above 1,000 write units a second, however large the table is. A transaction takes two
units for each KB of an item, the larger of its states before and after. An index takes one unit for each KB whenever
an item in it changes. The rules are in `benchmarks/costs/item_sizes.py`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from benchmarks.costs import item_sizes
from infrastructure.resources import INDEX_KEYS
from tests.harness import memory_aws
from tests.harness.aws_calls import Call, Interference, interfere_with_calls

TABLE: Final = ""
"""Stands for the table, where others are the names of indexes."""

PartitionKey = tuple[str, str]
"""The name of an index, or `TABLE`, and the value of the partition key."""

_WRITES: Final = ("dynamodb:UpdateItem", "dynamodb:PutItem", "dynamodb:DeleteItem")


class _UnitCounter(Interference):
    def __init__(self) -> None:
        self.units = Counter[PartitionKey]()
        self._before: list[tuple[tuple[str, str], memory_aws.Item | None, int]] = []

    def before_call(self, call: Call) -> None:
        keys: list[tuple[tuple[str, str], int]] = []
        if call.name == "dynamodb:TransactWriteItems":
            keys = [(_key_of(details), 2) for action in call.parameters["TransactItems"] for details in action.values()]
        elif call.name in _WRITES:
            keys = [(_key_of(call.parameters), 1)]
        self._before = [(key, memory_aws.get_item(*key), factor) for key, factor in keys]

    def after_call(self, call: Call) -> None:
        for key, before, factor in self._before:
            after = memory_aws.get_item(*key)
            size = max(item_sizes.item_size(before), item_sizes.item_size(after))
            self.units[TABLE, key[0]] += factor * item_sizes.write_units(size)
            if before != after:
                self.units.update(_index_units(before, after))
        self._before = []


@contextmanager
def count_write_units() -> Iterator[Counter[PartitionKey]]:
    """Count the write units of the block by partition key. Its calls must not run in parallel."""
    counter = _UnitCounter()
    with interfere_with_calls(counter):
        yield counter.units


def _key_of(details: Mapping[str, Any]) -> tuple[str, str]:
    key = details.get("Key") or details["Item"]
    pk, sk = (each["S"] if isinstance(each, dict) else each for each in (key["pk"], key["sk"]))
    return pk, sk


def _index_units(before: memory_aws.Item | None, after: memory_aws.Item | None) -> Counter[PartitionKey]:
    """Return the units of the indexes for a change. A changed key is a removal and an insertion."""
    units = Counter[PartitionKey]()
    for index, names in INDEX_KEYS.items():
        states = [
            (item, tuple(item[name] for name in names)) for item in (before, after) if item and {*names} <= {*item}
        ]
        changed_key = len({key for _, key in states}) > 1
        for item, key in states if changed_key else states[-1:]:
            size = item_sizes.item_size(item) if changed_key else max(item_sizes.item_size(each) for each, _ in states)
            units[index, key[0]] += item_sizes.write_units(size)
    return units
