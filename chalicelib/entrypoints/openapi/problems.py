"""Problem responses (RFC 9457), as one shared response for each status."""

import re
from typing import Any, Final

from chalicelib.entrypoints.openapi.headers import header_references_including_common
from chalicelib.kernel.core.problems import CODES, FieldError, Problem, ValidationProblem
from chalicelib.kernel.http.request import REMAPPED_WWW_AUTHENTICATE
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation

_RESPONSE_NAMES: Final = {
    400: "BadRequest",
    401: "Unauthenticated",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Gone",
    412: "PreconditionFailed",
    413: "PayloadTooLarge",
    415: "UnsupportedMediaType",
    422: "ValidationFailed",
    429: "RateLimited",
    500: "InternalError",
    503: "Unavailable",
}
_HEADERS: Final = {
    401: ("WWW-Authenticate", REMAPPED_WWW_AUTHENTICATE),
    405: ("Allow",),
    422: ("Preference-Applied",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_COMMON_STATUSES: Final = (400, 401, 403, 409, 422, 429, 500, 503)
"""The statuses of every operation.

A GET can be 409 if its response is too large (`kernel/execution/envelope.py`). Every operation can be 422 if the
request prefers strict handling of unknown query parameters (`kernel/http/query_handling.py`).
"""

_CODE: Final = re.compile(r"`(\w+)`")

_EXAMPLE_ERROR: Final = FieldError("/slug", "malformed", "must not hold two hyphens in a row")
_EXAMPLE_REQUEST_ID: Final = "1f0c8f5e-6a07-4b1e-9d5a-52cbe1a4d1f6"

PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "description": "The response to a request that failed (RFC 9457). `detail` is text for people, and `code` is for "
    "programs: its meaning never changes. `errors` lists everything that is wrong with the request at once.",
    "examples": [
        ValidationProblem([_EXAMPLE_ERROR]).document(instance="/organizations", request_id=_EXAMPLE_REQUEST_ID)
    ],
    "type": "object",
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "`urn:atrium:problem:`, followed by the code."},
        "title": {"type": "string", "description": "A short description of the code."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {
            "type": "string",
            "description": "What is wrong with this request, and what to do about it.",
        },
        "code": {"type": "string", "enum": list(CODES)},
        "instance": {"type": "string", "description": "The path of the request."},
        "requestId": {"type": "string", "description": "The `X-Request-Id` of the response, for questions to support."},
        "errors": {
            "description": "All errors of the request.",
            "type": "array",
            "items": {"$ref": "#/components/schemas/FieldError"},
        },
        "nearestRoutes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The methods and paths that the caller of an unknown route may mean.",
        },
        "existingId": {
            "type": "string",
            "description": "The id of the record that already exists, if the caller may read it.",
        },
    },
    "required": ["type", "title", "status", "detail", "code", "instance", "requestId"],
}
FIELD_ERROR_SCHEMA: Final[dict[str, Any]] = {
    "description": "One error of a request, with its location. A form can show `detail` beside the field to which "
    "`pointer` points.",
    "type": "object",
    "properties": {
        "pointer": {
            "type": "string",
            "description": "Its location: `/slug` in the body, `query/limit`, `path/user_id` or `header/If-Match`.",
            "examples": [_EXAMPLE_ERROR.pointer],
        },
        "code": {"type": "string", "description": "What is wrong, for programs.", "examples": [_EXAMPLE_ERROR.code]},
        "detail": {
            "type": "string",
            "description": "What is wrong, and what is accepted instead, for people.",
            "examples": [_EXAMPLE_ERROR.detail],
        },
    },
    "required": ["pointer", "code", "detail"],
}


def build_shared_problem_responses() -> dict[str, Any]:
    """Return the shared response of each status, by name."""
    return {name: build_shared_problem_response(status) for status, name in _RESPONSE_NAMES.items()}


def problem_references_by_status(operation: Operation) -> dict[str, Any]:
    """Return the problem responses of an operation, from its declaration and from the codes in its docstring."""
    documented = {CODES[code][0] for code in _CODE.findall(operation.docstring) if code in CODES}
    statuses = sorted({*_COMMON_STATUSES, *documented, *_implied_statuses(operation)})
    return {str(status): {"$ref": f"#/components/responses/{_RESPONSE_NAMES[status]}"} for status in statuses}


def _implied_statuses(operation: Operation) -> set[int]:
    takes_body = operation.method in ("POST", "PUT", "PATCH")
    may_be_missing = (
        isinstance(operation.access, RequireRole) or operation.path_parameter_names or operation.extra_check
    )
    return {
        *([404] if may_be_missing else []),
        *([412] if operation.supports_if_match else []),
        *([413, 415] if takes_body else []),
    }


def _example_problem(code: str) -> dict[str, object]:
    """Return an example of a problem with a code."""
    problem = Problem(code, f"{CODES[code][1]}.", [_EXAMPLE_ERROR] if code == "validation_failed" else ())
    return problem.document(instance="/organizations", request_id=_EXAMPLE_REQUEST_ID)


def build_shared_problem_response(status: int) -> dict[str, Any]:
    """Return the response with the problems of a status."""
    codes = [code for code, (code_status, _) in CODES.items() if code_status == status]
    return {
        "description": "\n".join(f"- `{code}`: {CODES[code][1]}." for code in codes),
        "headers": header_references_including_common(*_HEADERS.get(status, ())),
        "content": {
            "application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {code: {"summary": CODES[code][1], "value": _example_problem(code)} for code in codes},
            }
        },
    }
