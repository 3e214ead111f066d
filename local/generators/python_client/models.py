"""What the template of the models shows: a class for each schema of a record, and an alias for each other schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.entrypoints.openapi.client_operations import iter_operations
from chalicelib.entrypoints.openapi.python_names import field_name
from local.generators.python_client.prose import describe
from local.generators.python_client.types import Schema, TypeWriter, iter_references, reachable_names


def describe_models(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the template."""
    components = document["components"]["schemas"]
    writer = TypeWriter(components)
    tagged = _tagged_names(components)
    model_names = _model_names(document)
    names = [name for name in components if name in model_names]
    return {
        "models": [
            _describe_model(name, components[name], writer, is_tagged=name in tagged)
            for name in names
            if _is_object(components[name])
        ],
        "aliases": [
            _describe_alias(name, components[name], writer) for name in names if not _is_object(components[name])
        ],
    }


def _describe_alias(name: str, schema: Schema, writer: TypeWriter) -> dict[str, Any]:
    is_union = "oneOf" in schema
    type_ = writer.write_union(schema) if is_union else writer.write(schema)
    return {"name": name, "type": type_, "is_union": is_union, **_prose(schema)}


def _is_object(schema: Schema) -> bool:
    return schema.get("type") == "object"


def _model_names(document: Mapping[str, Any]) -> set[str]:
    """Return the schemas of responses, and those inside of bodies. A body itself is the parameters of its method."""
    components = document["components"]["schemas"]
    used = {"FieldError", "Problem", *iter_references(document["webhooks"])}
    for operation in iter_operations(document):
        used |= {operation.result} if operation.result else set()
        used |= set(iter_references(components[operation.body])) if operation.body else set()
    return reachable_names(used, components)


def _tagged_names(components: Mapping[str, Schema]) -> set[str]:
    """Return the members of unions whose members a field tells apart."""
    unions = _iter_unions(components)
    return {name for union in unions for name in iter_references(union) if _tag_of(components[name])}


def _iter_unions(part: Any) -> Iterator[Any]:
    if isinstance(part, Mapping):
        yield from (part[name] for name in ("anyOf", "oneOf") if name in part)
        for each in part.values():
            yield from _iter_unions(each)


def _tag_of(schema: Schema) -> str | None:
    return next((name for name, each in schema.get("properties", {}).items() if "const" in each), None)


def _describe_model(name: str, schema: Schema, writer: TypeWriter, *, is_tagged: bool) -> dict[str, Any]:
    tag = _tag_of(schema)
    required = schema.get("required", ())
    return {
        "name": name,
        "tag": field_name(tag) if tag and is_tagged else None,
        "fields": [
            _describe_field(each, field, writer, is_required=each in required)
            for each, field in schema.get("properties", {}).items()
        ],
        **_prose(schema),
    }


def _describe_field(name: str, schema: Schema, writer: TypeWriter, *, is_required: bool) -> dict[str, Any]:
    type_ = writer.write(schema)
    if not is_required and "None" not in type_.split(" | ") and type_ != "Any":
        type_ = f"{type_} | None"
    python = field_name(name)
    return {
        "name": python,
        "type": type_,
        "is_required": is_required,
        "alias": None if _json_name(python) == name else name,
        **_prose(schema),
    }


def _json_name(name: str) -> str:
    """Return the name in JSON that the client derives from that of a field."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(each.capitalize() for each in others)


def _prose(schema: Schema) -> dict[str, str]:
    properties = schema.get("properties", {})
    if {"items", "nextCursor"} <= properties.keys():
        return {"description": "One page of a list."}
    return {"description": describe(schema)}
