"""Makes moto compare, copy and write the values of items as fast as those of any other dictionary.

Three fifths of the time that these tests take would be moto's: it looks at the kind of each value under up to six names
wherever one is compared, sorts the whole table for each query, parses an expression for each use, and walks through the
model of DynamoDB's ten types for each attribute it writes. What is answered stays the same.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import cache
from typing import Any, Final
from unittest.mock import patch

from botocore.model import StructureShape
from moto.core import responses
from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import ast_nodes, expressions

_PLAIN: Final = frozenset({"S", "B", "BOOL"})
_NESTED: Final = frozenset({"L", "M", "SS", "NS", "BS"})

# What moto has not typed or does not export is taken by its name.
_PARSER: Final[Any] = vars(expressions)["UpdateExpressionParser"]
_TRAVERSER: Final[Any] = vars(ast_nodes)["DepthFirstTraverser"]
_METHODS: Final = "method_names_from_class"

_CAST: Final[Any] = DynamoType.cast_value
_COPY: Final = DynamoType.__deepcopy__
_SIZE: Final = DynamoType.size
_WRITE: Final = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001


@contextmanager
def fast_tables() -> Iterator[None]:
    """Let moto's tables be fast within the block."""
    with ExitStack() as patches:
        for owner, name, fast in (
            (DynamoType, "cast_value", property(_cast)),
            (DynamoType, "__eq__", _equal),
            (DynamoType, "__hash__", _hash),
            (DynamoType, "__deepcopy__", _copied),
            (DynamoType, "size", _size),
            (Table, "all_items", _all_items),
            (_TRAVERSER, "traverse", _traverse),
            (_PARSER, "make", staticmethod(cache(_PARSER.make))),
            (responses, _METHODS, cache(vars(responses)[_METHODS])),
            (BaseJSONSerializer, "_serialize_type_structure", _write),
        ):
            patches.enter_context(patch.object(owner, name, fast))
        yield


def _cast(value: DynamoType) -> Any:
    if value.type in _PLAIN:
        return value.value
    return Decimal(value.value) if value.type == "N" else _CAST.__get__(value)


def _equal(value: DynamoType, other: DynamoType) -> bool:
    if value.type != other.type:
        return False
    return value.value == other.value or (value.type not in _PLAIN and value.cast_value == other.cast_value)


def _hash(value: DynamoType) -> int:
    return hash((value.type, value.cast_value))


def _copied(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    if value.type in _NESTED:
        return _COPY(value, memo)
    copied = DynamoType.__new__(DynamoType)
    copied.type, copied.value = value.type, value.value
    return copied


def _size(value: DynamoType) -> int:
    return len(value.value.encode()) if value.type == "S" else _SIZE(value)


def _all_items(table: Table) -> list[Item]:
    partitions: Any = table.items.values()
    items = [item for partition in partitions for item in partition.values()]
    return sorted(items, key=lambda item: (item.hash_key.value, item.range_key.value))


def _traverse(traverser: Any, node: Any) -> Any:
    kinds = traverser.nodes_to_be_processed()

    def visit(node: Any, place: int = -1) -> Any:
        parent = node.parent
        for i, child in enumerate(node.children or ()):
            traverser.pre_processing_of_child(node, i)
            if hasattr(child, "children"):
                visit(child, i)
        if not _is_one_of(node.__class__, kinds):
            return node
        processed = traverser.process(node)
        processed.parent = parent
        if parent:
            parent.children[place] = processed
        return processed

    return visit(node)


@cache
def _is_one_of(kind: Any, kinds: tuple[Any, ...]) -> bool:
    return issubclass(kind, kinds)


def _write(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str) -> None:
    if shape.name == "AttributeValue":
        serialized[serializer.get_serialized_name(shape, key)] = _on_the_wire(value)
    else:
        _WRITE(serializer, serialized, value, shape, key)


def _on_the_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64encode(content).decode()}
    if kind == "M":
        return {kind: {name: _on_the_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_on_the_wire(element) for element in content]}
    return value
