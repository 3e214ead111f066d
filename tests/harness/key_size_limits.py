"""Refuses keys that DynamoDB refuses and moto takes: longer than 2,048 or 1,024 bytes of UTF-8, or empty."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.awsrequest import AWSResponse

if TYPE_CHECKING:
    from tests.harness.calls import Call

_KEY: Final = re.compile(r"(?:index[0-9]|facet[0-9]|due)?([ps])k")
_MOST_BYTES: Final = {"p": 2048, "s": 1024}
_COMPARED: Final = re.compile(r"(#\w+)(?: = |, | BETWEEN )(:\w+)")


def refusal_of(call: "Call") -> tuple[AWSResponse, dict[str, Any]] | None:
    """Return what DynamoDB answers to a call with a key that no item can have; None if it has none."""
    if not call.name.startswith("dynamodb:"):
        return None
    wrong = next(_faults(call.parameters), None)
    if wrong is None:
        return None
    error = {"Code": "ValidationException", "Message": wrong}
    return AWSResponse("https://dynamodb.invalid/", 400, {}, None), {
        "Error": error,
        "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}},
    }


def _faults(value: Any) -> Iterator[str]:
    """Yield what is wrong with the keys in a call."""
    if isinstance(value, list):
        for each in value:
            yield from _faults(each)
    elif isinstance(value, Mapping):
        yield from (fault for name, asked in _asked(value) for fault in _of_attributes({name: asked}))
        for name, each in value.items():
            if name in ("Key", "Item", "ExclusiveStartKey") and isinstance(each, Mapping):
                yield from _of_attributes(each)
            elif name == "Keys":
                yield from (fault for key in each for fault in _of_attributes(key))
            elif name not in ("ExpressionAttributeValues", "ExpressionAttributeNames"):
                yield from _faults(each)


def _asked(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that an expression sets or looks for, each with a value of it."""
    names, values = value.get("ExpressionAttributeNames", {}), value.get("ExpressionAttributeValues", {})
    for expression in ("KeyConditionExpression", "UpdateExpression"):
        for name, placeholder in _COMPARED.findall(value.get(expression, "")):
            yield names.get(name, name), values.get(placeholder)


def _of_attributes(attributes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in attributes.items():
        if (found := _KEY.fullmatch(name)) and isinstance(value, Mapping) and "S" in value:
            size = len(value["S"].encode())
            if not 0 < size <= _MOST_BYTES[found[1]]:
                yield f"One or more parameter values were invalid: {name} has {size} bytes"
