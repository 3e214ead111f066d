"""AWS clients, which are created on first use.

All clients of a process share one session. Their calls are counted, and outages are raised as Problem `unavailable`.
"""

import json
import os
from collections.abc import Iterator, Mapping
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
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError
from botocore.session import Session as BotocoreSession

from chalicelib.kernel.core.idle_connections import IdleConnections
from chalicelib.kernel.core.problems import Problem, unavailable
from chalicelib.kernel.core.settings import settings

AwsError = Problem | ClientError | BotoCoreError
"""The failure of an AWS call. It is a Problem after an outage."""

AWS_ERRORS: Final = (Problem, ClientError, BotoCoreError)
"""The classes of AwsError."""

THROTTLING_CODES: Final = frozenset(
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
"""Codes of errors, and of cancelled transactions, that mean throttling."""

_SERVER_ERRORS: Final = frozenset(
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

_ITEM_OPERATIONS: Final = ("GetItem", "BatchGetItem", "Query", "UpdateItem", "TransactWriteItems")
"""DynamoDB operations whose responses `_bypass_botocore_item_parsing` parses."""

_MODELS: Final = Path(__file__).parents[3] / "aws_models"
"""Where botocore first searches its service models. Only the package has it (`infrastructure.botocore_models`)."""

_TIMEOUTS: Final = {"": (3, 3), "sqs": (2, 1), "s3": (2, 4), "sesv2": (1, 10), "sts": (1, 3)}
"""Number of attempts, and seconds for each, by service. The entry for "" is the default.

Even a request with a failing call is answered within the gateway's limit of 29 seconds. Mail has one attempt, because a
second one sends the mail again if only the response to the first was lost.
"""


@dataclass
class Usage:
    """The AWS calls of one request or message, such as `dynamodb:Query`, in order, and the number of throttles."""

    calls: list[str] = field(default_factory=list)
    throttles: int = 0


_usage: ContextVar[Usage | None] = ContextVar("usage", default=None)
_client_lock = Lock()


@contextmanager
def counting_aws_calls() -> Iterator[Usage]:
    """Count the calls within the block, in this context."""
    usage = Usage()
    token = _usage.set(usage)
    try:
        yield usage
    finally:
        _usage.reset(token)


def client(service: str, *, max_wait_seconds: float = 0) -> Any:
    """Return this process's client of a service.

    `max_wait_seconds`: how long the service itself may wait before it responds, as in a long poll. The time-out of each
    attempt is longer by this time.
    """
    with _client_lock:  # botocore's creation of clients is not thread-safe.
        return _client(service, max_wait_seconds)


@cache
def _client(service: str, max_wait_seconds: float) -> Any:
    attempts, seconds = _TIMEOUTS.get(service, _TIMEOUTS[""])
    config = _client_config(service, attempts, seconds + max_wait_seconds)
    new_client = session().client(service, config=config, endpoint_url=settings().aws_endpoint_url)
    connections = IdleConnections(new_client.close)  # Requests in flight keep theirs.
    new_client.meta.events.register_first("before-call", lambda **_: connections.close_if_idle())
    return new_client


def create_client_of_other_account(
    service: str, region_name: str, credentials: Mapping[str, str], seconds: float
) -> Any:
    """Return a new client with the credentials of a role in another account, as STS returns them.

    It has one attempt, and `seconds` for it. Its calls are not counted.
    """
    with _client_lock:
        return _session_of_other_accounts().client(
            service,
            region_name=region_name,
            config=_client_config(service, 1, seconds),
            endpoint_url=settings().aws_endpoint_url,
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
        )


def _client_config(service: str, attempts: int, seconds: float) -> Config:
    config_values = settings()
    return Config(
        # Retries are bounded and have jitter. If a call still fails, the caller can retry after `Retry-After`.
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=1,
        read_timeout=seconds,
        max_pool_connections=64,
        tcp_keepalive=True,
        parameter_validation=config_values.stage == "local",
        # botocore builds a user agent for each call, which takes a quarter of a call's CPU time.
        user_agent="atrium",
        # Presigned URLs that have an older signature, or no region, do not work everywhere.
        signature_version="s3v4" if service == "s3" else None,
        s3=None if config_values.aws_endpoint_url else {"addressing_style": "virtual"},
    )


@cache
def _session_of_other_accounts() -> Session:
    """Return the session of clients with the credentials of other accounts. Each client brings its own."""
    return Session(botocore_session=BotocoreSession())


@cache
def session() -> Session:
    """Return the session from which all clients of this process are created."""
    emulated = {"aws_access_key_id": "local", "aws_secret_access_key": "local"} if settings().aws_endpoint_url else {}
    core = BotocoreSession()
    core.get_component("data_loader").search_paths.insert(0, str(_MODELS))
    boto_session = Session(botocore_session=core, region_name=region(), **emulated)
    boto_session.events.register("before-call", _add_call_to_usage)
    boto_session.events.register("needs-retry", _add_throttle_to_usage)
    boto_session.events.register_last("before-parse", _bypass_botocore_item_parsing)
    return boto_session


def region() -> str:
    """Return the AWS region of this process."""
    return os.environ.get("AWS_REGION", "us-east-1")


def reset_clients() -> None:
    """Create new clients on next use, because settings or the emulator have changed."""
    _client.cache_clear()
    session.cache_clear()
    _session_of_other_accounts.cache_clear()


def _bypass_botocore_item_parsing(
    operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Parse the body of a DynamoDB response, so that botocore's slower parser has nothing to do.

    For each attribute, that parser walks a model of ten types. This took half of the time of a list of fifty items.
    Binary values stay in base64, which `item_json.item_from_dynamodb_json` decodes.
    """
    is_item_response = (
        operation_model.service_model.service_name == "dynamodb" and operation_model.name in _ITEM_OPERATIONS
    )
    if is_item_response and response_dict["status_code"] == HTTPStatus.OK:
        customized_response_dict.update(json.loads(response_dict["body"]))
        response_dict["body"] = b"{}"


def _add_call_to_usage(model: Any, **_: object) -> None:
    if usage := _usage.get():
        usage.calls.append(f"{model.service_model.service_name}:{model.name}")


def _add_throttle_to_usage(response: Any, **_: object) -> None:
    if (usage := _usage.get()) and response and response[1].get("Error", {}).get("Code") in THROTTLING_CODES:
        usage.throttles += 1


@contextmanager
def raise_unavailable_on_aws_outage(service_display_name: str) -> Iterator[None]:
    """Translate throttling, time-outs and failures of AWS to 503 with `Retry-After`.

    `service_display_name` is shown to the caller.
    """
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in THROTTLING_CODES:
            raise unavailable(f"The {service_display_name} is busy.") from error
        if code in _SERVER_ERRORS or error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= 500:  # noqa: PLR2004
            raise unavailable(f"The {service_display_name} did not respond.") from error
        raise
    except (HTTPClientError, AwsConnectionError) as error:
        raise unavailable(f"The {service_display_name} did not respond in time.") from error
