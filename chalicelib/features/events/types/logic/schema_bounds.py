"""Rejects schemas that could take long to compile or to validate with, or that are not self-contained.

Every limit is a count that depends only on the schema, so the same schema is accepted everywhere. Validating 64 KiB of
data, the largest data of an event, takes less than 20 ms with any accepted schema. `python -m benchmarks.schemas`
searches for the slowest one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema, is_valid_schema
from chalicelib.features.events.types.logic.pattern_states import count_pattern_states
from chalicelib.features.events.types.logic.pattern_syntax import UnsupportedPattern
from chalicelib.features.events.types.logic.schema_costs import count_states_of_patterns, estimate_cost
from chalicelib.features.events.types.logic.schema_keywords import (
    MAX_NUMBER,
    REFERENCE_PREFIX,
    escape,
    find_keyword_problem,
    iter_subschemas,
)
from chalicelib.kernel.audit_log.entries import canonical_json
from chalicelib.kernel.core.problems import FieldError
from chalicelib.kernel.http.fields import MAX_JSON_OBJECT_DEPTH

MAX_SCHEMA_BYTES: Final = 32 * 1024
"""Size of a schema as canonical JSON (RFC 8785)."""

MAX_SCHEMA_DEPTH: Final = MAX_JSON_OBJECT_DEPTH
"""Levels of objects and lists in a schema, as in all free-form JSON."""

MAX_SUBSCHEMAS: Final = 1_000
"""Subschemas of a schema, counted once for each reference to them."""

MAX_APPLICATION_DEPTH: Final = 32
"""Levels of subschemas, where a reference is replaced with its target."""

MAX_BRANCHES: Final = 20
"""Schemas in an `allOf`, `anyOf` or `oneOf`."""

MAX_UNIQUE_ITEMS: Final = 1_000
"""Largest `maxItems` of an array with `uniqueItems`."""

MAX_STATES_OF_PATTERNS: Final = 2_000
"""States of the automata of all patterns of a schema."""

MAX_VALIDATION_MILLISECONDS: Final = 10
"""Estimated time to validate 64 KiB of data. Measured times are below 20 ms."""

MAX_SCHEMA_ERRORS: Final = 20
"""Errors that are reported of a schema."""


def find_schema_errors(schema: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of the schema of an event type's data, at most 20. A schema without errors is accepted.

    `schema`: parsed JSON. The pointers of the errors start at the schema.
    """
    if errors := [*_find_json_errors(schema, "", MAX_SCHEMA_DEPTH)]:
        return errors[:1]
    size = len(canonical_json(schema))
    if size > MAX_SCHEMA_BYTES:
        detail = f"must have {MAX_SCHEMA_BYTES} bytes or fewer as JSON; this has {size}"
        return [FieldError("", "too_large", detail)]
    errors = [*_find_root_errors(schema), *_find_keyword_errors(schema, "", is_root=True)]
    errors = errors or [*_find_reference_errors(schema)] or [*_find_size_errors(schema)]
    return (errors or [*_find_engine_errors(schema)])[:MAX_SCHEMA_ERRORS]


def _find_json_errors(value: Any, pointer: str, levels: int) -> Iterator[FieldError]:
    """Yield the errors of a value that other programs could not read: it is too deep or a number is too large."""
    if isinstance(value, Mapping | list):
        if levels == 0:
            yield FieldError("", "too_deep", f"must have {MAX_SCHEMA_DEPTH} or fewer levels of objects and lists")
            return
        for name, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _find_json_errors(member, f"{pointer}/{escape(str(name))}", levels - 1)
    elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
        yield FieldError(pointer, "out_of_range", f"must be within ±{MAX_NUMBER}; write it as text")


