"""The clients of AWS: one session for all, each made when first used, every call counted, faults made problems."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any, Final

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError
from botocore.session import Session as BotocoreSession

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings

_THROTTLES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_FAULTS: Final = frozenset(
    {
        "InternalFailure",
        "InternalServerError",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "TransactionInProgressException",
        "InternalError",
    }
)

_OF_ITEMS: Final = ("GetItem", "BatchGetItem", "Query", "UpdateItem", "TransactWriteItems")
"""Calls of DynamoDB that requests are made of."""

_MODELS: Final = Path(__file__).parents[3] / "aws_models"
"""Where botocore looks first for what it knows of AWS. Only the package has this folder (`infrastructure.models`)."""

_TIMEOUTS: Final = {"": (3, 3), "sqs": (2, 1), "s3": (2, 4), "sesv2": (1, 10)}
"""Attempts, and seconds for each: of one call that is lost a request hears within the gateway's 29 s.

Mail has one attempt: SES sends it again for every try whose answer was lost.
"""


@dataclass
class Usage:
    """What one request or message asked of AWS: `dynamodb:Query` …, in order, and how often it was throttled."""

    calls: list[str] = field(default_factory=list)
    throttles: int = 0


_usage: ContextVar[Usage | None] = ContextVar("usage", default=None)
_making = Lock()


@contextmanager
def count_calls() -> Iterator[Usage]:
    """Count the calls made within the block, in this context."""
    usage = Usage()
    token = _usage.set(usage)
    try:
        yield usage
    finally:
        _usage.reset(token)


def client(service: str) -> Any:
    """Return this process's client of a service."""
    with _making:  # Making clients is not thread-safe in botocore.
        return _client(service)


@cache
def _client(service: str) -> Any:
    known = settings()
    attempts, seconds = _TIMEOUTS.get(service, _TIMEOUTS[""])
    config = Config(
        # Retries are bounded and have jitter; what still fails is the caller's to try again, after `Retry-After`.
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=1,
        read_timeout=seconds,
        max_pool_connections=64,
        tcp_keepalive=True,
        parameter_validation=known.stage == "local",
        # Instead of the one that botocore puts together anew for each call: that takes a quarter of a call's CPU time.
        user_agent="atrium",
        # Addresses of files that are signed the old way, or name no region, don't work everywhere.
        signature_version="s3v4" if service == "s3" else None,
        s3=None if known.aws_endpoint_url else {"addressing_style": "virtual"},
    )
    return session().client(service, config=config, endpoint_url=known.aws_endpoint_url)


@cache
def session() -> Session:
    """Return the one session that every client of this process is made of."""
    emulated = {"aws_access_key_id": "local", "aws_secret_access_key": "local"} if settings().aws_endpoint_url else {}
    core = BotocoreSession()
    core.get_component("data_loader").search_paths.insert(0, str(_MODELS))
    made = Session(botocore_session=core, region_name=region(), **emulated)
    made.events.register("before-call", _count_call)
    made.events.register("needs-retry", _count_throttle)
    made.events.register_last("before-parse", _parse)
    return made


def region() -> str:
    """Return the region that this process speaks to."""
    return os.environ.get("AWS_REGION", "us-east-1")


def forget_clients() -> None:
    """Make new clients at the next use: settings or the emulator have changed."""
    _client.cache_clear()
    session.cache_clear()


def _parse(
    operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read an answer of DynamoDB at once, and leave botocore nothing of it.

    botocore walks through its model of ten types for each attribute: of fifty items that took half of a list's time.
    Binary values stay in base64, which `wire.from_wire` knows.
    """
    of_items = operation_model.service_model.service_name == "dynamodb" and operation_model.name in _OF_ITEMS
    if of_items and response_dict["status_code"] == HTTPStatus.OK:
        customized_response_dict.update(json.loads(response_dict["body"]))
        response_dict["body"] = b"{}"


def _count_call(model: Any, **_: object) -> None:
    if usage := _usage.get():
        usage.calls.append(f"{model.service_model.service_name}:{model.name}")


def _count_throttle(response: Any, **_: object) -> None:
    if (usage := _usage.get()) and response and response[1].get("Error", {}).get("Code") in _THROTTLES:
        usage.throttles += 1


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn what AWS throttles, times out or fails to do into 503 with `Retry-After`; `what` names it for the caller."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _THROTTLES:
            raise unavailable(f"The {what} is busy.") from error
        if code in _FAULTS or error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= 500:  # noqa: PLR2004
            raise unavailable(f"The {what} did not answer.") from error
        raise
    except (HTTPClientError, AwsConnectionError) as error:
        raise unavailable(f"The {what} did not answer in time.") from error


def is_throttle(code: str) -> bool:
    """Return whether an error or cancellation code means: too much at once."""
    return code in _THROTTLES
