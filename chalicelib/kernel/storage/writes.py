"""Writes: the actions of a transaction, and a builder of update expressions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import key_lengths
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.item_json import item_to_dynamodb_json, value_to_dynamodb_json

_PLACEHOLDER: Final = re.compile(r"#(\w+)")


@dataclass(frozen=True)
class Write:
    """One action of a transaction. In its expressions `#x` and `:x` stand for the attribute and the value named x.

    `names`: the attribute names used in the expressions, or a mapping from placeholder to attribute name where the two
    differ. A failed condition returns the existing item.
    """

    kind: Literal["Put", "Update", "Delete", "ConditionCheck"]
    key: ItemKey
    item: Item | None = None
    update: str = ""
    condition: str = ""
    names: Sequence[str] | Mapping[str, str] = ()
    values: Mapping[str, Any] | None = None

    def to_transact_action(self) -> dict[str, Any]:
        """Return the action for TransactWriteItems. Raises Problem `validation_failed` if a key is too long."""
        key_lengths.reject_too_long_keys({**(self.item or {}), **(self.values or {})})
        action: dict[str, Any] = {"TableName": settings().table_name}
        if self.kind == "Put":
            action["Item"] = item_to_dynamodb_json(self.item or {})
        else:
            action["Key"] = key_to_dynamodb_json(self.key)
        if self.update:
            action["UpdateExpression"] = self.update
        if self.condition:
            action["ConditionExpression"] = self.condition
            action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.names:
            attributes = self.names if isinstance(self.names, Mapping) else {name: name for name in self.names}
            action["ExpressionAttributeNames"] = {f"#{name}": attribute for name, attribute in attributes.items()}
        if self.values:
            action["ExpressionAttributeValues"] = {
                f":{name}": value_to_dynamodb_json(v) for name, v in self.values.items()
            }
        return {self.kind: action}


def put_if_absent_write(item: Item) -> Write:
    """Return a write that puts an item, on condition that its key is not in use."""
    return Write("Put", (item["pk"], item["sk"]), item=item, condition="attribute_not_exists(#pk)", names=["pk"])


@dataclass(frozen=True)
class ItemUpdate:
    """A change of some attributes of an item. A missing item is created.

    `set` assigns values, `set_missing` only to attributes that the item lacks. `increment` adds to numbers, and counts
    a missing one as 0. `add` adds members to sets, or an amount to a number; `discard` removes members from sets.
    `remove` removes attributes.
    """

    key: ItemKey
    set: Mapping[str, Any] = field(default_factory=dict)
    set_missing: Mapping[str, Any] = field(default_factory=dict)
    increment: Mapping[str, int] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)
    discard: Mapping[str, frozenset[str]] = field(default_factory=dict)
    remove: Sequence[str] = ()

    def to_write(self, condition: str = "", **values: Any) -> Write:
        """Return the write. In the condition `#x` stands for the attribute x, and `:x` for the value with that name."""
        changed = {**self.set, **self.set_missing, **self.increment, **self.add, **self.discard}
        attributes = [*dict.fromkeys([*changed, *self.remove])]
        # A placeholder has only letters, digits and underscores, which the names of attributes need not have.
        names = {f"a{number}": attribute for number, attribute in enumerate(attributes)}
        values_by_placeholder = {name: changed[attribute] for name, attribute in names.items() if attribute in changed}
        placeholders = {attribute: name for name, attribute in names.items()}
        zero = {"zero": 0} if self.increment else {}
        return Write(
            "Update",
            self.key,
            update=" ".join(self._iter_update_clauses(placeholders)),
            condition=condition,
            names=names | {name: name for name in _PLACEHOLDER.findall(condition)},
            values={**values_by_placeholder, **zero, **values},
        )

    def _iter_update_clauses(self, placeholder_by_attribute: Mapping[str, str]) -> Iterator[str]:
        of = placeholder_by_attribute
        assignments = [
            *(f"#{of[name]} = :{of[name]}" for name in self.set),
            *(f"#{of[name]} = if_not_exists(#{of[name]}, :{of[name]})" for name in self.set_missing),
            *(f"#{of[name]} = if_not_exists(#{of[name]}, :zero) + :{of[name]}" for name in self.increment),
        ]
        clauses = {
            "SET": assignments,
            "ADD": [f"#{of[name]} :{of[name]}" for name in self.add],
            "DELETE": [f"#{of[name]} :{of[name]}" for name in self.discard],
            "REMOVE": [f"#{of[name]}" for name in self.remove],
        }
        return (f"{keyword} {', '.join(actions)}" for keyword, actions in clauses.items() if actions)


def key_to_dynamodb_json(key: ItemKey) -> dict[str, Any]:
    """Return an item key for DynamoDB. Raises Problem `validation_failed` if it is too long."""
    key_lengths.reject_too_long_keys({"pk": key[0], "sk": key[1]})
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}
