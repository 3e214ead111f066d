"""Conversion between items and DynamoDB's JSON."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from chalicelib.kernel.storage.entity import Item


def item_to_dynamodb_json(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item in DynamoDB's JSON."""
    return {name: value_to_dynamodb_json(value) for name, value in item.items()}


def value_to_dynamodb_json(value: Any) -> dict[str, Any]:  # noqa: PLR0911 - one return per type
    """Return a value in DynamoDB's JSON."""
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": repr(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, Mapping):
        return {"M": item_to_dynamodb_json(value)}
    if isinstance(value, frozenset):
        return {"SS": sorted(value)}
    return {"L": [value_to_dynamodb_json(element) for element in value]}


def item_from_dynamodb_json(item: Mapping[str, Any]) -> Item:
    """Return an item from DynamoDB's JSON as str, int, float, bool, None, bytes, list, dict and frozenset."""
    return {name: _value_from_dynamodb_json(value) for name, value in item.items()}


def _value_from_dynamodb_json(value: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one return per type
    ((tag, content),) = value.items()
    match tag:
        case "S" | "BOOL":
            return content
        case "B":  # Base64 as sent, unless botocore has decoded it.
            return content if isinstance(content, bytes) else b64decode(content)
        case "N":
            return int(content) if content.lstrip("-").isdigit() else float(content)
        case "M":
            return item_from_dynamodb_json(content)
        case "L":
            return [_value_from_dynamodb_json(element) for element in content]
        case "SS":
            return frozenset(content)
    return None
