"""The service that the checks of `make smoke` call, and how a check says that it failed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

import httpx

from chalicelib.kernel.core.settings import settings
from infrastructure.account import CommandError, translate_errors
from infrastructure.configuration import load_stage
from infrastructure.names import Stage
from local.server.issuer import Issuer, Person
from local.tools.doctor import read_token_or_none

T = TypeVar("T")

DEPLOY_REMEDY: Final = "Run `make deploy`."
"""What to do if API Gateway or Lambda lacks a part of the configuration."""

LIST_DEAD_LETTERS: Final = "`.venv/bin/python -m local redrive --stage ...`"
"""The command that shows failed messages."""

_TIMEOUT_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.5


class CheckFailed(Exception):
    """The service behaves in another way than a check expects. `remedy`: what to change."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy


class CheckSkipped(Exception):
    """A check does not apply to the target. The message says why."""


@dataclass
class Target:
    """A running service and a user of it.

    `stage`: the deployed stage, None for a run on this machine. `port`: the port of that run, None for the last run.
    `organization` is the one that the checks create, and `api_key` a key of it.
    """

    http: httpx.Client
    token: str
    stage: Stage | None = None
    port: int | None = None
    organization: dict[str, Any] = field(default_factory=dict)
    api_key: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at_url(cls, url: str, token: str, stage: Stage | None = None, port: int | None = None) -> "Target":
        """Return the service at a URL."""
        return cls(httpx.Client(base_url=url, timeout=_TIMEOUT_SECONDS, trust_env=False), token, stage, port)

    @property
    def url(self) -> str:
        """The URL of the service, without a slash at the end."""
        return str(self.http.base_url).rstrip("/")

    @property
    def organization_path(self) -> str:
        """The path of the organization that the checks created. Raises CheckSkipped if there is none."""
        if not self.organization:
            raise CheckSkipped("It needs the organization, which could not be created.")
        return f"/organizations/{self.organization['id']}"

    def request(
        self, method: str, path: str, *, credential: str | None = None, status: int | None = None, **arguments: Any
    ) -> httpx.Response:
        """Send a request without a credential, or with one, and return the response.

        Raises CheckFailed if no response arrives, or if its status is not the expected one.
        """
        headers = arguments.pop("headers", {})
        if credential is not None:
            headers = {**headers, "Authorization": f"Bearer {credential}"}
        try:
            response = self.http.request(method, path, headers=headers, **arguments)
        except httpx.HTTPError as error:
            raise CheckFailed(f"{method} {path} got no response: {error}") from error
        if status is not None and response.status_code != status:
            raise CheckFailed(
                f"{method} {path} responded with {response.status_code}, not {status}. {_detail(response)}"
            )
        return response

    def send(self, method: str, path: str, *, status: int = HTTPStatus.OK, **arguments: Any) -> httpx.Response:
        """Send a request with the user's token, and return the response. Raises as `request` does."""
        return self.request(method, path, credential=self.token, status=status, **arguments)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


def find_target(stage: str | None, port: int | None) -> Target:
    """Return the service whose settings this process uses. The token of a stage's user is read from stdin.

    Raises CommandError without a token.
    """
    token = read_token_or_none() if stage else Issuer().create_token(Person("smoke"))
    if token is None:
        raise CommandError("Pass the access token of a person who signed in: `make smoke STAGE=... < token.txt`.")
    return Target.at_url(settings().public_url or "", token, load_stage(stage) if stage else None, port)


def require(condition: object, text: str, remedy: str = "") -> None:
    """Raise CheckFailed if the condition is false."""
    if not condition:
        raise CheckFailed(text, remedy)


def require_problem(response: httpx.Response, status: int, code: str) -> None:
    """Raise CheckFailed unless the response is this problem of the service."""
    media_type = response.headers.get("Content-Type", "")
    found = _problem_code(response)
    require(
        response.status_code == status and found == code and media_type.startswith("application/problem+json"),
        f"{response.request.method} {response.request.url.path} responded with {response.status_code} {found!r} as"
        f" {media_type or 'no media type'}, not with {status} {code!r} as application/problem+json.",
        "Run `make deploy`, which sets the gateway responses.",
    )


@contextmanager
def fail_on_aws_errors() -> Iterator[None]:
    """Translate exceptions of boto3 into CheckFailed, with advice."""
    try:
        with translate_errors():
            yield
    except CommandError as error:
        raise CheckFailed(str(error)) from error


def wait_for(read: Callable[[], T | None], seconds: float, missing: str, remedy: str = "") -> T:
    """Return the first result of `read` that is not None. Raises CheckFailed after the time."""
    result = read_until(read, lambda result: result is not None, seconds)
    if result is None:
        raise CheckFailed(f"{missing} Waited {seconds:g} s.", remedy)
    return result


def read_until(read: Callable[[], T], is_final: Callable[[T], bool], seconds: float) -> T:
    """Return the first result of `read` that is final, or the last one after the time."""
    ends_at = time.monotonic() + seconds
    while not is_final(result := read()) and time.monotonic() <= ends_at:
        time.sleep(_POLL_SECONDS)
    return result


def _problem_code(response: httpx.Response) -> str | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document.get("code") if isinstance(document, dict) else None


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return "The body is no problem document."
