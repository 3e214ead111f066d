"""The errors that calls raise."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from atrium_client.models import FieldError

if TYPE_CHECKING:
    import httpx

_TOO_MANY_REQUESTS: Final = 429
_FIRST_SERVER_ERROR: Final = 500


class AtriumError(Exception):
    """Base of all errors of the client."""


class ConnectionFailed(AtriumError):
    """The service did not answer, or not in time."""


class UnexpectedAnswer(AtriumError):
    """The answer is not that of Atrium: a proxy may have answered, or `base_url` is wrong."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ApiProblem(AtriumError):
    """The service rejected the request (RFC 9457). The subclasses are the statuses that programs tell apart.

    Attributes:
        status: The HTTP status.
        code: What went wrong, for programs. The meaning of a code never changes.
        title: A short description of the code, for people.
        detail: What is wrong with this request, for people.
        errors: The errors of the fields and parameters of the request. `pointer` is a JSON Pointer (RFC 6901).
        request_id: Identifies the request for those who run the service.
        retry_after: How many seconds to wait before the request is sent again.
        existing_id: The id of the record that already exists, if the caller may read it.
    """

    def __init__(self, problem: Mapping[str, Any], response: httpx.Response) -> None:
        self.status: int = response.status_code
        self.code: str = problem.get("code") or ("rate_limited" if self.status == _TOO_MANY_REQUESTS else "unavailable")
        self.title: str = problem.get("title") or response.reason_phrase or self.code
        self.detail: str = problem.get("detail") or self.title
        self.errors: list[FieldError] = [FieldError.model_validate(each) for each in problem.get("errors") or ()]
        self.request_id: str | None = problem.get("requestId") or response.headers.get("X-Request-Id")
        self.retry_after: int | None = _read_retry_after_or_none(response.headers)
        self.existing_id: str | None = problem.get("existingId")
        lines = [f"{self.status} {self.code}: {self.detail}", *(f"{e.pointer}: {e.detail}" for e in self.errors)]
        super().__init__("\n  ".join(lines))


class InvalidRequest(ApiProblem):
    """400, 405, 413, 415: the request is malformed."""


class Unauthenticated(ApiProblem):
    """401: the credential is missing, invalid or expired."""


class Forbidden(ApiProblem):
    """403: the caller's role or scope does not suffice."""


class NotFound(ApiProblem):
    """404: there is no such record, or the caller must not see it."""


class Conflict(ApiProblem):
    """409: the request contradicts the state of a record."""


class Gone(ApiProblem):
    """410: the record has ended, such as an expired invitation."""


class PreconditionFailed(ApiProblem):
    """412: the record has changed since its ETag was read."""


class ValidationFailed(ApiProblem):
    """422: fields or parameters are invalid. `errors` names them."""


class RateLimited(ApiProblem):
    """429: the caller sent too many requests."""


class ServiceUnavailable(ApiProblem):
    """500 and above: the service failed."""


_CLASSES: Final[Mapping[int, type[ApiProblem]]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    422: ValidationFailed,
    429: RateLimited,
}


def create_problem(response: httpx.Response) -> ApiProblem | UnexpectedAnswer:
    """Return the error of an answer.

    Gateways in front of the service answer 429 and 5xx without a problem. Any other such answer is not that of Atrium.
    """
    status = response.status_code
    problem = _read_problem(response)
    if not problem and status < _FIRST_SERVER_ERROR and status != _TOO_MANY_REQUESTS:
        return UnexpectedAnswer(f"Status {status} without a problem of Atrium. Check base_url.", status)
    default = InvalidRequest if status < _FIRST_SERVER_ERROR else ServiceUnavailable
    return _CLASSES.get(status, default)(problem, response)


def _read_problem(response: httpx.Response) -> Mapping[str, Any]:
    """Return the problem of an answer, or an empty one."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) and {"code", "status"} <= body.keys() else {}


def _read_retry_after_or_none(headers: httpx.Headers) -> int | None:
    """Return the seconds of `Retry-After`, which can also be a date."""
    value = headers.get("Retry-After", "")
    if value.isdecimal():
        return int(value)
    try:
        return max(0, math.ceil(parsedate_to_datetime(value).timestamp() - time.time()))
    except ValueError:
        return None
