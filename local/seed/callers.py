"""Callers of the service, with tokens of the development issuer, and the handling of its errors."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from local.server.issuer import Issuer, Person

Json = dict[str, Any]

_TIMEOUT_SECONDS: Final = 30
_MAX_RETRIES: Final = 3
_MAX_RETRY_AFTER_SECONDS: Final = 90
"""Maximum `Retry-After` of a response that a caller waits for."""

_NOT_FOUND, _TOO_MANY_REQUESTS, _UNAVAILABLE = 404, 429, 503


class SeedFailed(Exception):
    """The seed cannot continue. The message says why and what to do. The next seed continues at this point."""


@dataclass(frozen=True)
class Service:
    """A running service. `sign` creates a token for a person."""

    http: httpx.Client
    create_token: Callable[[Person], str]

    @classmethod
    def at_url(cls, url: str, issuer: Issuer | None = None, transport: httpx.BaseTransport | None = None) -> "Service":
        """Return the service at a URL. Its callers have tokens of the given issuer, or of the development issuer."""
        http = httpx.Client(
            base_url=url,
            headers={"Prefer": "handling=strict"},
            transport=transport,
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            follow_redirects=True,
        )
        return cls(http, (issuer or Issuer()).create_token)

    def caller_for(self, person: Person) -> "Caller":
        """Return a caller with a token for a person."""
        return Caller(self.http, {"Authorization": f"Bearer {self.create_token(person)}"})

    def anonymous_caller(self) -> "Caller":
        """Return a caller without a credential."""
        return Caller(self.http, {})


@dataclass(frozen=True)
class Caller:
    """A caller of the service. Methods raise SeedFailed with the details of the problem if a request is rejected."""

    http: httpx.Client
    headers: Mapping[str, str]

    def get(self, path: str) -> Json:
        """Return the record at a path."""
        return self._send("GET", path).json()  # type: ignore[no-any-return]

    def find(self, path: str) -> Json | None:
        """Return the record at a path, or None if the response is 404."""
        response = self._send("GET", path, allow_missing=True)
        return None if response.status_code == _NOT_FOUND else response.json()

    def list_all(self, path: str, **query: str) -> list[Json]:
        """Return the items of all pages of a list."""
        page = self._send("GET", path, query={"limit": "100", **query}).json()
        items: list[Json] = page["items"]
        while page["nextCursor"]:
            page = self._send("GET", path, query={"limit": "100", **query, "cursor": page["nextCursor"]}).json()
            items += page["items"]
        return items

    def post(self, path: str, body: Json | None = None) -> Json:
        """Send a POST request and return the response's body."""
        return self._send("POST", path, body or {}).json()  # type: ignore[no-any-return]

    def patch(self, path: str, body: Json) -> Json:
        """Send a PATCH request and return the changed record."""
        return self._send("PATCH", path, body).json()  # type: ignore[no-any-return]

    def put(self, path: str, body: Json) -> None:
        """Send a PUT request."""
        self._send("PUT", path, body)

    def delete(self, path: str) -> None:
        """Send a DELETE request."""
        self._send("DELETE", path)

    def find_or_create(self, path: str, body: Json, *, key_field: str, existing: list[Json] | None = None) -> Json:
        """Return the item of a list with the same value in `key_field` as the body. Create it if there is none.

        `existing`: the items, if the caller has them already, or if another path lists them.
        """
        items = self.list_all(path) if existing is None else existing
        return next((item for item in items if item[key_field] == body[key_field]), None) or self.post(path, body)

    def _send(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        allow_missing: bool = False,
    ) -> httpx.Response:
        for attempt in range(_MAX_RETRIES + 1):
            try:
                response = self.http.request(method, path, params=query, json=body, headers=self.headers)
            except httpx.TransportError as error:
                message = f"{type(error).__name__}: {error}"
                raise SeedFailed(
                    f"No service responds at {self.http.base_url} ({message}). Start `make run`."
                ) from error
            if response.is_success or (allow_missing and response.status_code == _NOT_FOUND):
                return response
            if attempt == _MAX_RETRIES or not _wait_to_retry(response):
                break
        raise SeedFailed(_describe_error(response))


def _wait_to_retry(response: httpx.Response) -> bool:
    """Wait for the time in `Retry-After`. Return False without waiting if it is missing or too long."""
    retry_after = response.headers.get("Retry-After", "")
    if (
        response.status_code not in (_TOO_MANY_REQUESTS, _UNAVAILABLE)
        or not retry_after.isdecimal()
        or int(retry_after) > _MAX_RETRY_AFTER_SECONDS
    ):
        return False
    time.sleep(int(retry_after))
    return True


def _describe_error(response: httpx.Response) -> str:
    """Return the request, the status and the details of the problem (RFC 9457)."""
    request = response.request
    head = f"{request.method} {request.url} failed with {response.status_code}"
    try:
        problem = response.json()
        errors = [f"  {error['pointer']}: {error['detail']}" for error in problem.get("errors", [])]
        return "\n".join([f"{head}. {problem['title']}: {problem['detail']}", *errors])
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"{head}, without a problem document. Is Atrium listening there?"
