"""Who calls the service: a person with a token of the development issuer, and what becomes of their requests."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from local.server.issuer import Issuer, Person

Json = dict[str, Any]

_TIMEOUT_SECONDS: Final = 30
_MOST_WAITS: Final = 3
_MOST_SECONDS: Final = 90
"""That a caller who was refused for a while waits each time."""

_NOT_FOUND, _TOO_MANY, _UNAVAILABLE = 404, 429, 503


class NotSeeded(Exception):
    """The seed can't go on; says why, and what to do. The next one goes on where it ended."""


@dataclass(frozen=True)
class Service:
    """A running service. `sign` makes a token about a person."""

    http: httpx.Client
    sign: Callable[[Person], str]

    @classmethod
    def at(cls, url: str, issuer: Issuer | None = None, transport: httpx.BaseTransport | None = None) -> "Service":
        """Return the service at an address, called by people of the development issuer, unless it is another."""
        http = httpx.Client(
            base_url=url, transport=transport, timeout=_TIMEOUT_SECONDS, trust_env=False, follow_redirects=True
        )
        return cls(http, (issuer or Issuer()).token)

    def called_by(self, person: Person) -> "Caller":
        """Return somebody who calls it."""
        return Caller(self.http, {"Authorization": f"Bearer {self.sign(person)}"})

    def called_by_anybody(self) -> "Caller":
        """Return somebody without a credential who calls it."""
        return Caller(self.http, {})


@dataclass(frozen=True)
class Caller:
    """Somebody who calls the service. What it refuses them is raised as NotSeeded, with all that it says of it."""

    http: httpx.Client
    headers: Mapping[str, str]

    def get(self, path: str) -> Json:
        """Return what is there."""
        return self._sent("GET", path).json()  # type: ignore[no-any-return]

    def find(self, path: str) -> Json | None:
        """Return what is there, or None if nothing is that this caller can see."""
        answer = self._sent("GET", path, or_missing=True)
        return None if answer.status_code == _NOT_FOUND else answer.json()

    def items(self, path: str, **query: str) -> list[Json]:
        """Return all items of a list, page after page."""
        page = self._sent("GET", path, query={"limit": "100", **query}).json()
        found: list[Json] = page["items"]
        while page["nextCursor"]:
            page = self._sent("GET", path, query={"limit": "100", **query, "cursor": page["nextCursor"]}).json()
            found += page["items"]
        return found

    def post(self, path: str, body: Json | None = None) -> Json:
        """Make something, or let something be done, and return what comes of it."""
        return self._sent("POST", path, body or {}).json()  # type: ignore[no-any-return]

    def patch(self, path: str, body: Json) -> Json:
        """Change something, and return it as it is then."""
        return self._sent("PATCH", path, body).json()  # type: ignore[no-any-return]

    def put(self, path: str, body: Json) -> None:
        """Let something be as the body says."""
        self._sent("PUT", path, body)

    def delete(self, path: str) -> None:
        """Let something be gone."""
        self._sent("DELETE", path)

    def there(self, path: str, body: Json, *, by: str, listed: list[Json] | None = None) -> Json:
        """Return what a list has with the same value in the field `by`; make it if it has none.

        `listed`: what the list has, if that is known, or if it isn't where things are made.
        """
        known = self.items(path) if listed is None else listed
        return next((item for item in known if item[by] == body[by]), None) or self.post(path, body)

    def _sent(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        or_missing: bool = False,
    ) -> httpx.Response:
        for tries in range(_MOST_WAITS + 1):
            try:
                answer = self.http.request(method, path, params=query, json=body, headers=self.headers)
            except httpx.TransportError as error:
                message = f"{type(error).__name__}: {error}"
                raise NotSeeded(f"No service answers at {self.http.base_url} ({message}). Start `make run`.") from error
            if answer.is_success or (or_missing and answer.status_code == _NOT_FOUND):
                return answer
            if tries == _MOST_WAITS or not _wait(answer):
                break
        raise NotSeeded(_refusal(answer))


def _wait(answer: httpx.Response) -> bool:
    """Wait as long as the service asks for; return whether it did, and not for too long."""
    asked = answer.headers.get("Retry-After", "")
    if answer.status_code not in (_TOO_MANY, _UNAVAILABLE) or not asked.isdecimal() or int(asked) > _MOST_SECONDS:
        return False
    time.sleep(int(asked))
    return True


def _refusal(answer: httpx.Response) -> str:
    """Return what was refused, and all that the service says of it (RFC 9457)."""
    request = answer.request
    head = f"{request.method} {request.url} was refused with {answer.status_code}"
    try:
        problem = answer.json()
        errors = [f"  {error['pointer']}: {error['detail']}" for error in problem.get("errors", [])]
        return "\n".join([f"{head}. {problem['title']}: {problem['detail']}", *errors])
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"{head}, and not as Atrium does it. Is it Atrium that listens there?"
