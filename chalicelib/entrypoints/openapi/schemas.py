"""JSON Schemas (2020-12) of the operations' models, under their public names."""

from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from chalicelib.kernel.http.models import VARIANTS_BY_TYPE, Input, Output, Patch, Query
from chalicelib.kernel.http.principal_ids import PrincipalNameOut
from chalicelib.kernel.operations.operation import Operation

Schema = dict[str, Any]
_COMPONENTS: Final = "#/components/schemas/"
_SUFFIXES: Final = ("Output", "Out")
_KEYWORDS_WITH_NAMED_SCHEMAS: Final = ("properties", "patternProperties", "$defs")
_KEYWORDS_WITH_JSON_VALUES: Final = ("examples", "default", "const", "enum")


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, without titles, and with all fields of responses required."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Return False, because titles would only repeat the names."""
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001
        """Return True for fields of responses, unless they declare when they are omitted. Absent values are null."""
        always = self.mode == "serialization" and "serialization_exclude_if" not in field
        return always or super().field_is_required(field, total)

    def dict_schema(self, schema: Any) -> Schema:
        """Return the schema of an object with arbitrary names. If a pattern restricts them, it applies to all names."""
        generated = super().dict_schema(schema)
        return {**generated, "additionalProperties": False} if "patternProperties" in generated else generated


def build_schemas(operations: Iterable[Operation], extra_models: Iterable[type[Output]] = ()) -> dict[str, Schema]:
    """Return the schemas of the models in requests and responses of operations, and of extra models, by public name.

    Raises ValueError if two models would have the same name.
    """
    operations = list(operations)
    all_models = [
        *(m for o in operations for m in (o.body_model, o.response_or_item_model, o.list_metadata) if m),
        *([PrincipalNameOut] if any(o.can_include_names for o in operations) else []),
        *extra_models,
    ]
    # Sorted and without duplicates, so the same operations always make the same document.
    models = sorted(set(all_models), key=lambda m: (m.__name__, m.__module__))
    modes: list[tuple[Any, Literal["validation", "serialization"]]] = [
        (m, "validation" if issubclass(m, Input) else "serialization") for m in models
    ]
    _, generated = models_json_schema(modes, ref_template=_COMPONENTS + "{model}", schema_generator=_Generator)
    patches = {m.__name__ for m in models if issubclass(m, Patch)}
    schemas: dict[str, Schema] = {}
    for key, schema in generated.get("$defs", {}).items():
        name = public_model_name(key)
        if name in schemas:
            raise ValueError(f"Two models are called {name}; rename one")
        schemas[name] = _with_public_names_and_short_types(_to_merge_patch_schema(schema) if key in patches else schema)
    lists = {
        list_name(o.response_or_item_model): _with_list_metadata_fields(
            _list_schema_of_operations(o.response_or_item_model, operations),
            o,
            schemas,
        )
        for o in operations
        if o.is_list and o.response_or_item_model
    }
    merged = {public_model_name(o.list_metadata.__name__) for o in operations if o.list_metadata}
    return {name: schema for name, schema in schemas.items() if name not in merged} | lists


def public_model_name(model_name: str) -> str:
    """Return the public name of a model: its name without the suffix of responses."""
    return next((model_name.removesuffix(suffix) for suffix in _SUFFIXES if model_name.endswith(suffix)), model_name)


def list_name(item_model: type[Output]) -> str:
    """Return the public name of a list of a model. `XListItem` is an item of `XList`."""
    return f"{public_model_name(item_model.__name__).removesuffix('ListItem')}List"


def schema_reference(public_name: str) -> Schema:
    """Return a reference to the schema with a public name."""
    return {"$ref": _COMPONENTS + public_name}


def _list_schema_of_operations(item_model: type[Output], operations: Iterable[Operation]) -> Schema:
    """Return the schema of one page of a model's list. It has names if one of the operations can include them."""
    listing = [o for o in operations if o.is_list and o.response_or_item_model is item_model]
    schema = build_list_schema(item_model, [o.id for o in listing])
    if not any(o.can_include_names for o in listing):
        return schema
    names = {
        "description": "The names of the organization's members and API keys whose ids are in the items, by id. "
        "Present if the request has `include=names`.",
        "type": "object",
        "additionalProperties": schema_reference(public_model_name(PrincipalNameOut.__name__)),
    }
    return {**schema, "properties": {**schema["properties"], "names": names}}


def build_list_schema(item_model: type[Output], operation_ids: Iterable[str] = ()) -> Schema:
    """Return the schema of one page of a list, which some operations return."""
    name = public_model_name(item_model.__name__)
    sources = " and ".join(f"`{each}`" for each in operation_ids)
    return {
        "description": f"One page of the `{name}` records that {sources or 'an operation'} returns. To get the next "
        "page, send `nextCursor` as `cursor`, until it is null. A page may have fewer items than `limit`.",
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": schema_reference(name)},
            "nextCursor": {
                "description": "The `cursor` of the next page. Only null means that there is none.",
                "type": ["string", "null"],
                "examples": [None],
            },
        },
        "required": ["items", "nextCursor"],
    }


