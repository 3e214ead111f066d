"""Sends requests: headers, credentials, timeouts, retries, and the errors of answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import ValidationError

from atrium_client._base import Model
from atrium_client._omitted import Omitted
from atrium_client._retries import create_async_retrying, create_retrying
from atrium_client._version import API_VERSION
from atrium_client.errors import AtriumError, ConnectionFailed, Unauthenticated, UnexpectedAnswer, create_problem

ModelT = TypeVar("ModelT", bound=Model)
GetToken: TypeAlias = Callable[[bool], str | None]
GetTokenAsync: TypeAlias = Callable[[bool], Awaitable[str | None] | str | None]


@dataclass(frozen=True)
class Call:
    """A request without credential. `path` is that of the OpenAPI document, with the names of its values."""

    method: str
    path: str
    path_values: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True)
class Settings:
    """What all requests of a client have in common."""

    base_url: str
    credential: str | None
    link_token: str | None
    is_strict: bool
    timeout: float
    max_retries: int
    max_retry_after: float
    headers: Mapping[str, str]

    def create_headers(self, call: Call) -> dict[str, str]:
        """Return the headers of all attempts. They have the same key, so the request has its effect once."""
        headers = {"Accept": "application/json", **self.headers, "API-Version": API_VERSION}
        if self.is_strict:
            headers["Prefer"] = "handling=strict"
        if self.link_token:
            headers["Link-Token"] = self.link_token
        if call.method == "POST":
            headers["Idempotency-Key"] = str(uuid4())
        return {**headers, **{name: value for name, value in call.headers.items() if value}}

    def create_arguments(self, call: Call, headers: Mapping[str, str], token: str | None) -> dict[str, Any]:
        """Return the arguments of httpx's `build_request`."""
        credential = token or self.credential
        return {
            "method": call.method,
            "url": self.base_url.rstrip("/") + create_path(call),
            "params": dict(_iter_query(call.query)),
            "json": None if call.body is None else to_json(call.body),
            "headers": {**headers, **({"Authorization": f"Bearer {credential}"} if credential else {})},
            "timeout": self.timeout if call.timeout is None else call.timeout,
        }


class Requests:
    """Sends requests to one service as one caller."""

    def __init__(self, settings: Settings, http_client: httpx.Client, get_token: GetToken | None) -> None:
        self._settings, self._http_client, self._get_token = settings, http_client, get_token

    def send_for_record(self, call: Call, model: type[ModelT]) -> ModelT:
        """Send a request and return the record of its answer."""
        return read_record(call, self._send(call), model)

    def send_for_json(self, call: Call) -> dict[str, Any]:
        """Send a request and return the JSON of its answer."""
        return read_json(call, self._send(call))

    def send_for_text(self, call: Call) -> str:
        """Send a request and return the text of its answer."""
        return self._send(_accept_all(call)).text

    def send(self, call: Call) -> None:
        """Send a request whose answer has no content."""
        self._send(call)

    def _send(self, call: Call) -> httpx.Response:
        headers = self._settings.create_headers(call)
        return create_retrying(self._settings.max_retries, self._settings.max_retry_after)(
            self._send_or_refresh, call, headers
        )

    def _send_or_refresh(self, call: Call, headers: Mapping[str, str]) -> httpx.Response:
        token = self._ask_for_token(refresh=False)
        try:
            return self._send_once(call, headers, token)
        except Unauthenticated:
            refreshed = self._ask_for_token(refresh=True)
            if not refreshed or refreshed == token:
                raise
            return self._send_once(call, headers, refreshed)

    def _ask_for_token(self, *, refresh: bool) -> str | None:
        return self._get_token(refresh) if self._get_token else None

    def _send_once(self, call: Call, headers: Mapping[str, str], token: str | None) -> httpx.Response:
        request = self._http_client.build_request(**self._settings.create_arguments(call, headers, token))
        try:
            response = self._http_client.send(request, follow_redirects=True)
        except httpx.HTTPError as error:
            raise describe_failure(call, error) from error
        return check_response(response)

    def close(self) -> None:
        """Close the connections."""
        self._http_client.close()


