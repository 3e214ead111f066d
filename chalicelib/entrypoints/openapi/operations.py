"""The OpenAPI operation object of an operation: its parameters, body, responses and access."""

from collections.abc import Mapping
from http import HTTPStatus
from inspect import signature
from typing import Any, Final, get_args

from chalicelib.entrypoints.openapi import client_names, schemas
from chalicelib.entrypoints.openapi.code_samples import build_curl_sample
from chalicelib.entrypoints.openapi.examples import example_for_schema
from chalicelib.entrypoints.openapi.headers import Headers, success_header_references
from chalicelib.entrypoints.openapi.problems import build_shared_problem_response, problem_references_by_status
from chalicelib.entrypoints.openapi.record_examples import example_secret_fields, record_default_values_by_alias
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.forms import FORMS
from chalicelib.kernel.http.models import Patch, RecordOutput
from chalicelib.kernel.operations.access_rules import (
    Caller,
    OperatorsToo,
    RequireRecordToken,
    RequireRole,
    ServiceKeysToo,
)
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import ErrorDocument, RawResponse, Redirect
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits.buckets import RateLimit

Schema = dict[str, Any]
Components = Mapping[str, Schema]

OTHER_MEDIA_TYPES: Final = "x-atrium-other-media-types"
"""The extension of a JSON response that lists the media types which the header `Accept` can request instead."""

USER_TOKEN, API_KEY, SERVICE_KEY, LINK_TOKEN = "userToken", "apiKey", "serviceKey", "linkToken"

_CALLERS: Final[Mapping[str, str]] = {
    Caller.PUBLIC: "everybody, without a credential",
    Caller.PRINCIPAL: "everybody with a valid credential",
    Caller.USER: "users, by their token",
    Caller.OPERATOR: "operators of the service",
    Caller.LINK: "the holder of a signed link, by its token",
}

_CONTENT_BY_MEDIA_TYPE: Final[Mapping[str, Schema]] = {
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
    "text/markdown": {"schema": {"type": "string"}, "example": "# Concepts\n"},
    "text/plain": {"schema": {"type": "string"}, "example": "User-agent: *\nDisallow:\n"},
    "text/javascript": {"schema": {"type": "string"}, "example": '"use strict";'},
    "text/xml": {
        "schema": {"type": "string"},
        "example": '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>',
    },
    "text/x-python": {"schema": {"type": "string"}, "example": "import hashlib"},
}
"""Schema and example of the responses that are not records, by media type."""


def build_operation_object(operation: Operation, schemas_by_name: Components) -> dict[str, Any]:
    """Return the operation object. `schemas_by_name` are the schemas from which examples are built."""
    return {
        "operationId": operation.id,
        "tags": [operation.group],
        "summary": operation.summary.removesuffix(".").replace("`", ""),
        "description": _operation_description(operation),
        **({"deprecated": True} if operation.deprecation else {}),
        "security": _security_requirements(operation),
        "parameters": _parameter_objects(operation),
        **({"requestBody": _request_body_object(operation, schemas_by_name)} if operation.body_model else {}),
        "responses": _non_problem_responses_by_status(operation, schemas_by_name)
        | problem_references_by_status(operation)
        | _error_documents_by_status(operation),
        **_extension_fields(operation),
        "x-codeSamples": [build_curl_sample(operation, schemas_by_name)],
    }


def _operation_description(operation: Operation) -> str:
    """Return the docstring without its summary, followed by the access rule, events, rate limits and deprecation."""
    details = operation.docstring.partition("\n\n")[2]
    required_scope = f"; an API key needs the scope `{operation.scope}`" if operation.scope else ""
    optional = "; a credential is optional, and changes the response" if operation.has_optional_credential else ""
    link = (
        "; a signed link to the record is enough, too"
        if operation.path_parameter_names and operation.link_types
        else ""
    )
    access = f"**Access:** `{operation.access_label}` ({describe_access(operation)}{optional}){required_scope}{link}."
    events = "**Event:** " + " or ".join(f"`{event}`" for event in operation.emits) + "." if operation.emits else ""
    limits = ", ".join(map(_describe_rate_limit, operation.rate_limits))
    rate_limit = f"**Rate limit:** {limits}." if limits else ""
    deprecation = operation.deprecation.description if operation.deprecation else ""
    return "\n\n".join(filter(None, (deprecation, details, " ".join(filter(None, (access, events, rate_limit))))))


def describe_access(operation: Operation) -> str:
    """Return the access rule of an operation in words."""
    rule = operation.access
    if isinstance(rule, Caller):
        return _CALLERS[rule]
    if isinstance(rule, RequireRecordToken) or rule.public_label:
        return _CALLERS.get(operation.access_label, "everybody with that token")
    or_higher = "" if rule.role is Role.OWNER else " or higher"
    role = f"role {rule.role}{or_higher} in the {rule.role_container_type.kind}" if rule.role else _CALLERS[Caller.USER]
    if isinstance(rule.policy, OperatorsToo):
        role += f", or {_CALLERS[Caller.OPERATOR]}"
    if isinstance(rule.policy, ServiceKeysToo):
        role += ", or a service key"
    return (
        f"everybody once the {rule.container_type.kind} is published, until then {role}" if rule.if_published else role
    )


