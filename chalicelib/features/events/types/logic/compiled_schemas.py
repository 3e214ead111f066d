"""Compiles schemas of event types. The library is imported by the first request that validates."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from chalicelib.features.events.types.logic.schema_keywords import convert_subschemas

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
    validator: Draft202012Validator = engine.Draft202012Validator(
        to_fast_schema(schema), pattern_options=options, validate_formats=False, offline=True
    )
    return validator


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
    result = convert_subschemas(schema, lambda each: to_fast_schema(each.schema))
    choices = ([result.pop("const")] if "const" in result else [], result.pop("enum", []))
    conditions: list[Any] = [{"anyOf": _split_options(options)} for options in choices if options]
    if result.pop("uniqueItems", False):
        types = {"type": schema["items"]["type"]}
        conditions.append({"if": {"items": types}, "then": {"uniqueItems": True}, "else": False})
    if conditions:
        result["allOf"] = [*conditions, *result.get("allOf", ())]
    return result


def _split_options(options: list[Any]) -> list[dict[str, Any]]:
    """Return one schema for the texts, one for the other values without numbers, and one for each range of numbers."""
    numbers = {int(each) for each in options if isinstance(each, int | float) and not isinstance(each, bool)}
    starts = sorted(number for number in numbers if number - 1 not in numbers)
    ends = sorted(number for number in numbers if number + 1 not in numbers)
    texts = [each for each in options if isinstance(each, str)]
    others = [each for each in options if each is None or isinstance(each, bool)]
    return [
        *([{"enum": texts}] if texts else []),
        *([{"enum": others}] if others else []),
        *({"type": "integer", "minimum": low, "maximum": high} for low, high in zip(starts, ends, strict=True)),
    ]
