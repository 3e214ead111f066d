"""Problem details (RFC 9457): the errors that a request can cause.

Problem                a response: raise it anywhere below the pipeline
└─ ValidationProblem   422 validation_failed, with one FieldError for each error
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from chalicelib.kernel.core.nearest_names import ask_whether_meant

CODES: Final[Mapping[str, tuple[int, str]]] = {
    "malformed_json": (400, "The body is not JSON"),
    "invalid_cursor": (400, "The cursor is not valid here"),
    "invalid_header": (400, "A header is not valid"),
    "unknown_api_version": (400, "The API version is not known"),
    "unauthenticated": (401, "A valid credential is needed"),
    "token_expired": (401, "The token has expired"),
    "api_key_revoked": (401, "The API key or its secret was revoked"),
    "api_key_expired": (401, "The API key has expired"),
    "insufficient_role": (403, "The role does not allow this"),
    "insufficient_scope": (403, "The API key's scopes do not allow this"),
    "email_mismatch": (403, "The e-mail address is not the invited one"),
    "ip_not_allowed": (403, "The API key may not be used from this address"),
    "forbidden": (403, "This credential may not do this"),
    "not_found": (404, "There is no such resource"),
    "no_such_route": (404, "There is no such route"),
    "method_not_allowed": (405, "The resource has no such method"),
    "slug_taken": (409, "The slug is taken"),
    "already_exists": (409, "It exists already"),
    "already_member": (409, "They are a member already"),
    "invalid_transition": (409, "The status can't change so"),
    "owner_must_transfer": (409, "The ownership has to be transferred first"),
    "domain_taken": (409, "The domain is taken"),
    "cycle": (409, "It would be its own ancestor"),
    "redirect_loop": (409, "The redirect would not end"),
    "not_empty": (409, "It is not empty"),
    "limit_exceeded": (409, "The limit is reached"),
    "export_too_large": (409, "The export is too large"),
    "idempotency_in_progress": (409, "The same request is under way"),
    "conflict": (409, "Others kept changing it"),
    "invitation_expired": (410, "The invitation has expired"),
    "invitation_revoked": (410, "The invitation was revoked"),
    "invitation_used": (410, "The invitation was used"),
    "export_expired": (410, "The export has expired"),
    "precondition_failed": (412, "It has changed since"),
    "payload_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The content type is not supported"),
    "validation_failed": (422, "The request has faults"),
    "idempotency_key_reused": (422, "The idempotency key belongs to another request"),
    "rate_limited": (429, "Too many requests"),
    "internal_error": (500, "Something went wrong here"),
    "unavailable": (503, "The service is not available at the moment"),
}

MAX_ERRORS: Final = 100
"""Maximum number of errors in one response. All errors of a large body could exceed the size of a response."""

_MAX_VALUE_CHARACTERS: Final = 200
"""Characters of a received value that an error shows. The rest is omitted."""


@dataclass(frozen=True)
class FieldError:
    """An error of a request. `pointer`: `/slug` in the body, `query/limit`, `path/user_id` or `header/If-Match`."""

    pointer: str
    code: str
    detail: str

    def with_pointer_prefix(self, pointer: str) -> "FieldError":
        """Return the error for a value at `pointer`, if the error's own pointer starts at that value."""
        return FieldError(f"{pointer}{self.pointer}", self.code, self.detail)


@dataclass
class Problem(Exception):
    """A response with status 4xx or 5xx (RFC 9457). `detail` says what is wrong and what to do about it.

    `extensions`: further members of the document, such as the id of the record that already exists.
    """

    code: str
    detail: str
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return code and detail, for log records."""
        return f"{self.code}: {self.detail}"

    @classmethod
    def create_with_field_error(cls, pointer: str, problem_code: str, detail: str) -> "Problem":
        """Return a problem with one error at a pointer in the request."""
        return Problem(problem_code, detail, [FieldError(pointer, problem_code, detail)])

    @property
    def status(self) -> int:
        """Return the HTTP status of the code."""
        return CODES[self.code][0]

    @property
    def is_server_error(self) -> bool:
        """Return whether the service caused the problem (5xx), so that the request may have had an effect."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    def document(self, *, instance: str, request_id: str) -> dict[str, object]:
        """Return the JSON members of the response, without empty ones."""
        status, title = CODES[self.code]
        document: dict[str, object] = {
            "type": f"urn:atrium:problem:{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "code": self.code,
            "instance": instance,
            "requestId": request_id,
        }
        if self.errors:
            document["errors"] = [{"pointer": e.pointer, "code": e.code, "detail": e.detail} for e in self.errors]
        return {**document, **self.extensions}


class ValidationProblem(Problem):
    """422 with all errors of the request, or with the first `MAX_ERRORS`."""

    def __init__(self, errors: Sequence[FieldError], headers: Mapping[str, str] | None = None) -> None:
        """Initialize the problem from at least one error, with further headers of the response."""
        count = "One field is" if len(errors) == 1 else f"{len(errors)} fields are"
        shown = "errors" if len(errors) <= MAX_ERRORS else f"errors for the first {MAX_ERRORS}"
        super().__init__("validation_failed", f"{count} not valid; see {shown}.", errors[:MAX_ERRORS], headers or {})


def not_found() -> Problem:
    """Return the common response for missing resources and for those that the caller cannot see."""
    return Problem("not_found", "The resource does not exist, or you cannot see it. Check the URL and the credential.")


def invalid_token(advice: str) -> Problem:
    """Return 404 for a link whose token the service did not sign, or whose record is gone. `advice`: how to go on."""
    return Problem("not_found", f"The token in the link is not valid. {advice}")


def no_such_route(nearest_routes: Mapping[str, str] = MappingProxyType({}), *, base: str = "") -> Problem:
    """Return 404 for a method and path that no operation has. It discloses nothing, because the routes are public.

    `nearest_routes`: what the caller may mean, if known, as in `describe_nearest_routes`. `base`: the path of the API,
    such as `/prod`.
    """
    advice = describe_nearest_routes(nearest_routes) or f"The documentation at {base}/docs lists all operations."
    return Problem(
        "no_such_route",
        f"No operation has this method and path. {advice}",
        headers={"Link": f'<{base}/docs>; rel="service-doc"'},  # RFC 8631
        extensions={"nearestRoutes": [*nearest_routes]} if nearest_routes else {},
    )


def describe_nearest_routes(nearest_routes: Mapping[str, str]) -> str:
    """Return a question that names routes, or an empty text without any.

    `nearest_routes` maps a method and path, such as `GET /platforms`, to the words that follow it in the question.
    """
    names = [f"{route} {words}".rstrip() for route, words in nearest_routes.items()]
    return ask_whether_meant(names)


def unavailable(detail: str, retry_after_seconds: int = 1) -> Problem:
    """Return 503 with `Retry-After` in seconds."""
    return Problem("unavailable", f"{detail} Try again in a moment.", headers={"Retry-After": str(retry_after_seconds)})


def internal_error() -> Problem:
    """Return 500. Only the log contains the cause."""
    return Problem("internal_error", "The error is on our side. It is in our log with this requestId.")


def unauthenticated(
    detail: str = "Send `Authorization: Bearer <token or API key>`.", code: str = "unauthenticated"
) -> Problem:
    """Return 401 with the authentication scheme."""
    return Problem(code, detail, headers={"WWW-Authenticate": "Bearer"})


def shorten_repr(value: object) -> str:
    """Return a value that somebody else chose for a message, without the rest of a long one."""
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}…"