def _find_root_errors(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    if schema.get("type") != "object":
        detail = 'must be "object", because the data of an event is an object'
        yield FieldError("/type", "malformed" if "type" in schema else "required", detail)


def _find_keyword_errors(schema: Any, pointer: str, *, is_root: bool = False) -> Iterator[FieldError]:
    """Yield the errors of the keywords of a schema and its subschemas."""
    if not isinstance(schema, dict):
        return
    has_errors = False
    for keyword, value in schema.items():
        if keyword in ("$defs", "$schema") and not is_root:
            has_errors = True
            yield FieldError(f"{pointer}/{keyword}", "misplaced", "Move it to the root of the schema.")
        elif problem := find_keyword_problem(keyword, value):
            has_errors = True
            yield FieldError(f"{pointer}/{escape(keyword)}", *problem)
    if not has_errors:
        yield from _find_limit_errors(schema, pointer)
        for each in iter_subschemas(schema):
            if isinstance(each.schema, dict | bool):
                yield from _find_keyword_errors(each.schema, pointer + each.path)
            else:
                yield FieldError(pointer + each.path, "malformed", "must be a schema: an object, true or false")


def _find_limit_errors(schema: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        if len(schema.get(keyword, ())) > MAX_BRANCHES:
            detail = f"must have {MAX_BRANCHES} or fewer schemas. For a choice of values, use `enum`."
            yield FieldError(f"{pointer}/{keyword}", "too_many", detail)
    patterns = [("/pattern", schema["pattern"])] if "pattern" in schema else []
    patterns += [(f"/patternProperties/{escape(each)}", each) for each in schema.get("patternProperties", ())]
    for path, pattern in patterns:
        try:
            count_pattern_states(pattern)
        except UnsupportedPattern as error:
            yield FieldError(pointer + path, "too_complex", f"The regular expression {error}.")
    if schema.get("uniqueItems"):
        yield from _find_unique_items_errors(schema, pointer)


def _find_unique_items_errors(schema: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    if schema.get("maxItems", MAX_UNIQUE_ITEMS + 1) > MAX_UNIQUE_ITEMS:
        detail = f"needs `maxItems` of {MAX_UNIQUE_ITEMS} or less in the same schema"
        yield FieldError(f"{pointer}/uniqueItems", "too_complex", detail)
    items = schema.get("items")
    types = items.get("type", "") if isinstance(items, dict) else ""
    if (
        not types
        or not {*([types] if isinstance(types, str) else types)} <= {"string", "integer"}
        or "prefixItems" in schema
    ):
        detail = 'needs `items` with the type "string" or "integer" in the same schema, and no `prefixItems`'
        yield FieldError(f"{pointer}/uniqueItems", "too_complex", detail)


def _find_reference_errors(root: Mapping[str, Any]) -> Iterator[FieldError]:
    definitions = root.get("$defs", {})
    has_errors = False
    for pointer, reference in _iter_references(root, ""):
        name = reference.removeprefix(REFERENCE_PREFIX)
        if not reference.startswith(REFERENCE_PREFIX) or name not in definitions or escape(name) != name or "%" in name:
            has_errors = True
            detail = "must be `#/$defs/NAME`, with the name of a member of `$defs` that contains none of ~, / and %"
            yield FieldError(pointer, "unknown", detail)
    if not has_errors:
        yield from _find_recursion_errors(definitions)


def _iter_references(schema: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield f"{pointer}/$ref", schema["$ref"]
        for each in iter_subschemas(schema):
            yield from _iter_references(each.schema, pointer + each.path)


def _find_recursion_errors(definitions: Mapping[str, Any]) -> Iterator[FieldError]:
    targets = {
        name: {reference.removeprefix(REFERENCE_PREFIX) for _, reference in _iter_references(schema, "")}
        for name, schema in definitions.items()
    }
    while ready := [name for name, names in targets.items() if not names & targets.keys()]:
        for name in ready:
            del targets[name]
    if targets:
        name = next(name for name in targets if _refers_to_itself(name, targets))
        detail = "refers to itself, directly or through others. Describe a fixed number of levels instead."
        yield FieldError(f"/$defs/{escape(name)}", "unsupported", detail)


def _refers_to_itself(name: str, targets: Mapping[str, set[str]]) -> bool:
    reachable, pending = set[str](), [name]
    while pending:
        found = targets.get(pending.pop(), set()) - reachable
        reachable |= found
        pending += found
    return name in reachable


def _find_size_errors(root: Mapping[str, Any]) -> Iterator[FieldError]:
    measured: dict[str, tuple[int, int]] = {}
    count, depth = _measure(root, root, measured)
    if count > MAX_SUBSCHEMAS:
        detail = f"must have {MAX_SUBSCHEMAS} or fewer subschemas, counted for each `$ref`; this has {count}"
        yield FieldError("", "too_many", detail)
    elif depth > MAX_APPLICATION_DEPTH:
        detail = f"must have {MAX_APPLICATION_DEPTH} or fewer levels of subschemas, with references; this has {depth}"
        yield FieldError("", "too_deep", detail)
    elif (states := count_states_of_patterns(root)) > MAX_STATES_OF_PATTERNS:
        detail = (
            f"The patterns need {states} states to match, at most {MAX_STATES_OF_PATTERNS} in total. Use shorter ones."
        )
        yield FieldError("", "too_complex", detail)
    else:
        yield from _find_cost_errors(root)


def _measure(schema: Any, root: Mapping[str, Any], measured: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of subschemas and their levels. `measured`: those of definitions."""
    if not isinstance(schema, dict):
        return 1, 1
    parts = [_measure(each.schema, root, measured) for each in iter_subschemas(schema)]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE_PREFIX)
        if name not in measured:
            measured[name] = _measure(root["$defs"][name], root, measured)
        parts.append(measured[name])
    return 1 + sum(count for count, _ in parts), 1 + max((depth for _, depth in parts), default=0)


def _find_cost_errors(root: Mapping[str, Any]) -> Iterator[FieldError]:
    cost = estimate_cost(root)
    milliseconds = cost.nanoseconds / 1e6
    if milliseconds > MAX_VALIDATION_MILLISECONDS:
        detail = (
            f"Data of 64 KiB could take {milliseconds:,.0f} ms to validate, more than {MAX_VALIDATION_MILLISECONDS} ms."
            " Set `maxItems` or `maxProperties`, or use fewer keywords for each element."
        )
        yield FieldError(cost.find_largest_part(), "too_complex", detail)


def _find_engine_errors(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield an error if the library does not accept the schema. The checks before it should find every such error."""
    if not is_valid_schema(schema):
        yield FieldError("", "malformed", "is not valid as JSON Schema 2020-12. Compare it with the meta-schema.")
        return
    try:
        compile_schema(schema)
    except ValueError as error:
        yield FieldError("", "malformed", f"can't be compiled: {str(error).partition(chr(10))[0][:200]}")