def _describe_rate_limit(rate_limit: RateLimit) -> str:
    subject = "client network" if rate_limit.per == "network" else rate_limit.per
    return f"{rate_limit.limit} requests in {rate_limit.seconds} s for each {subject}"


def _security_requirements(operation: Operation) -> list[dict[str, list[str]]]:
    """Return the alternatives. Clients send a credential only to operations that list one, also if it is optional.

    Only OAuth schemes can list scopes here, so the scope that a key needs is `x-atrium-scope`.
    """
    if not operation.takes_credential:
        return []
    is_optional = operation.has_optional_credential
    is_optional_key = is_optional and operation.allows_api_keys
    allows_anonymous = is_optional or (isinstance(operation.access, RequireRole) and operation.access.if_published)
    alternatives: list[tuple[bool, dict[str, list[str]]]] = [
        (bool(allows_anonymous), {}),
        (operation.access is not Caller.LINK, {USER_TOKEN: []}),
        (is_optional_key or operation.is_open_to_api_keys, {API_KEY: []}),
        (is_optional_key or operation.is_open_to_service_keys, {SERVICE_KEY: []}),
        (bool(operation.link_types), {LINK_TOKEN: []}),
    ]
    return [alternative for is_accepted, alternative in alternatives if is_accepted]


def _extension_fields(operation: Operation) -> dict[str, Any]:
    main_event, other_events = operation.emits[:1], operation.emits[1:]
    return {
        "x-atrium-access": operation.access_label,
        client_names.EXTENSION: client_names.client_names(operation)._asdict(),
        **({"x-atrium-scope": operation.scope} if operation.scope else {}),
        **({"x-atrium-event": main_event[0]} if main_event else {}),
        **({"x-atrium-other-events": list(other_events)} if other_events else {}),
    }


def _parameter_objects(operation: Operation) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": _path_parameter_schema(operation, name)}
        for name in operation.path_parameter_names
    ]
    return [*path, *_query_parameter_objects(operation), *_header_parameter_objects(operation)]


def _path_parameter_schema(operation: Operation, parameter_name: str) -> Schema:
    pattern = operation.path_parameter_patterns[parameter_name]
    return {"type": "string", "pattern": pattern, **({"format": "uuid"} if pattern == UUID_PATTERN else {})}


def _query_parameter_objects(operation: Operation) -> list[dict[str, Any]]:
    if operation.query_model is None:
        return []
    required = schemas.required_query_parameters(operation.query_model)
    return [
        {
            "name": name,
            "in": "query",
            **({"required": True} if name in required else {}),
            **({"description": field["description"]} if "description" in field else {}),
            # Without examples, because documentation pages fill them in and send them.
            "schema": {key: value for key, value in field.items() if key not in ("description", "examples")},
        }
        for name, field in schemas.query_parameter_schemas(operation.query_model).items()
    ]


def _header_parameter_objects(operation: Operation) -> list[dict[str, Any]]:
    names = ["IfMatch"] if operation.supports_if_match else []
    names += ["IfNoneMatchOnChange"] if operation.can_create_record_in_path else []
    names += ["IfNoneMatch"] if has_etag(operation) and operation.method == "GET" else []
    names += ["IdempotencyKey"] if operation.method == "POST" else []
    shared = [{"$ref": f"#/components/parameters/{name}"} for name in [*names, "ApiVersion", "Prefer"]]
    return [*_record_token_header_parameter_objects(operation), *shared]


def _record_token_header_parameter_objects(operation: Operation) -> list[dict[str, Any]]:
    """Return the header with the record token, for an operation that requires one."""
    if not isinstance(operation.access, RequireRecordToken):
        return []
    header = {"name": operation.access.header, "in": "header", "required": bool(operation.record_types_by_parameter)}
    return [
        {**header, "description": "The token from the response that created the record.", "schema": {"type": "string"}}
    ]


def has_etag(operation: Operation) -> bool:
    """Return whether the response has an ETag: one record, a document, or a page of a list."""
    model = operation.response_or_item_model
    if model is None:
        return operation.method == "GET" and bool(raw_response_media_types(operation))
    return operation.has_list_etag if operation.is_list else issubclass(model, RecordOutput) or model.content_etag


def _request_body_object(operation: Operation, components: Components) -> dict[str, Any]:
    body = operation.body_model
    assert body  # noqa: S101 - the only caller checks this
    schema = schemas.schema_reference(body.__name__)
    content = {"schema": schema, "example": example_for_schema(schema, components)}
    types = ["application/json", *(["application/merge-patch+json"] if operation.method == "PATCH" else [])]
    types += FORMS if operation.accepts_form else ()
    has_required_fields = any(field.is_required() for field in body.model_fields.values())
    required = operation.requires_body or (has_required_fields and not issubclass(body, Patch))
    return {"required": required, "content": dict.fromkeys(types, content)}


