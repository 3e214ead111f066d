"""The keywords of JSON Schema 2020-12 that schemas of event types can have, and the subschemas in their values.

Keywords outside of these lists are refused, because their cost is not bounded, or because the library would ignore
them. Names that start with `x-` are annotations of the application.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PERSONAL_DATA: Final = "x-personal-data"
REFERENCE_PREFIX: Final = "#/$defs/"
MAX_NUMBER: Final = 2**53 - 1
"""Largest number in a schema, as in the data, without its sign."""

MIN_FRACTION: Final = 1e-9
"""Smallest number other than 0 in a schema, without its sign."""

TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

SUBSCHEMA_KEYWORDS: Final = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
)
"""Keywords with a schema as their value."""

SUBSCHEMA_LIST_KEYWORDS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords with a list of schemas as their value."""

SUBSCHEMA_MAP_KEYWORDS: Final = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is an object with schemas as its members."""

COUNT_KEYWORDS: Final = frozenset(
    {
        *("maxContains", "maxItems", "maxLength", "maxProperties"),
        *("minContains", "minItems", "minLength", "minProperties"),
    }
)
_ANNOTATIONS: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "format", "readOnly", "title", "writeOnly"}
)
LIMIT_KEYWORDS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})

_ADVICE: Final = {
    "$anchor": "Refer to a subschema by `#/$defs/NAME`.",
    "$dynamicAnchor": "Refer to a subschema by `#/$defs/NAME`.",
    "$dynamicRef": "Use `$ref` with `#/$defs/NAME`.",
    "$id": "Refer to a subschema by `#/$defs/NAME`.",
    "$vocabulary": "Remove it.",
    "additionalItems": "Use `prefixItems` and `items`.",
    "definitions": "Use `$defs`.",
    "dependencies": "Use `dependentRequired` or `dependentSchemas`.",
    "nullable": 'Add "null" to the types.',
    "unevaluatedItems": "Use `items: false` after `prefixItems`.",
    "unevaluatedProperties": "Use `additionalProperties: false`.",
}


@dataclass(frozen=True)
class Subschema:
    """A schema in the value of a keyword. `name`: the member or the number in the value, None if it is the value."""

    keyword: str
    name: str | int | None
    schema: Any

    @property
    def path(self) -> str:
        """The JSON Pointer from the schema that contains it."""
        return f"/{escape(self.keyword)}" if self.name is None else f"/{escape(self.keyword)}/{escape(str(self.name))}"


def escape(name: str) -> str:
    """Return a name as a token of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def iter_subschemas(schema: Mapping[str, Any]) -> Iterator[Subschema]:
    """Yield the schemas in the values of a schema's keywords, if the values have the right types."""
    for keyword, value in schema.items():
        if keyword in SUBSCHEMA_KEYWORDS:
            yield Subschema(keyword, None, value)
        elif keyword in SUBSCHEMA_LIST_KEYWORDS and isinstance(value, list):
            yield from (Subschema(keyword, number, each) for number, each in enumerate(value))
        elif keyword in SUBSCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            yield from (Subschema(keyword, name, each) for name, each in value.items())


def convert_subschemas(schema: Mapping[str, Any], convert: Callable[[Subschema], Any]) -> dict[str, Any]:
    """Return a valid schema with each subschema replaced."""
    return {keyword: _convert_value(keyword, value, convert) for keyword, value in schema.items()}


def _convert_value(keyword: str, value: Any, convert: Callable[[Subschema], Any]) -> Any:
    if keyword in SUBSCHEMA_KEYWORDS:
        return convert(Subschema(keyword, None, value))
    if keyword in SUBSCHEMA_LIST_KEYWORDS:
        return [convert(Subschema(keyword, number, each)) for number, each in enumerate(value)]
    if keyword in SUBSCHEMA_MAP_KEYWORDS:
        return {name: convert(Subschema(keyword, name, each)) for name, each in value.items()}
    return value


def is_annotation(keyword: str) -> bool:
    """Return whether a keyword describes values without restricting them. `x-personal-data` is not included."""
    return keyword in _ANNOTATIONS or (keyword.startswith("x-") and keyword != PERSONAL_DATA)


def find_keyword_problem(keyword: str, value: Any) -> tuple[str, str] | None:
    """Return the code and the detail of the error of a keyword or its value, or None."""
    if keyword.startswith("x-") and keyword != PERSONAL_DATA:
        return None
    if keyword not in _RULES:
        advice = _ADVICE.get(keyword, "Remove it, or start its name with `x-` if it is an annotation.")
        return "unsupported", f"The keyword {keyword[:40]!r} is not supported. {advice}"
    is_valid, detail = _RULES[keyword]
    return None if is_valid(value) else ("malformed", detail)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _is_limit(value: Any) -> bool:
    return _is_number(value) and (value == 0 or abs(value) >= MIN_FRACTION)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len({*value}) == len(value)


def _is_option(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or (_is_number(value) and value == int(value))


def _is_option_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_option(option) for option in value)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and _is_list_of_names(value) and all(name in TYPES for name in value)
    return isinstance(value, str) and value in TYPES


_Rule = tuple[Callable[[Any], bool], str]
_SCHEMA: Final[_Rule] = (lambda value: isinstance(value, dict | bool), "must be a schema: an object, true or false")
_LIST: Final[_Rule] = (lambda value: isinstance(value, list) and bool(value), "must be a list of one or more schemas")
_MAP: Final[_Rule] = (lambda value: isinstance(value, dict), "must be an object with schemas as members")
_COUNT: Final[_Rule] = (_is_count, "must be a whole number from 0 to 9007199254740991")
_LIMIT: Final[_Rule] = (_is_limit, "must be a number within ±9007199254740991, and not closer to 0 than 1e-9")
_TEXT: Final[_Rule] = (_is_text, "must be text")
_FLAG: Final[_Rule] = (lambda value: isinstance(value, bool), "must be true or false")
_RULES: Final[Mapping[str, _Rule]] = {
    **dict.fromkeys(SUBSCHEMA_KEYWORDS, _SCHEMA),
    **dict.fromkeys(SUBSCHEMA_LIST_KEYWORDS, _LIST),
    **dict.fromkeys(SUBSCHEMA_MAP_KEYWORDS, _MAP),
    **dict.fromkeys(COUNT_KEYWORDS, _COUNT),
    **dict.fromkeys(LIMIT_KEYWORDS, _LIMIT),
    **dict.fromkeys(("$comment", "$ref", "description", "format", "pattern", "title"), _TEXT),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly", PERSONAL_DATA), _FLAG),
    "$schema": (lambda value: value == DIALECT, f"must be {DIALECT!r}, or omit it"),
    "const": (_is_option, "must be text, a whole number, true, false or null. Use `properties` for objects."),
    "default": (lambda _: True, ""),
    "dependentRequired": (
        lambda value: isinstance(value, dict) and all(_is_list_of_names(names) for names in value.values()),
        "must be an object with lists of different names as members",
    ),
    "enum": (_is_option_list, "must be a list of text, whole numbers, true, false and null, with one or more elements"),
    "examples": (lambda value: isinstance(value, list), "must be a list"),
    "multipleOf": (lambda value: _is_limit(value) and value > 0, "must be a number from 1e-9 to 9007199254740991"),
    "required": (_is_list_of_names, "must be a list of different names"),
    "type": (_is_type, f"must be one of {', '.join(TYPES)}, or a list of different ones"),
}
"""For each keyword, the function that returns whether a value is valid, and what the error says."""
