"""Headers of requests and responses."""

from typing import Any, Final

from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.request import REMAPPED_WWW_AUTHENTICATE

Headers = dict[str, Any]

_ETAG_PATTERN: Final = r'(?:W/)?"[\x21\x23-\x7e]*"'
_ETAGS_PATTERN: Final = rf"^\s*(?:\*|{_ETAG_PATTERN}(?:\s*,\s*{_ETAG_PATTERN})*)\s*$"
"""The pattern in the document. The service itself parses the header tag by tag."""


def _string_header_object(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}


_VISIBLE_CHARACTER: Final = r"[^\s\x00-\x20\x7f-\xa0\xad]"
_IDEMPOTENCY_KEY_PATTERN: Final = rf"^{_VISIBLE_CHARACTER}(?:[^\x00-\x1f\x7f-\xa0\xad]*{_VISIBLE_CHARACTER})?$"


_REQUEST_HEADERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "ApiVersion": (
        "API-Version",
        _string_header_object(
            "The requested version of the API. The default is this version.",
            pattern=f"^{API_VERSION}$",
            examples=[API_VERSION],
        ),
    ),
    "IdempotencyKey": (
        "Idempotency-Key",
        _string_header_object(
            "Any text, quoted or not, which is the same for all attempts of one request. The request then has its "
            "effect once, and later attempts get the first response, with `Idempotency-Replayed: true`, for 24 hours.",
            minLength=1,
            maxLength=255,
            pattern=_IDEMPOTENCY_KEY_PATTERN,
        ),
    ),
    "IfMatch": (
        "If-Match",
        _string_header_object(
            "The `ETag` of the record as you read it. If the record has changed since, the response is 412.",
            pattern=_ETAGS_PATTERN,
        ),
    ),
    "IfNoneMatch": (
        "If-None-Match",
        _string_header_object(
            "The `ETag` of your copy. If it is still current, the response is 304 without a body.",
            pattern=_ETAGS_PATTERN,
        ),
    ),
    "IfNoneMatchOnChange": (
        "If-None-Match",
        _string_header_object(
            "With `*`, the record is only created. If it exists already, the response is 412.",
            pattern=_ETAGS_PATTERN,
            examples=["*"],
        ),
    ),
    "Prefer": (
        "Prefer",
        _string_header_object(
            "With `handling=strict` (RFC 7240), a query parameter that the operation does not have is rejected with "
            "422 instead of ignored. Other preferences have no effect.",
            examples=["handling=strict"],
        ),
    ),
}
"""Request headers by component name: the name of the header, and its description and schema."""

RESPONSE_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "API-Version": _string_header_object("The version of the API that responded.", format="date"),
    "Allow": _string_header_object("The allowed methods of the path."),
    "Cache-Control": _string_header_object("Who may cache the response, and for how many seconds."),
    "Deprecation": _string_header_object(
        "Since when the operation is deprecated (RFC 9745), as `@` and the seconds since 1970."
    ),
    "ETag": _string_header_object("The version of the record, which can be sent as `If-Match`."),
    "Idempotency-Replayed": _string_header_object(
        "`true` if this is the stored response of an earlier attempt.", const="true"
    ),
    "Ignored-Parameters": _string_header_object(
        "Names of the request's query parameters that the operation does not have, percent-encoded and separated by "
        "commas. They had no effect. At most 1 KiB, with at most 64 characters of each name."
    ),
    "Link": _string_header_object('The URL of the next page, if there is one: `<…>; rel="next"`.'),
    "Location": _string_header_object("The URL of the record or of the redirect's target.", format="uri-reference"),
    "Preference-Applied": _string_header_object(
        "`handling=strict` if the request had this preference.", const="handling=strict"
    ),
    "RateLimit": _string_header_object(
        "The remaining requests of each rate limit that applies, and the seconds until it is full again, as a list by "
        "name. Responses without a credential contain the limit of the client's network only once it is exceeded."
    ),
    "RateLimit-Policy": _string_header_object("The same rate limits: how many requests in how many seconds."),
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
    "Sunset": _string_header_object("When the deprecated operation is removed (RFC 8594)."),
    "WWW-Authenticate": _string_header_object(
        f"`Bearer`. In responses of the service, API Gateway renames it to `{REMAPPED_WWW_AUTHENTICATE}`."
    ),
    REMAPPED_WWW_AUTHENTICATE: _string_header_object("The name of `WWW-Authenticate` on AWS. Clients read both."),
    "X-Request-Id": _string_header_object("The id of this request in logs, problems and audit entries."),
}

_COMMON_HEADERS: Final = ("API-Version", "RateLimit", "RateLimit-Policy", "X-Request-Id")


def header_references_including_common(*names: str) -> Headers:
    """Return references to some response headers, and to those that every response has or may have."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted({*_COMMON_HEADERS, *names})}


def success_header_references(*names: str) -> Headers:
    """Return references to some response headers, and to those that every response without a problem may have."""
    return header_references_including_common(*names, "Ignored-Parameters", "Preference-Applied")


def build_header_parameters() -> dict[str, Any]:
    """Return the request headers as OpenAPI parameters, by component name."""
    return {
        name: {"name": header, "in": "header", **definition} for name, (header, definition) in _REQUEST_HEADERS.items()
    }
