"""Checks responses and events against the OpenAPI document and the conventions of the service."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jsonschema import Draft202012Validator

from chalicelib.entrypoints.kinds import KINDS
from chalicelib.kernel.core.problems import CODES
from chalicelib.kernel.core.version import API_VERSION
from local.paths import ROOT
from tests.harness.challenges import get_challenge

_INTERNALS: Final = re.compile(
    r"Traceback|File \"/|\.py\b|botocore|boto3|ClientError|Exception|pydantic|DynamoDB|amazonaws|TransactionCanceled"
)
_DOWNLOAD_URL: Final = re.compile(r'"downloadUrl":"[^"]+"')
"""A download URL, which may name the file store: the caller requested it."""
_POINTER: Final = re.compile(r'"pointer": ?"(?:[^"\\]|\\.)*"')
"""The pointer of an error, which repeats names from the request."""

_STATE_FIELDS: Final = (
    "acceptUrl",
    "downloadUrl",
    "key",
    "secret",
    "error",
    "deletionDueAt",
    "entryCount",
    "sizeBytes",
    "sha256",
)
"""Fields that are null in some states of a record."""

_STATUSES_WITHOUT_BODY: Final = (204, 301, 302, 304)


def check_response(method: str, route: str, answer: Any) -> None:
    """Assert that a response conforms to the document and the conventions."""
    assert answer.headers["API-Version"] == API_VERSION
    assert answer.headers["X-Request-Id"] == answer.request_id
    _check_reveals_no_internals(route, answer)
    if answer.status in _STATUSES_WITHOUT_BODY:
        assert answer.text == "", f"{answer.status} has no body"
    if answer.status >= 400 and not _is_documented_error_page(method, route, answer):
        _check_problem(answer)
    if documented := _operation(method, route):
        responses = documented["responses"]
        assert str(answer.status) in responses, f"{method} {route} does not document {answer.status}: {answer.text}"
        _check_response(method, route, answer)


def _is_documented_error_page(method: str, route: str, answer: Any) -> bool:
    """Return whether the operation documents an HTML page for an error, and the response is one."""
    response = _operation(method, route).get("responses", {}).get(str(answer.status), {})
    is_html = answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return is_html and "text/html" in response.get("x-atrium-other-media-types", ())


def check_event(entry: Mapping[str, Any]) -> None:
    """Assert that an entry conforms to the documentation of its event, and the documented example to its state."""
    operation = openapi_document()["webhooks"][entry["type"]]["post"]
    message = operation["requestBody"]["content"]["application/json"]
    data = {**message["schema"]["properties"]["data"], "unevaluatedProperties": False}
    errors = _validator_of(data).iter_errors(entry["data"])
    assert [f"{error.json_path}: {error.message}" for error in errors] == [], entry
    example = message.get("example") or operation["x-atrium-example"]
    assert _state_of(example["data"]) == _state_of(entry["data"]), entry


def check_message(payload: Mapping[str, Any]) -> None:
    """Assert that a message to a webhook conforms to the documentation of its event."""
    content = openapi_document()["webhooks"][payload["type"]]["post"]["requestBody"]["content"]["application/json"]
    errors = _validator_of({**content["schema"], "unevaluatedProperties": False}).iter_errors(payload)
    assert [f"{error.json_path}: {error.message}" for error in errors] == [], payload


def _state_of(record: Mapping[str, Any]) -> tuple[Any, dict[str, bool]]:
    """Return a record's status, and which of its nullable fields have values."""
    return record.get("status"), {name: record[name] is not None for name in _STATE_FIELDS if name in record}


def _check_reveals_no_internals(route: str, answer: Any) -> None:
    if route.startswith(("/console/", "/docs", "/llms.txt", "/openapi.json", "/event-types")):
        return
    text = _POINTER.sub("", _DOWNLOAD_URL.sub("", answer.text))
    found = _INTERNALS.search(text) or _INTERNALS.search(str(dict(answer.headers)))
    assert not found, f"{found} reveals internals: {answer.text}"


def _check_problem(answer: Any) -> None:
    problem = answer.json
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert list(_validator("Problem").iter_errors(problem)) == []
    assert set(problem) <= set(openapi_document()["components"]["schemas"]["Problem"]["properties"])
    assert problem["type"] == f"urn:atrium:problem:{problem['code']}"
    assert (problem["status"], problem["title"]) == CODES[problem["code"]]
    assert problem["status"] == answer.status
    assert problem["requestId"] == answer.request_id
    assert problem["instance"] == answer.path
    details = [problem["detail"], *(error["detail"] for error in problem.get("errors", ()))]
    assert not [kind for kind in KINDS if "." in kind and any(kind in text for text in details)], details
    if answer.status == 401:
        assert get_challenge(answer.headers) == "Bearer"
    if answer.status in (429, 503):
        assert int(answer.headers["Retry-After"]) > 0
    if problem["code"] == "validation_failed":
        assert problem["errors"], "a validation problem has errors"


def _check_response(method: str, route: str, answer: Any) -> None:
    response = _resolve(_operation(method, route)["responses"][str(answer.status)])
    content = response.get("content", {})
    if not content:
        assert answer.text == ""
        return
    media_type = answer.headers["Content-Type"].partition(";")[0]
    documented = {*content, *response.get("x-atrium-other-media-types", ())}
    assert media_type in documented, f"{method} {route} does not document {media_type}"
    for header in ("ETag", "Location"):
        assert header in answer.headers or header not in response["headers"], f"{method} {route} has no {header}"
    if media_type == "application/json":
        errors = _body_validator(method, route, answer.status).iter_errors(answer.json)
        assert [f"{error.json_path}: {error.message}" for error in errors] == [], f"{method} {route}: {answer.text}"


@cache
def openapi_document() -> dict[str, Any]:
    """Return the generated OpenAPI document. A test compares it with the code."""
    document: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
    return document


def _operation(method: str, route: str) -> dict[str, Any]:
    operation: dict[str, Any] = openapi_document()["paths"].get(route, {}).get(method.lower(), {})
    return operation


def _resolve(described: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in described:
        return described
    target: Any = openapi_document()
    for part in described["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    resolved: Mapping[str, Any] = target
    return resolved


@cache
def _body_validator(method: str, route: str, status: int) -> Draft202012Validator:
    response = _resolve(_operation(method, route)["responses"][str(status)])
    return _validator_of(_close(response["content"]["application/json"]["schema"]))


def _close(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema without undocumented fields in a record or in the items of a list."""
    described = _resolve(schema)
    if described is schema:
        return schema  # Not a record, but a document of another specification.
    if "items" not in described.get("properties", {}):
        return {**schema, "unevaluatedProperties": False}
    items = described["properties"]["items"]
    closed = {**items, "items": {**items["items"], "unevaluatedProperties": False}}
    return {**described, "properties": {**described["properties"], "items": closed}, "unevaluatedProperties": False}


@cache
def _validator(component: str) -> Draft202012Validator:
    return _validator_of({"$ref": f"#/components/schemas/{component}"})


def _validator_of(schema: Mapping[str, Any]) -> Draft202012Validator:
    base = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": openapi_document()["components"]}
    return Draft202012Validator({**base, **schema}, format_checker=Draft202012Validator.FORMAT_CHECKER)
