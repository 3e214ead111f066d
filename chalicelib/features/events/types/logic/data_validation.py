"""Validates the data of events with the schemas of their types, in a time that the schema's limits bound."""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.events.types.logic.data_errors import locate_errors
from chalicelib.features.events.types.logic.schema_parts import SchemaParts
from chalicelib.kernel.core.problems import FieldError

CacheKey = tuple[str, int, str]
"""Type, version and digest of a schema."""

MAX_COMPILED_SCHEMAS: Final = 64
"""Compiled schemas in the memory of a process."""


class _CompiledSchemas:
    """The schemas that this process has compiled, the last used ones."""

    def __init__(self) -> None:
        self._schemas: dict[CacheKey, SchemaParts] = {}

    def get(self, cache_key: CacheKey, schema: Mapping[str, Any]) -> SchemaParts:
        """Return a compiled schema. It is compiled if this process does not have it."""
        compiled = self._schemas.pop(cache_key, None) or SchemaParts(schema)
        self._schemas[cache_key] = compiled
        while len(self._schemas) > MAX_COMPILED_SCHEMAS:
            del self._schemas[next(iter(self._schemas))]
        return compiled


_compiled_schemas: Final = _CompiledSchemas()


def list_data_errors(cache_key: CacheKey, schema: Mapping[str, Any], data: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of data, at most 20, with pointers into it, and none if the schema accepts it.

    `schema`: an accepted schema. `data`: a JSON object of at most 64 KiB, as a request contains it.
    """
    compiled = _compiled_schemas.get(cache_key, schema)
    return [] if compiled.validator.is_valid(data) else locate_errors(compiled, data)
