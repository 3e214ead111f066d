"""The AWS account and region of a command, and its AWS clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from infrastructure.names import Stage

_CREDENTIAL_ERROR_CODES: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)


class CommandError(Exception):
    """A command cannot be carried out. The message says what is wrong, where, and what to do."""


@cache
def client(service: str, region: str | None = None) -> Any:
    """Return the client of a service, by default in the command's region. It retries throttled calls after delays."""
    config = Config(retries={"mode": "adaptive", "total_max_attempts": 10}, connect_timeout=10)
    return _session().client(service, region, config=config)


@cache
def long_timeout_client(service: str) -> Any:
    """Return a client that waits for a response as long as a function can run, and does not retry."""
    # Networks drop connections that are idle for minutes, so keep-alive packets are necessary.
    config = Config(retries={"total_max_attempts": 1}, read_timeout=910, tcp_keepalive=True)
    return _session().client(service, config=config)


def current_stage(name: str) -> Stage:
    """Return a stage in the account and region of the environment. Raises CommandError if there are none."""
    with translate_errors():
        sts = _session().client("sts", config=Config(retries={"total_max_attempts": 2}, connect_timeout=5))
        who = sts.get_caller_identity()
    _, partition, *_ = who["Arn"].split(":")
    return Stage(name, who["Account"], str(sts.meta.region_name), partition)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate exceptions of boto3 into CommandError, with advice."""
    try:
        yield
    except NoCredentialsError:
        raise CommandError(
            "No AWS credentials were found. Sign in (`aws sso login`, `aws configure`) or set AWS_PROFILE."
        ) from None
    except NoRegionError:
        raise CommandError("No region was found. Set AWS_REGION, for example AWS_REGION=eu-central-1.") from None
    except EndpointConnectionError as error:
        raise CommandError(f"{error} Check AWS_REGION and the network.") from None
    except ClientError as error:
        raise CommandError(_describe_error(error)) from error
    except BotoCoreError as error:
        raise CommandError(str(error)) from error


def _describe_error(error: ClientError) -> str:
    code, call = error.response["Error"]["Code"], error.operation_name
    text = f"AWS rejected {call}: {code}. {error.response['Error'].get('Message', '')}".rstrip()
    advice = " Check the credentials: `aws sts get-caller-identity`." if code in _CREDENTIAL_ERROR_CODES else ""
    return text + advice


@cache
def _session() -> Session:
    return Session()
