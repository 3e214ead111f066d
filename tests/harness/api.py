"""The service at its HTTP boundary: requests become the events that API Gateway sends, and come back as answers.

Every answer is held against the OpenAPI document (`conformity.py`), and knows which calls of AWS it took.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlencode
from uuid import uuid4

from chalice.local import LambdaContext, LambdaEventConverter, LocalChalice, RouteMatcher
from httpx import Headers

from tests.harness import background_threads, conformance
from tests.harness.callers import Caller
from tests.harness.calls import Calls, recorded

STAGE: Final = "/api"
ADDRESS: Final = "192.0.2.7"
USER_AGENT: Final = "tests/1.0"
JSON: Final = "application/json"
MAX_ENVELOPE_BYTES: Final = 6_291_556
"""What Lambda takes of an answer; more is an error of 502 to the caller."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What came back. `path`: what was asked, without query; `calls`: what it took of AWS."""

    status: int
    headers: Headers
    text: str
    path: str
    request_id: str
    calls: Calls = field(repr=False)

    @property
    def json(self) -> Json:
        """The body."""
        return cast("Json", json.loads(self.text))

    @property
    def etag(self) -> str:
        """The entity tag."""
        return self.headers["ETag"]

    @property
    def location(self) -> str:
        """Where what was made is found, as a path of the service."""
        return self.headers["Location"].removeprefix(STAGE)

    @property
    def code(self) -> str:
        """The code of the problem, after its status: `404 not_found`."""
        return f"{self.status} {self.json['code']}"

    @property
    def said(self) -> tuple[int, dict[str, str], str]:
        """All of it but which request it is to, and that it is a replay."""
        own = ("x-request-id", "idempotency-replayed")
        return self.status, {name: value for name, value in self.headers.items() if name not in own}, self.text

    @property
    def refusal(self) -> tuple[int, dict[str, str], Json]:
        """All of a problem but which request it is to."""
        headers = {name: value for name, value in self.headers.items() if name != "x-request-id"}
        return self.status, headers, {n: v for n, v in self.json.items() if n not in ("instance", "requestId")}

    @property
    def faults(self) -> dict[str, str]:
        """The faults of the request: code by pointer."""
        return {error["pointer"]: error["code"] for error in self.json.get("errors", [])}


def _size(response: Mapping[str, Any]) -> int:
    """Return how many bytes Lambda's runtime sends of what the function returns."""
    return len(json.dumps(response))


class Api:
    """A client of the service. `as_` is whose credential a request carries; None sends none."""

    def __init__(self, app: Any) -> None:
        # Chalice keeps the request in the app: a test's threads would see each other's, as no two on Lambda do.
        app.__class__ = LocalChalice
        self._app = app
        self._events = LambdaEventConverter(RouteMatcher(list(app.routes)))

    def get(self, path: str, **words: Any) -> Answer:
        """GET. Words as of `request`."""
        return self.request("GET", path, **words)

    def post(self, path: str, **words: Any) -> Answer:
        """POST."""
        return self.request("POST", path, **words)

    def patch(self, path: str, **words: Any) -> Answer:
        """PATCH."""
        return self.request("PATCH", path, **words)

    def put(self, path: str, **words: Any) -> Answer:
        """PUT."""
        return self.request("PUT", path, **words)

    def delete(self, path: str, **words: Any) -> Answer:
        """DELETE."""
        return self.request("DELETE", path, **words)

    def request(
        self,
        method: str,
        path: str,
        *,
        as_: Caller | str | None = None,
        json: Any = None,
        body: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        ip: str = ADDRESS,
    ) -> Answer:
        """Send a request and return its answer, which is one the service documents.

        `json` is sent as JSON, `body` as it is; `query` is added to the path; `headers` win over all others.
        An answer of 500 fails the test: nothing the tests do excuses it.
        """
        url = path + (f"?{urlencode(query, doseq=True)}" if query else "")
        event = self._event(method, url, _headers(as_, json, headers), _body(json, body), ip)
        with recorded() as calls:
            response = self._app(event, LambdaContext("api", 512, 29_000))
        background_threads.wait()
        assert _size(response) <= MAX_ENVELOPE_BYTES, "Lambda does not take so much"
        answer = Answer(
            status=response["statusCode"],
            headers=Headers({**{n: v[-1] for n, v in response["multiValueHeaders"].items()}, **response["headers"]}),
            text=response["body"],
            path=url.partition("?")[0],
            request_id=event["requestContext"]["requestId"],
            calls=calls,
        )
        assert answer.status != 500, f"{method} {url}: {answer.text}"
        conformance.check(method, event["requestContext"]["resourcePath"], answer)
        return answer

    def pages(self, path: str, **words: Any) -> list[Json]:
        """Return all pages of a list, by following `nextCursor` to its end."""
        query = dict(words.pop("query", {}))
        found = [self.get(path, query=query, **words).json]
        while found[-1]["nextCursor"] is not None:
            assert len(found) < 1000, f"{path} does not end"
            found.append(self.get(path, query={**query, "cursor": found[-1]["nextCursor"]}, **words).json)
        return found

    def items(self, path: str, **words: Any) -> list[Json]:
        """Return all items of a list, page after page."""
        return [item for page in self.pages(path, **words) for item in page["items"]]

    def _event(self, method: str, url: str, headers: Mapping[str, str], body: bytes, ip: str) -> Json:
        event: Json = self._events.create_lambda_event(method, url, dict(headers), b"")
        path = event["requestContext"]["path"]
        event["requestContext"] |= {
            "requestId": str(uuid4()),
            "stage": STAGE[1:],
            "path": STAGE + path,
            "identity": {"sourceIp": ip},
        }
        event["headers"] = dict(headers)
        event["path"] = path
        event["body"], event["isBase64Encoded"] = _as_gateway_sends(body)
        return event


def _headers(as_: Caller | str | None, sent: Any, more: Mapping[str, str] | None) -> dict[str, str]:
    headers = {"Host": "atrium.example", "User-Agent": USER_AGENT, "Accept": "*/*"}
    if as_ is not None:
        headers["Authorization"] = f"Bearer {as_ if isinstance(as_, str) else as_.credential}"
    if sent is not None:
        headers["Content-Type"] = JSON
    return headers | dict(more or {})


def _body(sent: Any, body: bytes | None) -> bytes:
    return json.dumps(sent, ensure_ascii=False).encode() if sent is not None else body or b""


def _as_gateway_sends(body: bytes) -> tuple[str | None, bool]:
    try:
        return body.decode() or None, False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True