def _with_list_metadata_fields(list_schema: Schema, operation: Operation, schemas: dict[str, Schema]) -> Schema:
    """Return the schema of a page with the metadata of the list. Fields that items have too get the items' schema."""
    if operation.list_metadata is None:
        return list_schema
    metadata = schemas[public_model_name(operation.list_metadata.__name__)]
    items = (
        schemas[public_model_name(operation.response_or_item_model.__name__)]["properties"]
        if operation.response_or_item_model
        else {}
    )
    metadata_properties = {name: items.get(name, field) for name, field in metadata["properties"].items()}
    properties = {**list_schema["properties"], **metadata_properties}
    return {**list_schema, "properties": properties, "required": [*list_schema["required"], *metadata["required"]]}


def query_parameter_schemas(query_model: type[Query]) -> dict[str, Schema]:
    """Return the schema of each query parameter, without null, which a query can't express."""
    schema = query_model.model_json_schema(schema_generator=_Generator)
    definitions: dict[str, Schema] = schema.pop("$defs", {})
    return {
        name: _without_null(_with_inlined_reference(field, definitions))
        for name, field in _with_public_names_and_short_types(schema).get("properties", {}).items()
    }


def required_query_parameters(query_model: type[Query]) -> set[str]:
    """Return the names of the required query parameters."""
    fields: dict[str, FieldInfo] = query_model.model_fields
    return {field.alias or name for name, field in fields.items() if field.is_required()}


def _with_public_names_and_short_types(schema: Any) -> Any:
    """Return a schema with public names and short types such as `[string, null]`, without titles and null defaults."""
    if isinstance(schema, list):
        return [_with_public_names_and_short_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    simplified = {key: _simplified_keyword_value(key, value) for key, value in schema.items() if key != "title"}
    if "$ref" in simplified:
        simplified["$ref"] = _COMPONENTS + public_model_name(simplified["$ref"].removeprefix(_COMPONENTS))
    if simplified.get("default", ...) is None:
        del simplified["default"]
    if VARIANTS_BY_TYPE in simplified:
        return _to_discriminated_union(simplified)
    return _with_merged_null_type(simplified)


def _to_discriminated_union(schema: Schema) -> Schema:
    """Return the union of the schemas that a model names for each value of its field `type`."""
    mapping = {value: _COMPONENTS + name for value, name in schema[VARIANTS_BY_TYPE].items()}
    annotations = {key: value for key, value in schema.items() if key in ("description", "examples")}
    union = [{"$ref": reference} for reference in mapping.values()]
    return annotations | {"oneOf": union, "discriminator": {"propertyName": "type", "mapping": mapping}}


def _simplified_keyword_value(keyword: str, value: Any) -> Any:
    """Return the value of a keyword with its schemas simplified. Examples and other JSON values stay as they are."""
    if keyword in _KEYWORDS_WITH_NAMED_SCHEMAS:
        return {name: _with_public_names_and_short_types(schema) for name, schema in value.items()}
    return value if keyword in _KEYWORDS_WITH_JSON_VALUES else _with_public_names_and_short_types(value)


def _with_merged_null_type(schema: Schema) -> Schema:
    """Return `anyOf: [{type: string}, {type: null}]` as one schema.

    Enums and objects stay apart from null, because generators would split them into classes with numbered names.
    """
    alternatives = schema.get("anyOf", [])
    if len(alternatives) != 2 or {"type": "null"} not in alternatives:  # noqa: PLR2004
        return schema
    other: Schema = next(a for a in alternatives if a != {"type": "null"})
    if not isinstance(other.get("type"), str) or other["type"] == "object" or {"const", "enum"} & other.keys():
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return other | {"type": [other["type"], "null"]} | rest


def _without_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), list):
        return schema | {"type": next(t for t in schema["type"] if t != "null")}
    alternatives = [a for a in schema.get("anyOf", ()) if a != {"type": "null"}]
    if len(alternatives) != 1:
        return schema
    return {**alternatives[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _with_inlined_reference(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return a parameter's schema with the referenced definition in place of the reference."""
    alternatives = [a for a in schema.get("anyOf", []) if a != {"type": "null"}]
    target = alternatives[0] if len(alternatives) == 1 else schema
    if "$ref" not in target:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    definition: Schema = _with_public_names_and_short_types(definitions[target["$ref"].rsplit("/", 1)[-1]])
    return definition | rest


def _to_merge_patch_schema(schema: Schema) -> Schema:
    """Return the schema of a JSON Merge Patch (RFC 7396): every field is optional, and null stands for the default."""
    required = set(schema.get("required", ()))
    fields = {
        name: field if name in required else _nullable_schema({k: v for k, v in field.items() if k != "default"})
        for name, field in schema.get("properties", {}).items()
    }
    return {key: value for key, value in schema.items() if key != "required"} | {"properties": fields}


def _nullable_schema(schema: Schema) -> Schema:
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    annotations = {key: value for key, value in schema.items() if key in ("description", "examples")}
    return annotations | {
        "anyOf": [{key: value for key, value in schema.items() if key not in annotations}, {"type": "null"}]
    }
