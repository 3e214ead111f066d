"""A service that answers requests of the Python client as a test says, and records them."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from atrium_client import AsyncAtrium, Atrium
from chalicelib.entrypoints.openapi.examples import example_for_schema
from tests.harness.conformance import openapi_document
from tests.harness.coroutines import run_coroutine

Answer = httpx.Response | Exception

BASE_URL = "https://api.example.com"


def json_answer(body: object, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): each for name, each in headers.items()})


def example_of(schema: str, **fields: object) -> dict[str, Any]:
    """Return a record as in the examples of the OpenAPI document, with some fields replaced."""
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {**example_for_schema(reference, openapi_document()["components"]["schemas"]), **fields}


def problem(status: int, code: str, fields: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
    body = {"status": status, "code": code, "title": code, "detail": f"It is {code}.", **(fields or {})}
    return json_answer(body, status, **headers)


class RecordingService:
    """Answers each request with the next answer, and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers: Iterator[Answer] = iter(answers)
        self.requests: list[httpx.Request] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        # A response can be sent once, and parameters of tests are shared.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def client(self, **settings: Any) -> Atrium:
        return Atrium(BASE_URL, http_client=httpx.Client(transport=httpx.MockTransport(self.handle)), **settings)

    def async_client(self, **settings: Any) -> AsyncAtrium:
        http_client = httpx.AsyncClient(transport=httpx.MockTransport(self.handle))
        return AsyncAtrium(BASE_URL, http_client=http_client, **settings)

    def headers(self, name: str) -> list[str | None]:
        """Return the values of a header in all requests."""
        return [request.headers.get(name) for request in self.requests]


class BlockingAtrium:
    """The asynchronous client with blocking calls, so that a test can run with both clients."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return _blocking(getattr(self._target, name))

    def __iter__(self) -> Iterator[Any]:
        return iter(run_coroutine(_collect(self._target)))


def _blocking(target: Any) -> Any:
    if not callable(target):
        return BlockingAtrium(target)

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = target(*arguments, **keywords)
        if asyncio.iscoroutine(result):
            return run_coroutine(_await(result))
        return run_coroutine(_collect(result)) if hasattr(result, "__anext__") else BlockingAtrium(result)

    return call


async def _await(result: Any) -> Any:
    return await result


async def _collect(items: Any) -> list[Any]:
    return [each async for each in items]


def python_blocks(document: Path) -> list[str]:
    """Return the examples of a document that are in Python."""
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE)
