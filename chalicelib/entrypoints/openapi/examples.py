"""Examples for schemas: those that fields declare, or default examples by the name of the field."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.http.fields import UUID_PATTERN

Schema = Mapping[str, Any]

_ACCEPT_URL: Final = "https://api.example.com/organizations/invitations/acceptance"
_INVITATION_CODE: Final = "AaH4SpXAevOKG7MSv4QwBQGh-EqVwHBPiJltp2O3qWkAAAABwbyC7zGdXcYZYc-Iew0o_g"

_EXAMPLES_BY_FIELD: Final[Mapping[str, str | None]] = {
    "acceptUrl": f"{_ACCEPT_URL}?token={_INVITATION_CODE}",
    "auditPublicKey": "RCmTBlAEqh5MSPTdAVgZTAI0m8xmTNluQA6iaZGKjVE=",
    "auditPublicKeys": "RCmTBlAEqh5MSPTdAVgZTAI0m8xmTNluQA6iaZGKjVE=",
    "checkpoint": "atrium/01a1f84a-95c0-7af3-8a1b-b312bf843005\n2\n2cnjHMnhH8AtH26lCfSEJtgmWTY33L1UDy9+E3QpGHs=\n\n"
    "— atrium/01a1f84a-95c0-7af3-8a1b-b312bf843005 "
    "KpbWZWdH6JyRkShggDe4SIuJ2ks0Oko7cz+/ketrEJB6kvzHWu1LZ1y1rpUh5akIz36DfJ6Tp0Jdx4/jhSvGVD5vnw8=\n",
    "companyAddress": "12 St James's Square, London",
    "companyCountry": "GB",
    "companyId": "04271815",
    "companyLegalName": "Analytical Engines Ltd",
    "companyName": "Analytical Engines",
    "createdBy": "01a1f84a-95c0-704f-8899-6da763b7a969",
    "description": "Where the engines are drawn.",
    "detail": "It holds more than one word.",
    "email": "ada@example.com",
    "invitedBy": "01a1f84a-95c0-704f-8899-6da763b7a969",
    "key": "atr_EXAMPLEexampleEXAMPLEexample00002z8ged",
    "label": "Engines",
    "leadToken": "AaH4SpXAcXyKG7MSv4QwBQAAAZ8a3JkAfYZYc-Iew0o_gLzGdXcYZYc-",
    "leafHash": "677d1e972b1706438c8cfe27d6320aabdf9439cb0978b7be6ee9662130dd8cf6",
    "message": "Join us at the engines.",
    "name": "Analytical Engines",
    "nextCursor": None,
    "rootHash": "d9c9e31cc9e11fc02d1f6ea509f48426d826593637dcbd540f2f7e137429187b",
    "secret": "whsec_YW4gZXhhbXBsZSwgYW5kIG5ldmVyIGEgc2VjcmV0Li4=",
    "slug": "analytical-engines",
    "token": _INVITATION_CODE,
    "title": "Notes on the engine",
    "username": "ada",
}
"""Default examples by the name of the field."""

EXAMPLES_BY_PATH_PARAMETER: Final[Mapping[str, str]] = {
    "asset": "verify.py",
    "capability_key": "video-calls",
    "city_id": "2657896",
    "country_id": "CH",
    "currency_id": "CHF",
    "event_type": "invoice.approved",
    "language_id": "deu",
    "module_id": "events",
    "navigation_id": "main",
    "project_block_id": "showcase",
    "slug": "analytical-engines",
    "timezone_id": "Europe.Berlin",
    "username": "ada",
    "venue_edition": "neurips-2025",
}
"""Examples of the path parameters that are not UUIDs."""

_EXAMPLES_BY_FORMAT: Final[Mapping[str, str]] = {
    "date-time": "2026-11-20T09:30:00.000Z",
    "date": "2026-11-20",
    "email": "ada@example.com",
    "uri": "https://example.com/engines",
}
_EMPTY_VALUES: Final[tuple[object, ...]] = ("", [], {})
"""Defaults that are no example, because they do not show what a value contains."""
_EXAMPLE_ID_PREFIX: Final = "01a1f84a-95c0"
"""The first 48 bits of all example UUIDs (version 7): 2026-11-20T09:30:00.000Z."""


def example_for_schema(
    schema: Schema, components: Mapping[str, Schema], field_name: str = "", model_name: str = ""
) -> Any:
    """Return an example that a schema accepts.

    `field_name` is the name of the field, and `model_name` that of the model to which it belongs. Raises LookupError
    for a string without an example. The field then needs `examples`.
    """
    declared = [*schema.get("examples", [])[:1], *(schema[key] for key in ("const", "default") if key in schema)]
    if declared and ("examples" in schema or declared[0] not in _EMPTY_VALUES):
        return declared[0]
    if "$ref" in schema:
        target = str(schema["$ref"]).rsplit("/", 1)[-1]
        return example_for_schema(components[target], components, field_name, target)
    alternatives = [a for a in schema.get("anyOf", schema.get("oneOf", [])) if a != {"type": "null"}]
    if alternatives:
        return example_for_schema(alternatives[0], components, field_name, model_name)
    return schema["enum"][0] if "enum" in schema else _example_by_type(schema, components, field_name, model_name)


def with_example(name: str, components: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schema of a component with an example, as `examples` of JSON Schema."""
    return {**components[name], "examples": [example_for_schema(components[name], components, "", name)]}


def _example_by_type(schema: Schema, components: Mapping[str, Schema], field_name: str, model_name: str) -> Any:
    types = schema.get("type", "object")
    json_type = types if isinstance(types, str) else next(each for each in types if each != "null")
    if json_type == "object":
        fields = schema.get("properties", {}).items()
        examples = {key: example_for_schema(field, components, key, model_name) for key, field in fields}
        return {key: value for key, value in examples.items() if value is not None or key in schema.get("required", ())}
    if json_type == "array":
        return [example_for_schema(schema["items"], components, field_name, model_name)]
    if json_type in ("integer", "number"):
        return schema.get("minimum", 1)
    return True if json_type == "boolean" else _example_string_or_raise(schema, field_name, model_name)


def _example_string_or_raise(schema: Schema, field_name: str, model_name: str) -> str | None:
    string_format = schema.get("format", "")
    if string_format == "uuid" or schema.get("pattern") == UUID_PATTERN:
        return example_uuid(model_name if field_name == "id" else field_name)
    if field_name in _EXAMPLES_BY_FIELD:
        return _EXAMPLES_BY_FIELD[field_name]
    if string_format in _EXAMPLES_BY_FORMAT:
        return _EXAMPLES_BY_FORMAT[string_format]
    raise LookupError(f"{model_name}.{field_name} has no example: give the field `examples`")


def example_uuid(field_or_model_name: str) -> str:
    """Return the example id for the name of a field or a record. `organizationId` and `Organization` have the same."""
    record_name = re.sub(r"[^a-z]", "", field_or_model_name.lower()).removesuffix("id")
    digest = hashlib.sha256(record_name.encode()).hexdigest()
    return f"{_EXAMPLE_ID_PREFIX}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"
