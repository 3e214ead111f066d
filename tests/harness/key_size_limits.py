"""Rejects keys that moto accepts and DynamoDB rejects: longer than 2,048 or 1,024 bytes of UTF-8, or empty."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.awsrequest import AWSResponse

if TYPE_CHECKING:
    from tests.harness.aws_calls import Call

_KEY: Final = re.compile(r"(?:index[0-9]|facet[0-9]|due)?([ps])k")
_MAX_BYTES: Final = {"p": 2048, "s": 1024}
_COMPARISON: Final = re.compile(r"(#\w+)(?: = |, | BETWEEN )(:\w+)")


def key_size_error(call: "Call") -> tuple[AWSResponse, dict[str, Any]] | None:
    """Return DynamoDB's error response to a call with an invalid key, or None if all keys are valid."""
    if not call.name.startswith("dynamodb:"):
        return None
    message = next(_errors(call.parameters), None)
    if message is None:
        return None
    error = {"Code": "ValidationException", "Message": message}
    return AWSResponse("https://dynamodb.invalid/", 400, {}, None), {
        "Error": error,
        "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}},
    }


def _errors(value: Any) -> Iterator[str]:
    """Yield the errors of the keys in the parameters of a call."""
    if isinstance(value, list):
        for each in value:
            yield from _errors(each)
    elif isinstance(value, Mapping):
        yield from (
            error_message
            for name, attribute_value in _expression_attributes(value)
            for error_message in _attribute_errors({name: attribute_value})
        )
        for name, each in value.items():
            if name in ("Key", "Item", "ExclusiveStartKey") and isinstance(each, Mapping):
                yield from _attribute_errors(each)
            elif name == "Keys":
                yield from (error_message for key in each for error_message in _attribute_errors(key))
            elif name not in ("ExpressionAttributeValues", "ExpressionAttributeNames"):
                yield from _errors(each)


def _expression_attributes(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that expressions set or compare, each with a value."""
    names, values = value.get("ExpressionAttributeNames", {}), value.get("ExpressionAttributeValues", {})
    for expression in ("KeyConditionExpression", "UpdateExpression"):
        for name, placeholder in _COMPARISON.findall(value.get(expression, "")):
            yield names.get(name, name), values.get(placeholder)


def _attribute_errors(attributes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in attributes.items():
        if (match := _KEY.fullmatch(name)) and isinstance(value, Mapping) and "S" in value:
            size = len(value["S"].encode())
            if not 0 < size <= _MAX_BYTES[match[1]]:
                yield f"One or more parameter values were invalid: {name} has {size} bytes"
