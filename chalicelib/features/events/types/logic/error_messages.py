"""The messages about data that does not match a keyword of a schema. They quote the schema, never the data."""

import json
from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.events.types.logic.schema_keywords import escape

_MAX_OPTIONS: Final = 10
_MAX_QUOTED_LENGTH: Final = 100

_NAMES_OF_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_MESSAGES: Final = {
    "anyOf": ("malformed", "must match one of the alternatives of the schema"),
    "contains": ("malformed", "must contain a different number of the elements that the schema asks for"),
    "exclusiveMaximum": ("out_of_range", "must be less than {}"),
    "exclusiveMinimum": ("out_of_range", "must be more than {}"),
    "maxItems": ("too_many", "must have {} items or fewer"),
    "maxLength": ("too_long", "must have {} characters or fewer"),
    "maxProperties": ("too_many", "must have {} fields or fewer"),
    "maximum": ("out_of_range", "must be {} or less"),
    "minItems": ("too_few", "must have {} or more items"),
    "minLength": ("too_short", "must have {} or more characters"),
    "minProperties": ("too_few", "must have {} or more fields"),
    "minimum": ("out_of_range", "must be {} or more"),
    "multipleOf": ("malformed", "must be a multiple of {}"),
    "not": ("malformed", "must not match the schema under `not`"),
    "oneOf": ("malformed", "must match exactly one of the alternatives of the schema"),
    "pattern": ("malformed", "must match {}"),
    "uniqueItems": ("repeated", "must not contain the same element twice"),
}
"""For each keyword, the code and the message. Braces stand for the keyword's value."""


def describe_violation(keyword: str, expected: Any, value: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the errors of a value that does not match a keyword: the path from the value, the code and the message."""
    if keyword == "required":
        for name in expected:
            if name not in value:
                yield f"/{escape(name)}", "required", "This field is required."
    elif keyword == "dependentRequired":
        yield from _describe_dependencies(expected, value)
    elif keyword == "type":
        names = [expected] if isinstance(expected, str) else expected
        yield "", "wrong_type", f"must be {' or '.join(_NAMES_OF_TYPES[name] for name in names)}"
    elif keyword in ("const", "enum"):
        options = expected if keyword == "enum" else [expected]
        shown = ", ".join(_quote(option) for option in options[:_MAX_OPTIONS])
        more = f" … ({len(options)} values)" if len(options) > _MAX_OPTIONS else ""
        yield "", "not_one_of", f"must be {'one of ' if len(options) > 1 else ''}{shown}{more}"
    else:
        code, message = _MESSAGES.get(keyword, ("malformed", f"does not match `{keyword}` of the schema"))
        yield "", code, message.replace("{}", _quote(expected) if "{}" in message else "")


def _describe_dependencies(expected: dict[str, list[str]], value: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, names in expected.items():
        for missing in names if name in value else ():
            if missing not in value:
                yield f"/{escape(missing)}", "required", f"This field is required together with {_quote(name)}."


def _quote(value: Any) -> str:
    """Return a value of the schema as JSON, or its beginning."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_QUOTED_LENGTH else f"{text[:_MAX_QUOTED_LENGTH]}…"