class AsyncRequests:
    """Sends requests to one service as one caller, for asynchronous programs."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient, get_token: GetTokenAsync | None) -> None:
        self._settings, self._http_client, self._get_token = settings, http_client, get_token

    async def send_for_record(self, call: Call, model: type[ModelT]) -> ModelT:
        """Send a request and return the record of its answer."""
        return read_record(call, await self._send(call), model)

    async def send_for_json(self, call: Call) -> dict[str, Any]:
        """Send a request and return the JSON of its answer."""
        return read_json(call, await self._send(call))

    async def send_for_text(self, call: Call) -> str:
        """Send a request and return the text of its answer."""
        return (await self._send(_accept_all(call))).text

    async def send(self, call: Call) -> None:
        """Send a request whose answer has no content."""
        await self._send(call)

    async def _send(self, call: Call) -> httpx.Response:
        headers = self._settings.create_headers(call)
        retrying = create_async_retrying(self._settings.max_retries, self._settings.max_retry_after)
        return await retrying(self._send_or_refresh, call, headers)

    async def _send_or_refresh(self, call: Call, headers: Mapping[str, str]) -> httpx.Response:
        token = await self._ask_for_token(refresh=False)
        try:
            return await self._send_once(call, headers, token)
        except Unauthenticated:
            refreshed = await self._ask_for_token(refresh=True)
            if not refreshed or refreshed == token:
                raise
            return await self._send_once(call, headers, refreshed)

    async def _ask_for_token(self, *, refresh: bool) -> str | None:
        token = self._get_token(refresh) if self._get_token else None
        return await token if inspect.isawaitable(token) else token

    async def _send_once(self, call: Call, headers: Mapping[str, str], token: str | None) -> httpx.Response:
        request = self._http_client.build_request(**self._settings.create_arguments(call, headers, token))
        try:
            response = await self._http_client.send(request, follow_redirects=True)
        except httpx.HTTPError as error:
            raise describe_failure(call, error) from error
        return check_response(response)

    async def close(self) -> None:
        """Close the connections."""
        await self._http_client.aclose()


def create_path(call: Call) -> str:
    """Return the path with its values. Raises ValueError for a value that would lead to another path."""
    return call.path.format_map({name: _quote(name, value) for name, value in call.path_values.items()})


def _quote(name: str, value: object) -> str:
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise ValueError(f"{name} must be a text with at least one character, and not {value!r}.")
    return quote(value, safe="")


def to_json(value: Any) -> Any:
    """Return a value of a body as JSON, without what was omitted."""
    if isinstance(value, Model):
        # Unexpected values were kept when the record was read, so they are no reason to warn.
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items() if not isinstance(each, Omitted)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(each) for each in value]
    return value


def check_response(response: httpx.Response) -> httpx.Response:
    """Return the response of a success. Raises the error of any other one."""
    if not response.is_success:
        raise create_problem(response)
    return response


def read_record(call: Call, response: httpx.Response, model: type[ModelT]) -> ModelT:
    """Return the record of an answer, with its ETag."""
    try:
        record = model.model_validate(read_json(call, response))
    except ValidationError as error:
        message = f"{call.method} {call.path}: the answer is not a {model.__name__}. Check base_url."
        raise UnexpectedAnswer(message, response.status_code) from error
    record._etag = response.headers.get("ETag")  # noqa: SLF001 - only readers of answers set it
    return record


def read_json(call: Call, response: httpx.Response) -> dict[str, Any]:
    """Return the object of an answer."""
    message = f"{call.method} {call.path}: the answer is not a JSON object. Check base_url."
    try:
        body = response.json()
    except ValueError as error:
        raise UnexpectedAnswer(message, response.status_code) from error
    if not isinstance(body, dict):
        raise UnexpectedAnswer(message, response.status_code)
    return body


def describe_failure(call: Call, error: httpx.HTTPError) -> AtriumError:
    """Return the error of a request without an answer. It names the path without values: these can be secrets."""
    reason = "no answer in time" if isinstance(error, httpx.TimeoutException) else type(error).__name__
    return ConnectionFailed(f"{call.method} {call.path} failed: {reason}")


def _iter_query(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in query.items():
        if value is not None and not isinstance(value, Omitted):
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _accept_all(call: Call) -> Call:
    return replace(call, headers={**call.headers, "Accept": "*/*"})
