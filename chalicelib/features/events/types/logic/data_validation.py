"""Validates the data of events with the schemas of their types, in a time that the schema's limits bound."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.data_errors import DataError, locate_errors
from chalicelib.features.events.types.logic.schema_keywords import PERSONAL_DATA, iter_subschemas

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

CacheKey = tuple[str, int, str]
"""Type, version and digest of a schema."""

_MAX_COMPILED_SCHEMAS: Final = 64


class _CompiledSchemas:
    """The schemas that this process has compiled, the last used ones."""

    def __init__(self) -> None:
        self._schemas: dict[CacheKey, Draft202012Validator] = {}

    def get(self, cache_key: CacheKey, schema: Mapping[str, Any]) -> "Draft202012Validator":
        compiled = self._schemas.pop(cache_key, None) or compile_schema(schema)
        self._schemas[cache_key] = compiled
        if len(self._schemas) > _MAX_COMPILED_SCHEMAS:
            del self._schemas[next(iter(self._schemas))]
        return compiled


_compiled_schemas: Final = _CompiledSchemas()


def list_data_errors(cache_key: CacheKey, schema: Mapping[str, Any], data: Mapping[str, Any]) -> list[DataError]:
    """Return the errors of data, at most 20, and none if the schema accepts it.

    `schema`: an accepted schema. `data`: a JSON object of at most 64 KiB, as a request contains it.
    """
    if _compiled_schemas.get(cache_key, schema).is_valid(data):
        return []
    return locate_errors(schema, data)


def list_personal_data(
    cache_key: CacheKey, schema: Mapping[str, Any], data: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Return the pointers and values in valid data that the schema marks with `x-personal-data: true`.

    An annotation applies to a value if the subschema with it accepts the value (JSON Schema 2020-12, section 7.7).
    """
    if not _has_personal_data(schema):
        return []
    annotations = _compiled_schemas.get(cache_key, schema).evaluate(data).annotations()
    pointers = {
        each["instanceLocation"]: None
        for each in annotations
        if isinstance(each["annotations"], dict) and each["annotations"].get(PERSONAL_DATA) is True
    }
    return [(pointer, _value_at(data, pointer)) for pointer in pointers]


def _has_personal_data(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        schema.get(PERSONAL_DATA) is True or any(_has_personal_data(each.schema) for each in iter_subschemas(schema))
    )


def _value_at(data: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer (RFC 6901)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data
