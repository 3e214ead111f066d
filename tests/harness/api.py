"""A client of the service at its HTTP boundary, which converts requests to the events that API Gateway sends.

Every response is checked against the OpenAPI document (`conformance.py`) and has the AWS calls that it took.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, cast
from urllib.parse import urlencode
from uuid import uuid4

from chalice.local import LambdaContext, LambdaEventConverter, LocalChalice, RouteMatcher
from httpx import Headers

from tests.harness import conformance
from tests.harness.aws_calls import RecordedCalls, record_calls
from tests.harness.callers import Caller

STAGE_PATH: Final = "/api"
CLIENT_IP: Final = "192.0.2.7"
USER_AGENT: Final = "tests/1.0"
JSON_MEDIA_TYPE: Final = "application/json"
MAX_ENVELOPE_BYTES: Final = 6_291_556
"""The largest response that Lambda accepts. The caller of a larger one gets 502."""

Json = dict[str, Any]


@dataclass(frozen=True)
class ApiResponse:
    """The response to a request. `path`: the path of the request, without query. `calls`: its AWS calls."""

    status: int
    headers: Headers
    text: str
    path: str
    request_id: str
    calls: RecordedCalls = field(repr=False)

    @property
    def json(self) -> Json:
        return cast("Json", json.loads(self.text))

    @property
    def etag(self) -> str:
        return self.headers["ETag"]

    @property
    def location(self) -> str:
        """The path of the created record, relative to the stage."""
        return self.headers["Location"].removeprefix(STAGE_PATH)

    @property
    def status_and_code(self) -> str:
        """The status and the code of the problem: `404 not_found`."""
        return f"{self.status} {self.json['code']}"

    def expect(self, status: int) -> Self:
        """Return this response, after checking its status."""
        assert self.status == status, self.text
        return self

    def expect_problem(self, status_and_code: str, *texts: str) -> Self:
        """Return this response, after checking the status and the code of the problem, and texts in its detail."""
        assert self.status_and_code == status_and_code, self.text
        assert all(text in self.json["detail"] for text in texts), self.text
        return self

    @property
    def comparable_content(self) -> tuple[int, dict[str, str], str]:
        """Status, headers and body, without the request id and the mark of a replay."""
        varying = ("x-request-id", "idempotency-replayed")
        return self.status, {name: value for name, value in self.headers.items() if name not in varying}, self.text

    @property
    def comparable_problem(self) -> tuple[int, dict[str, str], Json]:
        """Status, headers and body of a problem, without what identifies the request."""
        headers = {name: value for name, value in self.headers.items() if name != "x-request-id"}
        return self.status, headers, {n: v for n, v in self.json.items() if n not in ("instance", "requestId")}

    @property
    def errors(self) -> dict[str, str]:
        """The validation errors of the request: code by JSON pointer."""
        return {error["pointer"]: error["code"] for error in self.json.get("errors", [])}

    @property
    def validation_errors(self) -> dict[str, str]:
        """The errors of a response `422 validation_failed`, which this must be."""
        assert self.status_and_code == "422 validation_failed", self.text
        return self.errors

    @property
    def problem_and_errors(self) -> tuple[str, dict[str, str]]:
        """The status and the code of the problem, and the validation errors."""
        return self.status_and_code, self.errors

    @property
    def problem_and_pointers(self) -> tuple[str, list[str]]:
        """The status and the code of the problem, and the pointers of the validation errors."""
        return self.status_and_code, [*self.errors]


def _size(response: Mapping[str, Any]) -> int:
    """Return the size of a result of the function, in bytes, as Lambda's runtime sends it."""
    return len(json.dumps(response))


