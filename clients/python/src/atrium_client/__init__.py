"""A client of the Atrium API. `atrium_client.webhooks` verifies messages to a webhook."""

from atrium_client import models
from atrium_client._client import AsyncAtrium, Atrium
from atrium_client._omitted import OMITTED, Omitted
from atrium_client._pages import AsyncPageIterator, PageIterator
from atrium_client._version import API_VERSION, __version__
from atrium_client.errors import (
    ApiProblem,
    AtriumError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Gone,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    RateLimited,
    ServiceUnavailable,
    Unauthenticated,
    UnexpectedAnswer,
    ValidationFailed,
)

__all__ = [
    "API_VERSION",
    "OMITTED",
    "ApiProblem",
    "AsyncAtrium",
    "AsyncPageIterator",
    "Atrium",
    "AtriumError",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "Gone",
    "InvalidRequest",
    "NotFound",
    "Omitted",
    "PageIterator",
    "PreconditionFailed",
    "RateLimited",
    "ServiceUnavailable",
    "Unauthenticated",
    "UnexpectedAnswer",
    "ValidationFailed",
    "__version__",
    "models",
]
