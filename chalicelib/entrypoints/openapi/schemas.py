"""The models of the operations as JSON Schemas (2020-12), under the names callers know them by."""

from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from chalicelib.kernel.http.models import Input, Output, Patch, Query
from chalicelib.kernel.operations.operation import Operation

Schema = dict[str, Any]
COMPONENTS: Final = "#/components/schemas/"
_SUFFIXES: Final = ("Output", "Out")


class _Generator(GenerateJsonSchema):
    """Pydantic's own, but for titles, which would only repeat the names, and answers, where nothing is left out."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Return False: no field has a title."""
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001
        """Return True for the fields of answers, but those that say when they are left out: absent values are null."""
        always = self.mode == "serialization" and "serialization_exclude_if" not in field
        return always or super().field_is_required(field, total)

    def dict_schema(self, schema: Any) -> Schema:
        """Return the schema of an object whose members are called as callers like: if by a pattern, then all are."""
        found = super().dict_schema(schema)
        return {**found, "additionalProperties": False} if "patternProperties" in found else found


def components(operations: Iterable[Operation], extra_models: Iterable[type[Output]] = ()) -> dict[str, Schema]:
    """Return the schema of every model that the operations accept or answer, and of those that events are told by.

    Raises ValueError if two models would have the same name.
    """
    operations = list(operations)
    found = [*(m for o in operations for m in (o.body, o.response_model, o.list_metadata) if m), *extra_models]
    # Sorted and without duplicates: the same operations always make the same document.
    models = sorted(set(found), key=lambda m: (m.__name__, m.__module__))
    modes: list[tuple[Any, Literal["validation", "serialization"]]] = [
        (m, "validation" if issubclass(m, Input) else "serialization") for m in models
    ]
    _, generated = models_json_schema(modes, ref_template=COMPONENTS + "{model}", schema_generator=_Generator)
    patches = {m.__name__ for m in models if issubclass(m, Patch)}
    schemas: dict[str, Schema] = {}
    for key, schema in generated.get("$defs", {}).items():
        name = public_name(key)
        if name in schemas:
            raise ValueError(f"Two models are called {name}; rename one")
        schemas[name] = tidy(_as_patch(schema) if key in patches else schema)
    lists = {
        list_name(o.response_model): _add_list_metadata(list_of(o.response_model), o, schemas)
        for o in operations
        if o.is_list and o.response_model
    }
    merged = {public_name(o.list_metadata.__name__) for o in operations if o.list_metadata}
    return {name: schema for name, schema in schemas.items() if name not in merged} | lists


def public_name(name: str) -> str:
    """Return the name callers know a model by: without a suffix that says it is an answer."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


def list_name(item: type[Output]) -> str:
    """Return the name of a list of these."""
    return f"{public_name(item.__name__)}List"


def reference(name: str) -> Schema:
    """Return a reference to a component."""
    return {"$ref": COMPONENTS + name}


def list_of(item: type[Output]) -> Schema:
    """Return the schema of a page of a list."""
    return {
        "description": "One page of a list.",
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": reference(public_name(item.__name__))},
            "nextCursor": {
                "description": "`cursor` of the next page; null is the only sign of the end.",
                "type": ["string", "null"],
                "examples": [None],
            },
        },
        "required": ["items", "nextCursor"],
    }


def _add_list_metadata(listed: Schema, operation: Operation, schemas: dict[str, Schema]) -> Schema:
    """Return the schema of a page with what an operation tells beside its items: as they do, what they tell too."""
    if operation.list_metadata is None:
        return listed
    metadata = schemas[public_name(operation.list_metadata.__name__)]
    items = schemas[public_name(operation.response_model.__name__)]["properties"] if operation.response_model else {}
    metadata_properties = {name: items.get(name, field) for name, field in metadata["properties"].items()}
    properties = {**listed["properties"], **metadata_properties}
    return {**listed, "properties": properties, "required": [*listed["required"], *metadata["required"]]}


def of_type(annotation: Any) -> Schema:
    """Return the schema of a plain type."""
    schema: Schema = tidy(TypeAdapter(annotation).json_schema(schema_generator=_Generator))
    return schema


def query_fields(query: type[Query]) -> dict[str, Schema]:
    """Return the schema of each query parameter. A query can't say null, so it isn't offered."""
    schema = query.model_json_schema(schema_generator=_Generator)
    definitions: dict[str, Schema] = schema.pop("$defs", {})
    return {
        name: _without_null(_inlined(field, definitions)) for name, field in tidy(schema).get("properties", {}).items()
    }


def required_fields(query: type[Query]) -> set[str]:
    """Return the query parameters that can't be left out."""
    fields: dict[str, FieldInfo] = query.model_fields
    return {field.alias or name for name, field in fields.items() if field.is_required()}


def tidy(schema: Any) -> Any:
    """Return a schema as people read it: public names, `type: [string, null]`, and no default that says nothing."""
    if isinstance(schema, list):
        return [tidy(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    tidied = {key: tidy(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    if "$ref" in tidied:
        tidied["$ref"] = COMPONENTS + public_name(tidied["$ref"].removeprefix(COMPONENTS))
    if tidied.get("default", ...) is None:
        del tidied["default"]
    return _merged_null(tidied)


def _merged_null(schema: Schema) -> Schema:
    """Return `anyOf: [{type: string}, {type: null}]` as one schema."""
    alternatives = schema.get("anyOf", [])
    if len(alternatives) != 2 or {"type": "null"} not in alternatives:  # noqa: PLR2004
        return schema
    other: Schema = next(a for a in alternatives if a != {"type": "null"})
    if not isinstance(other.get("type"), str):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    values = [other["const"]] if "const" in other else other.get("enum", [])
    plain = {key: value for key, value in other.items() if key not in ("const", "enum")}
    return plain | {"type": [other["type"], "null"]} | ({"enum": [*values, None]} if values else {}) | rest


def _without_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), list):
        schema = schema | {"type": next(t for t in schema["type"] if t != "null")}
    if "enum" in schema:
        schema = schema | {"enum": [value for value in schema["enum"] if value is not None]}
    return schema


def _inlined(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return a parameter's schema without references into its own model."""
    alternatives = [a for a in schema.get("anyOf", []) if a != {"type": "null"}]
    target = alternatives[0] if len(alternatives) == 1 else schema
    if "$ref" not in target:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    found: Schema = tidy(definitions[target["$ref"].rsplit("/", 1)[-1]])
    return found | rest


def _as_patch(schema: Schema) -> Schema:
    """Return the schema of a JSON Merge Patch (RFC 7396): every field may be left out, null means the default."""
    required = set(schema.get("required", ()))
    fields = {
        name: field if name in required else _nullable({k: v for k, v in field.items() if k != "default"})
        for name, field in schema.get("properties", {}).items()
    }
    return {key: value for key, value in schema.items() if key != "required"} | {"properties": fields}


def _nullable(schema: Schema) -> Schema:
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    notes = {key: value for key, value in schema.items() if key in ("description", "examples")}
    return notes | {"anyOf": [{key: value for key, value in schema.items() if key not in notes}, {"type": "null"}]}
