"""Compiles schemas of event types. The library is imported by the first request that validates."""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from chalicelib.features.events.types.logic.schema_keywords import (
    SUBSCHEMA_KEYWORDS,
    SUBSCHEMA_LIST_KEYWORDS,
    SUBSCHEMA_MAP_KEYWORDS,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_MAX_PATTERN_BYTES: Final = 1024 * 1024
"""Memory of a compiled regular expression."""

_MAX_PATTERN_CACHE_BYTES: Final = 8 * 1024 * 1024
"""Memory for the states of an automaton that are built while it matches."""


@cache
def _engine() -> Any:
    import jsonschema_rs

    return jsonschema_rs


def compile_schema(schema: Any) -> "Draft202012Validator":
    """Return the compiled form of a schema or subschema. Raises ValueError if the library does not accept it.

    Its `is_valid` stops at the first error. Never call `validate` or `iter_errors` with data of callers: they collect
    the errors of all branches and elements, which takes seconds and hundreds of megabytes.
    """
    engine = _engine()
    options = engine.RegexOptions(size_limit=_MAX_PATTERN_BYTES, dfa_size_limit=_MAX_PATTERN_CACHE_BYTES)
    return engine.Draft202012Validator(
        to_fast_schema(schema), pattern_options=options, validate_formats=False, offline=True
    )


def is_valid_schema(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema conforms to the meta-schema of JSON Schema 2020-12."""
    return bool(_engine().meta.is_valid({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"}))


def to_fast_schema(schema: Any) -> Any:
    """Return a schema that accepts the same data, without keywords that the library evaluates slowly.

    Numbers in `enum` and `const` become ranges: the library converts each number with a fraction in the data to a
    ratio of large integers before it compares it with an option. `uniqueItems` is evaluated after the type of
    all elements, because each pair of elements is compared.
    """
    if not isinstance(schema, dict):
        return schema
    result = {keyword: _convert_value(keyword, value) for keyword, value in schema.items()}
    conditions = []
    options = [result.pop("const")] if "const" in result else []
    for choice in (options, result.pop("enum", [])):
        if choice:
            conditions.append({"anyOf": _split_options(choice)})
    if result.pop("uniqueItems", False):
        types = {"type": schema["items"]["type"]}
        conditions.append({"if": {"items": types}, "then": {"uniqueItems": True}, "else": False})
    if conditions:
        result["allOf"] = [*conditions, *result.get("allOf", ())]
    return result


def _convert_value(keyword: str, value: Any) -> Any:
    if keyword in SUBSCHEMA_KEYWORDS:
        return to_fast_schema(value)
    if keyword in SUBSCHEMA_LIST_KEYWORDS:
        return [to_fast_schema(each) for each in value]
    if keyword in SUBSCHEMA_MAP_KEYWORDS:
        return {name: to_fast_schema(each) for name, each in value.items()}
    return value


def _split_options(options: list[Any]) -> list[dict[str, Any]]:
    """Return one schema for the texts, one for the other values without numbers, and one for each range of numbers."""
    numbers = sorted({int(each) for each in options if isinstance(each, int | float) and not isinstance(each, bool)})
    starts = [number for previous, number in pairwise([None, *numbers]) if previous is None or number > previous + 1]
    ends = [number for number, following in pairwise([*numbers, None]) if following is None or following > number + 1]
    texts = [each for each in options if isinstance(each, str)]
    others = [each for each in options if each is None or isinstance(each, bool)]
    return [
        *([{"enum": texts}] if texts else []),
        *([{"enum": others}] if others else []),
        *({"type": "integer", "minimum": low, "maximum": high} for low, high in zip(starts, ends, strict=True)),
    ]
