"""The clients: methods for all operations, in groups of resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import httpx

from atrium_client._requests import AsyncRequests, GetToken, GetTokenAsync, Requests, Settings
from atrium_client.async_resources import AsyncResources
from atrium_client.resources import Resources

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_TIMEOUT: Final = 30.0
_MAX_RETRIES: Final = 3
_MAX_RETRY_AFTER: Final = 60.0


class Atrium(Resources):
    """A client of the API.

    Methods have the values of the path, then the fields of the body and the query by name:
    `client.organizations.members.update(organization_id, user_id, role="editor", if_match=member.etag)`.

    Args:
        base_url: The URL of the service, such as `https://api.example.com`.
        token: A user's access token that does not change.
        get_token: Returns a user's access token, or None for an anonymous request. It is called for each attempt, so
            keep the token. Its argument tells whether the service refused the last token, so that a new one is needed.
        api_key: An API key or a service key.
        link_token: The token of a signed link.
        strict: Whether misspelled query parameters are errors instead of being ignored.
        timeout: The time for each attempt, in seconds.
        max_retries: How often a request is repeated after a failure that may pass.
        max_retry_after: The longest `Retry-After` that is waited for, in seconds. Beyond it, the call fails at once.
        headers: Headers of all requests.
        http_client: A client of httpx to use, such as one with a proxy. `close` closes it.
    """

    def __init__(  # noqa: PLR0913 - settings, which are given by name
        self,
        base_url: str,
        *,
        token: str | None = None,
        get_token: GetToken | None = None,
        api_key: str | None = None,
        link_token: str | None = None,
        strict: bool = True,
        timeout: float = _TIMEOUT,
        max_retries: int = _MAX_RETRIES,
        max_retry_after: float = _MAX_RETRY_AFTER,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        settings = Settings(
            base_url, token or api_key, link_token, strict, timeout, max_retries, max_retry_after, headers or {}
        )
        super().__init__(Requests(settings, http_client or httpx.Client(), get_token))

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncAtrium(AsyncResources):
    """A client of the API for asynchronous programs, with the methods and arguments of `Atrium`.

    `get_token` can be asynchronous, too.
    """

    def __init__(  # noqa: PLR0913 - settings, which are given by name
        self,
        base_url: str,
        *,
        token: str | None = None,
        get_token: GetTokenAsync | None = None,
        api_key: str | None = None,
        link_token: str | None = None,
        strict: bool = True,
        timeout: float = _TIMEOUT,
        max_retries: int = _MAX_RETRIES,
        max_retry_after: float = _MAX_RETRY_AFTER,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        settings = Settings(
            base_url, token or api_key, link_token, strict, timeout, max_retries, max_retry_after, headers or {}
        )
        super().__init__(AsyncRequests(settings, http_client or httpx.AsyncClient(), get_token))

    async def close(self) -> None:
        """Close the connections."""
        await self._requests.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
