"""Evaluates update expressions that only set and remove attributes, as most do, without moto's passes over their tree.

moto evaluates all other expressions, and those that DynamoDB would reject.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from moto.dynamodb import models
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import expressions

MAX_ITEM_BYTES: Final = 405_000  # moto's limit

_PARSER: Final[Any] = vars(expressions)["UpdateExpressionParser"]
_PARSE: Final[Any] = _PARSER.make
_VALIDATOR: Final[Any] = vars(models)["UpdateExpressionValidator"]
_EXECUTOR: Final[Any] = vars(models)["UpdateExpressionExecutor"]
_ASSIGNMENT: Final = re.compile(r"(#\w+) = (:\w+)")
_ONLY_ASSIGNMENTS: Final = re.compile(r"(?:SET (#\w+ = :\w+(?:, #\w+ = :\w+)*))?(?:(?:^| )REMOVE (#\w+(?:, #\w+)*))?")


@dataclass(frozen=True)
class Assignments:
    """The placeholders of attributes that are set or removed, and those of the values."""

    set: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]

    @classmethod
    def parse_or_none(cls, expression: str) -> "Assignments | None":
        """Parse an expression. Returns None if it contains more than assignments."""
        found = _ONLY_ASSIGNMENTS.fullmatch(expression)
        return found and cls(
            tuple(_ASSIGNMENT.findall(found[1] or "")), tuple(found[2].split(", ") if found[2] else ())
        )

    def are_valid(self, names: Mapping[str, str], values: Mapping[str, Any], table: Table) -> bool:
        """Tell whether all placeholders are defined, and the attributes are different ones and not the item's key."""
        used = [*(name for name, _ in self.set), *self.removed]
        attributes = {names.get(name) for name in used}
        return (
            len(attributes) == len(used)
            and attributes.isdisjoint((None, *table.table_key_attrs))
            and all(value in values for _, value in self.set)
        )


@dataclass(frozen=True)
class _Update:
    """Assignments to an item. It takes the place of moto's validator, of its result and of the executor."""

    assignments: Assignments
    names: Mapping[str, str]
    values: Mapping[str, Any]
    item: Item

    def validate(self) -> "_Update":
        return self

    def normalize(self) -> None:
        """Do nothing: assignments need no order."""

    def execute(self) -> None:
        attributes = self.item.attrs
        for name, value in self.assignments.set:
            dict.__setitem__(attributes, self.names[name], DynamoType(self.values[value]))
        for name in self.assignments.removed:
            attributes.pop(self.names[name], None)
        if self.item.size() > MAX_ITEM_BYTES:
            raise ItemSizeTooLarge


def patches() -> tuple[tuple[Any, str, Any], ...]:
    """Return the patches: the owner, the name and the replacement of each."""
    return (
        (_PARSER, "make", staticmethod(_parse)),
        (models, "UpdateExpressionValidator", _create_validator),
        (models, "UpdateExpressionExecutor", _create_executor),
    )


@dataclass(frozen=True)
class _ParsedUpdate:
    """An expression's tree, and its assignments if it contains nothing else."""

    tree: Any
    assignments: Assignments | None
    find_clauses: Callable[[list[type]], Any]


@cache
def _parse(expression: str) -> _ParsedUpdate:
    tree = _PARSE(expression)
    find_clauses = cache(lambda *kinds: tree.find_clauses(kinds))
    return _ParsedUpdate(tree, Assignments.parse_or_none(expression), lambda kinds: find_clauses(*kinds))


def _create_validator(
    update: _ParsedUpdate,
    expression_attribute_names: dict[str, str],
    expression_attribute_values: dict[str, Any],
    item: Item,
    table: Table,
) -> Any:
    names, values = expression_attribute_names or {}, expression_attribute_values or {}
    if update.assignments and update.assignments.are_valid(names, values, table):
        return _Update(update.assignments, names, values, item)
    return _VALIDATOR(update.tree, expression_attribute_names, expression_attribute_values, item, table)


def _create_executor(update: Any, item: Item, names: dict[str, str]) -> Any:
    return update if isinstance(update, _Update) else _EXECUTOR(update, item, names)
