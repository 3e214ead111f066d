"""Schemathesis let loose on the service in this process: as its document says it is called, and as it says it isn't.

The world is as it was made before each request that follows one that changed it. The ids that paths and bodies name are
real wherever what was generated is well-formed, and the caller has a right to what is asked for.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import example_of
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.conformance import document

_REFUSAL: Final = {
    "type": "urn:atrium:problem:forbidden",
    "title": "This is not allowed",
    "status": 403,
    "code": "forbidden",
    "detail": "The gateway refuses it.",
    "instance": "/",
    "requestId": "of the gateway",
}
_OF_THE_GATEWAY: Final = (403, {"Content-Type": "application/problem+json"}, json.dumps(_REFUSAL).encode())
"""What is answered before the service is asked: there is no such path, or it is too long."""
_TAGS: Final = {"If-Match": "*", "If-None-Match": '"0"'}
"""What holds of everything that is there."""
_EMPTY: Final = (204, 304)
_USUAL: Final = {
    "suppress-health-check": ["all"],
    "continue-on-failure": True,
    "output": {"sanitization": {"enabled": False}},
}
_BETWEEN: Final = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")
"""Headers of the way, not of who calls."""


@dataclass(frozen=True)
class Found:
    """A failure: the check that failed, at which operation, what it says, and how to send the request again."""

    check: str
    operation: str
    text: str
    curl: str
    answer: str

    @property
    def faults(self) -> list[dict[str, str]]:
        """What the answer says is wrong, if that is why it refuses."""
        problem = json.loads(self.answer) if self.answer.startswith("{") else {}
        return problem["errors"] if problem.get("code") == "validation_failed" else []


def fuzz(world: World, operations: Iterable[Operation], settings: Mapping[str, Any]) -> Iterator[Found]:
    """Yield what Schemathesis finds wrong with operations; `settings`: those of `schemathesis.toml`."""
    chosen = {operation.id: operation for operation in operations}
    config = schemathesis.Config.from_dict({**_USUAL, **settings})
    schema = schemathesis.openapi.from_dict(document(), config=config)
    _register(schema, world, chosen)
    with _served(world) as address:
        schema.config.update(base_url=address)
        for event in from_schema(schema.include(operation_id=[*chosen])).execute():
            if isinstance(event, events.ScenarioFinished):
                yield from _found(event)
            if isinstance(event, events.NonFatalError):
                raise event.value
            if isinstance(event, events.FatalError):
                raise event.exception


def _found(event: events.ScenarioFinished) -> Iterator[Found]:
    for case_id, checks in event.recorder.checks.items():
        case = event.recorder.cases[case_id].value
        for check in checks:
            if info := check.failure_info:
                answer = event.recorder.interactions[case_id].response
                said = answer.content.decode(errors="replace") if answer else ""
                text = f"{info.failure.title}: {info.failure.message}"
                yield Found(check.name, _id(case), text, info.code_sample, said)


def _register(schema: Any, world: World, chosen: Mapping[str, Operation]) -> None:
    """Let a case carry the credential of who has just the right to it, and name what there is."""

    @schema.auth(refresh_interval=None)
    class Entitled:
        def get(self, case: Any, _: Any) -> Operation:
            return chosen[_id(case)]

        def set(self, case: Any, operation: Operation, _: Any) -> None:
            example = example_of(operation, world)
            caller = example.only or world.entitled(operation)
            if caller:
                case.headers["Authorization"] = f"Bearer {caller.credential}"
                case._has_explicit_auth = True  # noqa: SLF001 - `ignored_auth` asks for it
            case.headers.update(example.headers)
            if not _is_negative(case, ParameterLocation.HEADER):
                case.headers.update({name: tag for name, tag in _TAGS.items() if name in case.headers})
            if not _is_negative(case, ParameterLocation.QUERY):
                case.query.pop("cursor", None)
                case.query.update({n: v for n, v in example.query.items() if n in ("token", "q")})
                case.query.update({"countryId": "CH"} if "countryId" in case.query else {})
            if not _is_negative(case, ParameterLocation.PATH):
                case.path_parameters.update(example.parameters)
            case.path_parameters.update({n: str(v).replace("/", ".") for n, v in case.path_parameters.items()})
            if isinstance(case.body, dict) and not _is_negative(case, ParameterLocation.BODY):
                case.body = {**case.body, **{n: v for n, v in _names(example.body) if n in case.body}}


def _names(body: Any) -> Iterable[tuple[str, Any]]:
    """Return what of a body names something that has to be there."""
    return [(n, v) for n, v in (body or {}).items() if n.endswith("Id") or n == "token"]


def _id(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])


def _is_negative(case: Any, location: ParameterLocation) -> bool:
    return bool(case.meta and case.meta.is_negative_at(location))


@contextmanager
def _served(world: World) -> Iterator[str]:
    """Serve a world on the loopback interface, and yield the address."""

    class Handler(_Handler):
        begun = world

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to the service, in a world as it was first made."""

    begun: World
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse what is no request, such as a path without end, as the gateway would."""
        self.close_connection = True
        self.request_version = self.protocol_version
        self._send(*_OF_THE_GATEWAY)

    def _answer(self) -> None:
        world = snapshots.once(("world",), lambda: self.begun)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _BETWEEN}
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            answer = world.api.request(self.command, self.path, headers=headers, body=body)
        except ValueError:
            self._send(*_OF_THE_GATEWAY)
        except AssertionError as fault:
            self._send(500, {"Content-Type": "text/plain"}, str(fault).encode())
        else:
            self._send(answer.status, answer.headers, answer.text.encode())

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _BETWEEN:
                self.send_header(name, value)
        if status not in _EMPTY:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" or status in _EMPTY else body)
        self.wfile.flush()
