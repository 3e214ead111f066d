"""A schema with the parts of it that have been compiled, and what comparing data with a part costs."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES, Cost, estimate_part_cost

_MAX_PARTS: Final = 300
"""Compiled parts of a schema in memory."""

_SMALL_BYTES: Final = 256
_NANOSECONDS_PER_SCHEMA_BYTE: Final = 500
"""Time to compile a part of a schema, for each byte of it."""


class SchemaPart:
    """A compiled part of a schema."""

    def __init__(self, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        text = json.dumps(schema)
        whole = {**schema, "$defs": definitions} if '"$ref"' in text else schema
        self.is_valid = compile_schema(whole).is_valid
        self._costs = [estimate_part_cost(schema, definitions, size) for size in (_SMALL_BYTES, DATA_BYTES)]

    def nanoseconds_for(self, size: int) -> float:
        """Return the longest time to compare data of a size in bytes."""
        return min(_nanoseconds(cost, size) for cost in self._costs)


def _nanoseconds(cost: Cost, size: int) -> float:
    return cost.per_value + cost.per_byte * size


class SchemaParts:
    """A schema, compiled as a whole, and the parts that errors in data have needed so far."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.definitions = schema.get("$defs", {})
        self.validator = compile_schema(schema)
        self._parts: dict[tuple[int, tuple[str, ...]], SchemaPart] = {}
        self._pattern_schemas: dict[str, dict[str, Any]] = {}

    def get(
        self, subschema: Mapping[str, Any], keywords: tuple[str, ...], charge: Callable[[float], None]
    ) -> SchemaPart:
        """Return a subschema of this schema, or some keywords of it.

        `charge` is called with the nanoseconds to compile it, before that happens. It may raise an exception.
        """
        key = id(subschema), keywords
        if part := self._parts.get(key):
            return part
        selected = {keyword: subschema[keyword] for keyword in keywords if keyword in subschema}
        selected = selected if keywords else {**subschema}
        text = json.dumps(selected)
        size = len(text) + (len(json.dumps(self.definitions)) if '"$ref"' in text else 0)
        charge(_NANOSECONDS_PER_SCHEMA_BYTE * size)
        if len(self._parts) >= _MAX_PARTS:
            self._parts.clear()
        self._parts[key] = part = SchemaPart(selected, self.definitions)
        return part

    def pattern_schema(self, pattern: str) -> dict[str, Any]:
        """Return the subschema of the texts that match a name of `patternProperties`."""
        return self._pattern_schemas.setdefault(pattern, {"pattern": pattern})
