"""Iterators over the items of all pages of a list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from atrium_client._base import Model

if TYPE_CHECKING:
    from atrium_client._requests import AsyncRequests, Call, Requests

PageT = TypeVar("PageT", bound=Model)
ItemT = TypeVar("ItemT")


class PageIterator(Generic[PageT, ItemT]):
    """A list. Iterating over it requests a page when its items are needed."""

    def __init__(self, requests: Requests, call: Call, model: type[PageT]) -> None:
        self._requests, self._call, self._model = requests, call, model

    def __iter__(self) -> Iterator[ItemT]:
        for page in self.pages():
            yield from _items_of(page)

    def pages(self) -> Iterator[PageT]:
        """Iterate over the pages, beginning with the one that the parameters ask for."""
        page = self.first_page()
        yield page
        while cursor := _next_cursor_of(page):
            page = self._requests.send_for_record(_with_cursor(self._call, cursor), self._model)
            yield page

    def first_page(self) -> PageT:
        """Return the page that the parameters ask for."""
        return self._requests.send_for_record(self._call, self._model)


class AsyncPageIterator(Generic[PageT, ItemT]):
    """A list, for asynchronous programs. Iterating over it requests a page when its items are needed."""

    def __init__(self, requests: AsyncRequests, call: Call, model: type[PageT]) -> None:
        self._requests, self._call, self._model = requests, call, model

    async def __aiter__(self) -> AsyncIterator[ItemT]:
        async for page in self.pages():
            for item in _items_of(page):
                yield item

    async def pages(self) -> AsyncIterator[PageT]:
        """Iterate over the pages, beginning with the one that the parameters ask for."""
        page = await self.first_page()
        yield page
        while cursor := _next_cursor_of(page):
            page = await self._requests.send_for_record(_with_cursor(self._call, cursor), self._model)
            yield page

    async def first_page(self) -> PageT:
        """Return the page that the parameters ask for."""
        return await self._requests.send_for_record(self._call, self._model)


def _items_of(page: Any) -> Sequence[Any]:
    items: Sequence[Any] = page.items
    return items


def _next_cursor_of(page: Any) -> str | None:
    cursor: str | None = page.next_cursor
    return cursor


def _with_cursor(call: Call, cursor: str) -> Call:
    query: Mapping[str, Any] = {**call.query, "cursor": cursor}
    return replace(call, query=query)
