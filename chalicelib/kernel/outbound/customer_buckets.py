"""Objects in S3 buckets of customers, written with a role of the customer's account that the service assumes.

The role's trust policy requires an external id that the service has generated for this use. So nobody can make the
service use the role for somebody else (the confused deputy problem, AWS IAM User Guide). The service refuses the roles
of its own account.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

UPLOAD_SECONDS: Final = 10.0
"""Time limit for the response to an upload."""

_SESSION_SECONDS: Final = 900
"""Duration of a session of a role: the minimum of AWS STS."""

_REUSE_SECONDS: Final = 600
_MAX_SESSIONS: Final = 16
_ARN_ACCOUNT: Final = 4


@dataclass(frozen=True)
class BucketAccess:
    """A bucket of a customer, and the role with which the service writes to it."""

    bucket: str
    region: str
    role_arn: str
    external_id: str


class _RoleRefused(Exception):
    """AWS STS did not permit to assume the role. The message says why."""

    def __init__(self, status: int | None, why: str) -> None:
        super().__init__(why)
        self.status = status


_sessions: Final[dict[BucketAccess, tuple[float, Any]]] = {}
"""Clients by bucket and role, each with the time until which it is used, by `monotonic`."""

_sessions_lock: Final = Lock()


def is_role_of_own_account(role_arn: str) -> bool:
    """Return whether a role belongs to the account of the service."""
    own_account = urlsplit(settings().jobs_queue_url).path.strip("/").partition("/")[0]
    return role_arn.split(":")[_ARN_ACCOUNT] == own_account


def put_object(
    access: BucketAccess, key: str, body: bytes, headers: Mapping[str, str], seconds: float = UPLOAD_SECONDS
) -> WebhookResponse:
    """Write an object, replacing an existing one, and return the result.

    `headers`: further arguments of S3 PutObject, such as `ContentType`. `seconds`: the time limit of the upload.
    Failures are part of the result.
    """
    started_at = monotonic()
    status, error, timed_out = _try_put(access, key, body, headers, seconds)
    return WebhookResponse(status, error, "", round((monotonic() - started_at) * 1000), timed_out=timed_out)


def _try_put(
    access: BucketAccess, key: str, body: bytes, headers: Mapping[str, str], seconds: float
) -> tuple[int | None, str | None, bool]:
    """Return the status of S3's response, the reason if the object was not written, and whether S3 was too slow."""
    try:
        client = _client_of(access, seconds)
        response = client.put_object(Bucket=access.bucket, Key=key, Body=body, **headers)
    except _RoleRefused as refused:
        return refused.status, str(refused), False
    except ClientError as error:
        _forget_session(access)
        code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"].get("HTTPStatusCode")
        return status, f"Amazon S3 did not accept the object ({code}).", False
    except (HTTPClientError, AwsConnectionError):
        return None, "Amazon S3 did not respond in time.", True
    except BotoCoreError as error:
        return None, f"The request to Amazon S3 could not be made ({type(error).__name__}).", False
    return int(response["ResponseMetadata"].get("HTTPStatusCode", HTTPStatus.OK)), None, False


def _client_of(access: BucketAccess, seconds: float) -> Any:
    """Return a client with a session of the role, which is used again for some minutes. Raises _RoleRefused."""
    with _sessions_lock:
        for expired in [each for each, (until, _) in _sessions.items() if until <= monotonic()]:
            del _sessions[expired]
        if access in _sessions:
            return _sessions[access][1]
    credentials = _assume_role(access)
    client = aws.create_client_of_other_account("s3", access.region, credentials, seconds)
    with _sessions_lock:
        if len(_sessions) >= _MAX_SESSIONS:
            del _sessions[next(iter(_sessions))]
        _sessions[access] = (monotonic() + _REUSE_SECONDS, client)
    return client


def _forget_session(access: BucketAccess) -> None:
    with _sessions_lock, suppress(KeyError):
        del _sessions[access]


def forget_all_sessions() -> None:
    """Assume roles anew on next use."""
    with _sessions_lock:
        _sessions.clear()


def _assume_role(access: BucketAccess) -> Mapping[str, str]:
    """Return credentials of the role. Raises _RoleRefused."""
    if is_role_of_own_account(access.role_arn):
        raise _RoleRefused(None, "The role belongs to the account of this service.")
    try:
        with aws.raise_unavailable_on_aws_outage("AWS STS"):
            response = aws.client("sts").assume_role(
                RoleArn=access.role_arn,
                RoleSessionName="atrium",
                ExternalId=access.external_id,
                DurationSeconds=_SESSION_SECONDS,
            )
    except ClientError as error:
        code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"].get("HTTPStatusCode")
        raise _RoleRefused(status, f"AWS STS did not permit to assume the role ({code}).") from None
    except Problem:
        raise _RoleRefused(None, "AWS STS did not respond in time.") from None
    credentials: Mapping[str, str] = response["Credentials"]
    return credentials
