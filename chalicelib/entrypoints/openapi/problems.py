"""The problems (RFC 9457) that operations can answer, as shared responses: one for each status."""

import re
from typing import Any, Final

from chalicelib.entrypoints.openapi.headers import with_common
from chalicelib.kernel.core.problems import CODES, FieldError, Problem
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation

_NAMES: Final = {
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
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_ALWAYS: Final = (400, 401, 403, 409, 429, 500, 503)
"""A 409 too, of what only reads: its answer may be larger than one can be (`kernel/execution/envelope.py`)."""

_CODE: Final = re.compile(r"`(\w+)`")

SCHEMA: Final[dict[str, Any]] = {
    "description": "What went wrong (RFC 9457), in words and as a code that programs can tell apart.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "`urn:atrium:problem:` and the code."},
        "title": {"type": "string", "description": "The code in words."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong with this request, and what to do about it."},
        "code": {"type": "string", "enum": list(CODES)},
        "instance": {"type": "string", "description": "The path that was asked for."},
        "requestId": {"type": "string", "description": "`X-Request-Id` of the answer; quote it to support."},
        "errors": {
            "description": "Every fault of the request at once.",
            "type": "array",
            "items": {"$ref": "#/components/schemas/FieldError"},
        },
    },
    "required": ["type", "title", "status", "detail", "code", "instance", "requestId"],
}
FIELD_ERROR: Final[dict[str, Any]] = {
    "description": "One fault of a request.",
    "type": "object",
    "properties": {
        "pointer": {
            "type": "string",
            "description": "Where: `/slug` in the body, `query/limit`, `path/user_id` or `header/If-Match`.",
        },
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
    "required": ["pointer", "code", "detail"],
}


def components() -> dict[str, Any]:
    """Return the shared response of each status, by name."""
    return {name: _response(status) for status, name in _NAMES.items()}


def problems_of(operation: Operation) -> dict[str, Any]:
    """Return the problems an operation can answer: what its declaration implies and the codes its docstring names."""
    named = {CODES[code][0] for code in _CODE.findall(operation.description) if code in CODES}
    statuses = sorted({*_ALWAYS, *named, *_implied(operation)})
    return {str(status): {"$ref": f"#/components/responses/{_NAMES[status]}"} for status in statuses}


def _implied(operation: Operation) -> set[int]:
    takes_body = operation.method in ("POST", "PUT", "PATCH")
    found_by_path = isinstance(operation.access, RequireRole) or operation.path_parameters or operation.extra_check
    return {
        *([404] if found_by_path else []),
        *([412] if operation.is_conditional else []),
        *([413, 415] if takes_body else []),
        *([422] if takes_body or operation.query else []),
    }


def example(code: str) -> dict[str, object]:
    """Return an example of a problem."""
    errors = [FieldError("/slug", "malformed", "must not hold two hyphens in a row")]
    problem = Problem(code, f"{CODES[code][1]}.", errors if code == "validation_failed" else ())
    return problem.document(instance="/organizations", request_id="1f0c8f5e-6a07-4b1e-9d5a-52cbe1a4d1f6")


def _response(status: int) -> dict[str, Any]:
    codes = [code for code, (of_code, _) in CODES.items() if of_code == status]
    return {
        "description": "\n".join(f"- `{code}`: {CODES[code][1]}." for code in codes),
        "headers": with_common(*_HEADERS.get(status, ())),
        "content": {
            "application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {code: {"summary": CODES[code][1], "value": example(code)} for code in codes},
            }
        },
    }