class ApiClient:
    """A client of the service. `caller`: whose credential a request has, or None for an anonymous request."""

    def __init__(self, app: Any) -> None:
        # Chalice stores the current request in the app. LocalChalice stores one for each thread, so that threads do
        # not see each other's.
        app.__class__ = LocalChalice
        self._app = app
        self._events = LambdaEventConverter(RouteMatcher(list(app.routes)))

    def get(self, path: str, **options: Any) -> ApiResponse:
        """Send a GET request, with the options of `request`."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> ApiResponse:
        return self.request("POST", path, **options)

    def patch(self, path: str, **options: Any) -> ApiResponse:
        return self.request("PATCH", path, **options)

    def put(self, path: str, **options: Any) -> ApiResponse:
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> ApiResponse:
        return self.request("DELETE", path, **options)

    def request(
        self,
        method: str,
        path: str,
        *,
        caller: Caller | str | None = None,
        json: Any = None,
        body: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | list[str]] | None = None,
        ip: str = CLIENT_IP,
    ) -> ApiResponse:
        """Send a request and return its response, after checking that the service documents such a response.

        `json` is sent as JSON, `body` unchanged. `query` is appended to the path. `headers` replace the default ones;
        a list is sent as several lines.
        A response of 500 fails the test, because no request may cause one.
        """
        url = path + (f"?{urlencode(query, doseq=True)}" if query else "")
        event = self._event(method, url, _headers(caller, json, headers), _body(json, body), ip)
        with record_calls() as calls:
            response = self._app(event, LambdaContext("api", 512, 29_000))
        assert _size(response) <= MAX_ENVELOPE_BYTES, "Lambda rejects a response of this size"
        answer = ApiResponse(
            status=response["statusCode"],
            headers=Headers({**{n: v[-1] for n, v in response["multiValueHeaders"].items()}, **response["headers"]}),
            text=response["body"],
            path=url.partition("?")[0],
            request_id=event["requestContext"]["requestId"],
            calls=calls,
        )
        assert answer.status != 500, f"{method} {url}: {answer.text}"
        conformance.check_response(method, event["requestContext"]["resourcePath"], answer)
        return answer

    def get_pages(self, path: str, **options: Any) -> list[Json]:
        """Return all pages of a list, by following `nextCursor` until it is null."""
        query = dict(options.pop("query", {}))
        pages = [self.get(path, query=query, **options).json]
        while pages[-1]["nextCursor"] is not None:
            assert len(pages) < 1000, f"{path} does not end"
            pages.append(self.get(path, query={**query, "cursor": pages[-1]["nextCursor"]}, **options).json)
        return pages

    def get_items(self, path: str, **options: Any) -> list[Json]:
        return [item for page in self.get_pages(path, **options) for item in page["items"]]

    def _event(self, method: str, url: str, lines_by_name: Mapping[str, list[str]], body: bytes, ip: str) -> Json:
        headers = {name: lines[-1] for name, lines in lines_by_name.items()}
        event: Json = self._events.create_lambda_event(method, url, headers, b"")
        path = event["requestContext"]["path"]
        event["requestContext"] |= {
            "requestId": str(uuid4()),
            "stage": STAGE_PATH[1:],
            "path": STAGE_PATH + path,
            "identity": {"sourceIp": ip},
        }
        event["headers"], event["multiValueHeaders"] = headers, dict(lines_by_name)
        event["path"] = path
        event["body"], event["isBase64Encoded"] = _encode_as_gateway(body)
        return event


def _headers(
    caller: Caller | str | None, json_body: Any, extra: Mapping[str, str | list[str]] | None
) -> dict[str, list[str]]:
    headers = {"Host": "atrium.example", "User-Agent": USER_AGENT, "Accept": "*/*"}
    if caller is not None:
        headers |= (Caller("", caller) if isinstance(caller, str) else caller).headers
    if json_body is not None:
        headers["Content-Type"] = JSON_MEDIA_TYPE
    replaced = {**headers, **(extra or {})}
    return {name: value if isinstance(value, list) else [value] for name, value in replaced.items()}


def _body(json_body: Any, body: bytes | None) -> bytes:
    return json.dumps(json_body, ensure_ascii=False).encode() if json_body is not None else body or b""


def _encode_as_gateway(body: bytes) -> tuple[str | None, bool]:
    try:
        return body.decode() or None, False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True
