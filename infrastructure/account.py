"""The AWS account and region that a command works on: whose they are, and their clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from infrastructure.names import Stage

_REFUSALS: Final = frozenset(
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


class Refused(Exception):
    """A command can't be done: says what is wrong, where, and what to do."""


@cache
def client(service: str) -> Any:
    """Return the client of a service; what AWS throttles is asked again, ever more slowly."""
    config = Config(retries={"mode": "adaptive", "total_max_attempts": 10}, connect_timeout=10)
    return _session().client(service, config=config)


@cache
def patient_client(service: str) -> Any:
    """Return a client that waits for one answer as long as a function may run, and asks once."""
    # Kept alive: networks forget a connection on which nothing was sent for a few minutes, and the answer is lost.
    config = Config(retries={"total_max_attempts": 1}, read_timeout=910, tcp_keepalive=True)
    return _session().client(service, config=config)


def stage_here(name: str) -> Stage:
    """Return a stage in the account and region that the environment leads to. Raises Refused if it leads nowhere."""
    with explained():
        sts = _session().client("sts", config=Config(retries={"total_max_attempts": 2}, connect_timeout=5))
        who = sts.get_caller_identity()
    _, partition, *_ = who["Arn"].split(":")
    return Stage(name, who["Account"], str(sts.meta.region_name), partition)


@contextmanager
def explained() -> Iterator[None]:
    """Raise what AWS and its client refuse as Refused, with what to do about it."""
    try:
        yield
    except NoCredentialsError:
        raise Refused(
            "No credentials of AWS were found. Sign in (`aws sso login`, `aws configure`) or set AWS_PROFILE."
        ) from None
    except NoRegionError:
        raise Refused("No region was found. Set AWS_REGION, such as AWS_REGION=eu-central-1.") from None
    except EndpointConnectionError as error:
        raise Refused(f"{error} Check AWS_REGION and the network.") from None
    except ClientError as error:
        raise Refused(_why(error)) from error
    except BotoCoreError as error:
        raise Refused(str(error)) from error


def _why(error: ClientError) -> str:
    code, call = error.response["Error"]["Code"], error.operation_name
    text = f"AWS refused {call}: {code}. {error.response['Error'].get('Message', '')}".rstrip()
    advice = " Check whose credentials these are: `aws sts get-caller-identity`." if code in _REFUSALS else ""
    return text + advice


@cache
def _session() -> Session:
    return Session()