def _non_problem_responses_by_status(operation: Operation, components: Components) -> dict[str, Any]:
    responses = {str(operation.success): _success_response_object(operation, components)}
    if operation.existing_status:
        created = responses[str(operation.success)]
        headers = {name: header for name, header in created["headers"].items() if name != "Location"}
        responses[str(operation.existing_status)] = {
            **created,
            "description": "It existed already.",
            "headers": headers,
        }
    if operation.created_status:
        replaced = responses[str(operation.success)]
        responses[str(operation.created_status)] = {
            **replaced,
            "description": "It did not exist, and was created.",
            "headers": replaced["headers"] | success_header_references("Location"),
        }
    if has_etag(operation) and operation.method == "GET":
        responses["304"] = {
            "description": "It has not changed. Use your copy.",
            "headers": success_header_references("ETag", *_cache_control_names_if_declared(operation)),
        }
    for status in _redirect_statuses(operation):
        responses[str(status)] = {
            "description": "A redirect to the `Location`.",
            "headers": success_header_references("Location"),
        }
    return responses


def _redirect_statuses(operation: Operation) -> list[int]:
    """Return the statuses of an operation that can redirect: `Annotated[Redirect, 301, 308]`. The default is 301."""
    if Redirect in get_args(signature(operation.function).return_annotation):
        return [301]
    return _annotated_values_of_result(operation, Redirect)


def _success_response_object(operation: Operation, components: Components) -> dict[str, Any]:
    response = {"description": _success_description(operation), "headers": _success_header_references(operation)}
    if operation.response_or_item_model is None:
        content = {media_type: _CONTENT_BY_MEDIA_TYPE[media_type] for media_type in raw_response_media_types(operation)}
        return response | ({"content": content} if content else {})
    name = schemas.list_name if operation.is_list else lambda model: schemas.public_model_name(model.__name__)
    schema = schemas.schema_reference(name(operation.response_or_item_model))
    example = example_for_schema(schema, components)
    if operation.method == "POST":
        example |= example_secret_fields(operation.response_or_item_model)
    if operation.success == HTTPStatus.ACCEPTED:
        example |= record_default_values_by_alias(operation.response_or_item_model)
    content = {"application/json": {"schema": schema, "example": example}}
    return _with_other_media_types(response | {"content": content}, raw_response_media_types(operation))


def _with_other_media_types(response: dict[str, Any], media_types: list[str]) -> dict[str, Any]:
    """Return a JSON response that names the other media types which the header `Accept` can request.

    They are no part of `content`: clients that openapi-typescript generates would return `JSON | string`.
    """
    if not media_types:
        return response
    names = " or ".join(f"`{media_type}`" for media_type in media_types)
    description = f"{response['description']} If `Accept` prefers it, the response is {names} instead."
    return response | {"description": description, OTHER_MEDIA_TYPES: media_types}


def _success_description(operation: Operation) -> str:
    if operation.response_or_item_model is None:
        return "Success." if operation.emits_events else "The document."
    name = schemas.public_model_name(operation.response_or_item_model.__name__)
    if operation.is_list:
        return f"A page of the list: `{name}` items, and the cursor of the next page."
    return f"The new `{name}`." if operation.has_location and not operation.returns_record_in_path else f"The `{name}`."


def _success_header_references(operation: Operation) -> Headers:
    return success_header_references(
        *(["ETag"] if has_etag(operation) else []),
        *(operation.deprecation.headers if operation.deprecation else ()),
        *_cache_control_names_if_declared(operation),
        *(["Location"] if operation.has_location else []),
        *(["Link"] if operation.is_list else []),
        *(["Idempotency-Replayed"] if operation.method == "POST" else []),
    )


def _cache_control_names_if_declared(operation: Operation) -> list[str]:
    return ["Cache-Control"] if operation.cache_control else []


def raw_response_media_types(operation: Operation) -> list[str]:
    """Return the media types of responses that are not JSON records: `Annotated[RawResponse, "text/html"]`."""
    return _annotated_values_of_result(operation, RawResponse)


def _error_documents_by_status(operation: Operation) -> dict[str, Any]:
    """Return the responses that are a problem or, to people, a page: `Annotated[ErrorDocument, 404, "text/html"]`."""
    values = _annotated_values_of_result(operation, ErrorDocument)
    if not values:
        return {}
    status, *media_types = values
    problem = build_shared_problem_response(status)
    return {str(status): _with_other_media_types(problem, media_types)}


def _annotated_values_of_result(operation: Operation, result_type: type) -> list[Any]:
    """Return the values with which the return annotation of an operation annotates a type, or nothing."""
    annotation = signature(operation.function).return_annotation
    for each in (annotation, *get_args(annotation)):
        if get_args(each)[:1] == (result_type,):
            return [*get_args(each)[1:]]
    return []
