"""One operation as OpenAPI's operation object: what it takes, what it answers, who may call it."""

from collections.abc import Mapping
from http import HTTPStatus
from inspect import signature
from typing import Any, Final, get_args

from chalicelib.entrypoints.openapi import schemas
from chalicelib.entrypoints.openapi.examples import example_of
from chalicelib.entrypoints.openapi.headers import Headers, with_common
from chalicelib.entrypoints.openapi.problems import problems_of
from chalicelib.entrypoints.openapi.records import example_record_fields, secrets
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.forms import FORMS
from chalicelib.kernel.http.models import Patch, RecordOutput
from chalicelib.kernel.operations.access_rules import RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import RawResponse, Redirect
from chalicelib.kernel.rate_limits.buckets import RateLimit

Schema = dict[str, Any]
Components = Mapping[str, Schema]

USER_TOKEN, API_KEY = "userToken", "apiKey"

_DOCUMENTS: Final[Mapping[str, Schema]] = {
    "application/json": {"schema": {"type": "object"}, "example": {"openapi": "3.1.0"}},
    "application/xml": {
        "schema": {"type": "string"},
        "example": '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>',
    },
    "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"type":"organization.created","sequence":1}\n'},
    "image/svg+xml": {"schema": {"type": "string"}, "example": '<svg xmlns="http://www.w3.org/2000/svg"></svg>'},
    "text/csv": {"schema": {"type": "string"}, "example": "sequence,id,occurredAt,type\r\n"},
    "text/css": {"schema": {"type": "string"}, "example": "body { margin: 0 }"},
    "text/html": {"schema": {"type": "string"}, "example": '<!doctype html><html lang="en"></html>'},
    "text/plain": {"schema": {"type": "string"}, "example": "User-agent: *\nDisallow:\n"},
    "text/javascript": {"schema": {"type": "string"}, "example": '"use strict";'},
    "text/x-python": {"schema": {"type": "string"}, "example": "import hashlib"},
}
"""What is answered that is no record, by media type."""


def described(operation: Operation, components: Components) -> dict[str, Any]:
    """Return the operation object. `components` are the schemas that examples are made of."""
    return {
        "operationId": operation.id,
        "tags": [operation.group],
        "summary": operation.summary.removesuffix(".").replace("`", ""),
        "description": _description(operation),
        "security": _security(operation),
        "parameters": _parameters(operation),
        **({"requestBody": _request_body(operation, components)} if operation.body else {}),
        "responses": _successes(operation, components) | problems_of(operation),
        **_extensions(operation),
    }


def _description(operation: Operation) -> str:
    """Return the docstring beyond its first sentence, and in words what the declaration says."""
    details = operation.description.partition("\n\n")[2]
    key = f"; an API key needs the scope `{operation.scope}`" if operation.scope else ""
    who = f"**Access:** `{operation.access_label}`{key}."
    events = "**Event:** " + " or ".join(f"`{event}`" for event in operation.emits) + "." if operation.emits else ""
    budget = f"**Budget:** {', '.join(map(_budget, operation.rate_limits))}." if operation.rate_limits else ""
    return "\n\n".join(part for part in (details, " ".join(filter(None, (who, events, budget)))) if part)


def _budget(budget: RateLimit) -> str:
    scope_name = "client network" if budget.per == "network" else budget.per
    return f"{budget.limit} times in {budget.seconds} s for each {scope_name}"


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    if operation.allows_anonymous:
        return []
    user: dict[str, list[str]] = {USER_TOKEN: []}
    key: dict[str, list[str]] = {API_KEY: [operation.scope or ""]}
    anyone: list[dict[str, list[str]]] = (
        [{}] if isinstance(operation.access, RequireRole) and operation.access.if_published else []
    )
    return [*anyone, user, key] if operation.scope else [*anyone, user]


def _extensions(operation: Operation) -> dict[str, Any]:
    usual, others = operation.emits[:1], operation.emits[1:]
    return {
        "x-atrium-access": operation.access_label,
        **({"x-atrium-scope": operation.scope} if operation.scope else {}),
        **({"x-atrium-event": usual[0]} if usual else {}),
        **({"x-atrium-other-events": list(others)} if others else {}),
    }


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(operation, name)}
        for name in operation.path_parameters
    ]
    return [*path, *_query_parameters(operation), *_header_parameters(operation)]


def _path_schema(operation: Operation, name: str) -> Schema:
    pattern = operation.path_patterns[name]
    return {"type": "string", "pattern": pattern, **({"format": "uuid"} if pattern == UUID_PATTERN else {})}


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    required = schemas.required_fields(operation.query)
    return [
        {
            "name": name,
            "in": "query",
            **({"required": True} if name in required else {}),
            **({"description": field["description"]} if "description" in field else {}),
            # Without examples: a page that fills them in would send them.
            "schema": {key: value for key, value in field.items() if key not in ("description", "examples")},
        }
        for name, field in schemas.query_fields(operation.query).items()
    ]


