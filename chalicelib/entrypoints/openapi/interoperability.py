"""Changes to the finished document that generators of clients and linters need.

Each function names the tools that it is for. None changes what the document says about requests and responses.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]

_PRUNED_SECTIONS: Final = ("headers", "responses")
_SCHEMA_KEYWORDS: Final = ("type", "enum", "format", "$ref", "properties", "items")
EXAMPLE_EXTENSION: Final = "x-atrium-example"
"""The extension of a webhook with the example of its message, if linters would misread it in the content."""

_EXAMPLE_KEYS: Final = ("example", "examples")
_INLINE_NULL: Final = {"type": "null"}


def describe_defaults_in_words(schema: Schema) -> Schema:
    """Return a component's schema whose descriptions state the defaults of its fields, in place of `default`.

    openapi-typescript makes fields with a `default` required, also those of requests.
    """
    fields = {name: _with_default_in_description(field) for name, field in schema.get("properties", {}).items()}
    return {**schema, "properties": fields} if fields else schema


def _with_default_in_description(field: Schema) -> Schema:
    if "default" not in field:
        return field
    rest = {key: value for key, value in field.items() if key != "default"}
    sentence = f"The default is `{json.dumps(field['default'], ensure_ascii=False)}`."
    description = field.get("description", "")
    return {**rest, "description": f"{description} {sentence}".strip()}


def title_nullable_enums_and_objects(schema: Schema) -> Schema:
    """Return a component's schema in which the enums and objects of nullable fields have titles.

    openapi-python-client combines the title with the name of the component. Without one it numbers such classes.
    """
    fields = {name: _with_titled_alternatives(name, field) for name, field in schema.get("properties", {}).items()}
    return {**schema, "properties": fields} if fields else schema


def _with_titled_alternatives(name: str, field: Schema) -> Schema:
    title = name[:1].upper() + name[1:]
    types = field.get("type")
    if isinstance(types, list) and "array" in types and "enum" in field["items"]:
        return {**field, "items": {"title": f"{title}Item", **field["items"]}}
    if _INLINE_NULL not in field.get("anyOf", ()):
        return field
    alternatives = [
        {"title": title, **each} if "enum" in each or each.get("type") == "object" else each for each in field["anyOf"]
    ]
    return {**field, "anyOf": alternatives}


def remove_examples_like_schemas(part: Any) -> Any:
    """Return a part of the document without examples that contain an object with `example` and a keyword of schemas.

    Spectral takes such an object for a schema. The fields keep examples of their own, from which tools build one.
    """
    if isinstance(part, list):
        return [remove_examples_like_schemas(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value if key in (*_EXAMPLE_KEYS, EXAMPLE_EXTENSION) else remove_examples_like_schemas(value)
        for key, value in part.items()
        if not (key in _EXAMPLE_KEYS and is_misread_as_schema(value))
    }


def is_misread_as_schema(value: Any) -> bool:
    """Return whether Spectral takes an example, or a part of it, for a schema with an example."""
    if isinstance(value, list):
        return any(map(is_misread_as_schema, value))
    if not isinstance(value, dict):
        return False
    is_like_schema = "example" in value and any(keyword in value for keyword in _SCHEMA_KEYWORDS)
    return is_like_schema or any(map(is_misread_as_schema, value.values()))


def prune_unused_components(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without shared headers and responses that nothing refers to, which linters report."""
    text = json.dumps(document)
    components = {
        section: {
            name: part
            for name, part in parts.items()
            if section not in _PRUNED_SECTIONS or f'"#/components/{section}/{name}"' in text
        }
        for section, parts in document["components"].items()
    }
    pruned = {**document, "components": components}
    # A header can be unused once an unused response is gone.
    return pruned if pruned == document else prune_unused_components(pruned)
