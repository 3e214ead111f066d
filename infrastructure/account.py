"""The AWS account and region of a command, and its AWS clients."""

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
    """A command cannot be carried out. The message says what is wrong, where, and what to do."""


@cache
def client(service: str) -> Any:
    """Return the client of a service. It retries throttled calls with increasing delays."""
    config = Config(retries={"mode": "adaptive", "total_max_attempts": 10}, connect_timeout=10)
    return _session().client(service, config=config)


@cache
def patient_client(service: str) -> Any:
    """Return a client that waits for a response as long as a function can run, and does not retry."""
    # Networks drop connections that are idle for minutes, so keep-alive packets are necessary.
    config = Config(retries={"total_max_attempts": 1}, read_timeout=910, tcp_keepalive=True)
    return _session().client(service, config=config)


def stage_here(name: str) -> Stage:
    """Return a stage in the account and region of the environment. Raises Refused if there are none."""
    with explained():
        sts = _session().client("sts", config=Config(retries={"total_max_attempts": 2}, connect_timeout=5))
        who = sts.get_caller_identity()
    _, partition, *_ = who["Arn"].split(":")
    return Stage(name, who["Account"], str(sts.meta.region_name), partition)


@contextmanager
def explained() -> Iterator[None]:
    """Translate exceptions of boto3 into Refused, with advice."""
    try:
        yield
    except NoCredentialsError:
        raise Refused(
            "No AWS credentials were found. Sign in (`aws sso login`, `aws configure`) or set AWS_PROFILE."
        ) from None
    except NoRegionError:
        raise Refused("No region was found. Set AWS_REGION, for example AWS_REGION=eu-central-1.") from None
    except EndpointConnectionError as error:
        raise Refused(f"{error} Check AWS_REGION and the network.") from None
    except ClientError as error:
        raise Refused(_why(error)) from error
    except BotoCoreError as error:
        raise Refused(str(error)) from error


def _why(error: ClientError) -> str:
    code, call = error.response["Error"]["Code"], error.operation_name
    text = f"AWS rejected {call}: {code}. {error.response['Error'].get('Message', '')}".rstrip()
    advice = " Check the credentials: `aws sts get-caller-identity`." if code in _REFUSALS else ""
    return text + advice


@cache
def _session() -> Session:
    return Session()