def _header_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = ["IfMatch"] if operation.is_conditional else []
    names += ["IfNoneMatch"] if has_etag(operation) and operation.method == "GET" else []
    names += ["IdempotencyKey"] if operation.method == "POST" else []
    shared = [{"$ref": f"#/components/parameters/{name}"} for name in [*names, "ApiVersion"]]
    return [*_token(operation), *shared]


def _token(operation: Operation) -> list[dict[str, Any]]:
    """Return the header that carries the token by which an operation is called, if one does."""
    if not isinstance(operation.access, RequireRecordToken):
        return []
    header = {"name": operation.access.header, "in": "header", "required": bool(operation.records)}
    return [{**header, "description": "The token that came with what it opens.", "schema": {"type": "string"}}]


def has_etag(operation: Operation) -> bool:
    """Return whether the answer is one record, or a document or a list that names its state."""
    answer = operation.response_model
    if answer is None:
        return operation.method == "GET" and bool(media_types(operation))
    return operation.has_etag if operation.is_list else issubclass(answer, RecordOutput) or answer.content_etag


def _request_body(operation: Operation, components: Components) -> dict[str, Any]:
    body = operation.body
    assert body  # noqa: S101 - the only caller asked
    schema = schemas.reference(body.__name__)
    content = {"schema": schema, "example": example_of(schema, components)}
    types = ["application/json", *(["application/merge-patch+json"] if operation.method == "PATCH" else [])]
    types += FORMS if operation.accepts_form else ()
    required = any(field.is_required() for field in body.model_fields.values()) and not issubclass(body, Patch)
    return {"required": required, "content": dict.fromkeys(types, content)}


def _successes(operation: Operation, components: Components) -> dict[str, Any]:
    responses = {str(operation.success): _success(operation, components)}
    if operation.existing_status:
        there = responses[str(operation.success)]
        headers = {name: header for name, header in there["headers"].items() if name != "Location"}
        responses[str(operation.existing_status)] = {
            **there,
            "description": "It was there already.",
            "headers": headers,
        }
    if has_etag(operation) and operation.method == "GET":
        responses["304"] = {
            "description": "It has not changed: use the one in hand.",
            "headers": with_common("ETag", *_cache_headers(operation)),
        }
    for status in _moves(operation):
        responses[str(status)] = {"description": "It has moved.", "headers": with_common("Location")}
    return responses


def _moves(operation: Operation) -> list[int]:
    """Return the statuses of an answer that leads elsewhere: `Annotated[Moved, 301, 308]`, or 301 alone."""
    for answer in get_args(signature(operation.function).return_annotation):
        if answer is Redirect:
            return [301]
        if get_args(answer)[:1] == (Redirect,):
            return [*get_args(answer)[1:]]
    return []


def _success(operation: Operation, components: Components) -> dict[str, Any]:
    response = {"description": _outcome(operation), "headers": _success_headers(operation)}
    if operation.response_model is None:
        content = {media_type: _DOCUMENTS[media_type] for media_type in media_types(operation)}
        return response | ({"content": content} if content else {})
    name = schemas.list_name if operation.is_list else lambda model: schemas.public_name(model.__name__)
    schema = schemas.reference(name(operation.response_model))
    example = example_of(schema, components)
    if operation.method == "POST":
        example |= secrets(operation.response_model)
    if operation.success == HTTPStatus.ACCEPTED:
        example |= example_record_fields(operation.response_model)
    others = {media_type: _DOCUMENTS[media_type] for media_type in media_types(operation)}
    return response | {"content": {"application/json": {"schema": schema, "example": example}, **others}}


def _outcome(operation: Operation) -> str:
    if operation.response_model is None:
        return "Done." if operation.mutates else "As asked."
    name = schemas.public_name(operation.response_model.__name__)
    if operation.is_list:
        return f"A page of the list: `{name}`, and the cursor of the next page."
    return f"The new `{name}`." if operation.creates and not operation.returns_target else f"The `{name}`."


def _success_headers(operation: Operation) -> Headers:
    return with_common(
        *(["ETag"] if has_etag(operation) else []),
        *_cache_headers(operation),
        *(["Location"] if operation.creates else []),
        *(["Link"] if operation.is_list else []),
        *(["Idempotency-Replayed"] if operation.method == "POST" else []),
    )


def _cache_headers(operation: Operation) -> list[str]:
    return ["Cache-Control"] if operation.cache_control else []


def media_types(operation: Operation) -> list[str]:
    """Return what an operation answers that is no JSON record: `Annotated[Document, "text/html"]`, alone or not."""
    annotation = signature(operation.function).return_annotation
    for kind in (annotation, *get_args(annotation)):
        if get_args(kind)[:1] == (RawResponse,):
            return [*get_args(kind)[1:]]
    return []
