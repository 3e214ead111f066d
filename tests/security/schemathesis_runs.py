"""Run Schemathesis against the service in this process, with valid and invalid requests.

The tenant is reset before each request that follows a change. Well-formed requests contain ids of existing records, and
their caller is authorized.

Findings are allowed if they are requests whose acceptance JSON Schema cannot describe. Each has an example request. The
tests send it, so that no entry outlives its reason.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.conformance import openapi_document
from tests.harness.threaded_servers import serve_in_thread

_GATEWAY_PROBLEM: Final = {
    "type": "urn:atrium:problem:forbidden",
    "title": "This is not allowed",
    "status": 403,
    "code": "forbidden",
    "detail": "The gateway refuses it.",
    "instance": "/",
    "requestId": "of the gateway",
}
_GATEWAY_RESPONSE: Final = (403, {"Content-Type": "application/problem+json"}, json.dumps(_GATEWAY_PROBLEM).encode())
"""The response of the gateway to a path that does not exist or is too long."""
_ETAG_HEADERS: Final = {"If-Match": "*", "If-None-Match": '"0"'}
"""Preconditions that hold for every existing record."""
_STATUSES_WITHOUT_BODY: Final = (204, 304)
_DEFAULT_SETTINGS: Final = {
    "suppress-health-check": ["all"],
    "continue-on-failure": True,
    "output": {"sanitization": {"enabled": False}},
}
_HOP_HEADERS: Final = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")
"""Headers of the connection, which are not passed on."""


@dataclass(frozen=True)
class Failure:
    """A failed check: its operation, its message, and a command that repeats the request."""

    check: str
    operation_id: str
    text: str
    curl: str
    request_body: bytes
    response_text: str

    @property
    def problem(self) -> dict[str, Any]:
        """The problem of the response, or an empty dictionary."""
        return json.loads(self.response_text) if self.response_text.startswith("{") else {}

    @property
    def validation_errors(self) -> list[dict[str, str]]:
        """The errors of the response, if it is a validation problem."""
        return self.problem["errors"] if self.problem.get("code") == "validation_failed" else []


def run_schemathesis(
    tenant: TenantFixture, operations: Iterable[Operation], settings: Mapping[str, Any]
) -> Iterator[Failure]:
    """Yield the failures that Schemathesis finds in operations. `settings` are those of `schemathesis.toml`."""
    operations_by_id = {operation.id: operation for operation in operations}
    config = schemathesis.Config.from_dict({**_DEFAULT_SETTINGS, **settings})
    schema = schemathesis.openapi.from_dict(openapi_document(), config=config)
    _register_authentication(schema, tenant, operations_by_id)
    with _serve(tenant) as address:
        schema.config.update(base_url=address)
        for event in from_schema(schema.include(operation_id=[*operations_by_id])).execute():
            if isinstance(event, events.ScenarioFinished):
                yield from _failures(event)
            if isinstance(event, events.NonFatalError):
                raise event.value
            if isinstance(event, events.FatalError):
                raise event.exception


def _failures(event: events.ScenarioFinished) -> Iterator[Failure]:
    for case_id, checks in event.recorder.checks.items():
        case = event.recorder.cases[case_id].value
        for check in checks:
            if info := check.failure_info:
                interaction = event.recorder.interactions[case_id]
                response, body = interaction.response, interaction.request.body or b""
                content = response.content.decode(errors="replace") if response else ""
                text = f"{info.failure.title}: {info.failure.message}"
                yield Failure(check.name, _id(case), text, info.code_sample, body, content)


def _register_authentication(schema: Any, tenant: TenantFixture, operations_by_id: Mapping[str, Operation]) -> None:
    """Give each case the credential of an authorized caller, and ids of existing records."""

    @schema.auth(refresh_interval=None)
    class Authentication:
        def get(self, case: Any, _: Any) -> Operation:
            return operations_by_id[_id(case)]

        def set(self, case: Any, operation: Operation, _: Any) -> None:
            example = get_example(operation, tenant)
            caller = example.only_caller or tenant.get_least_privileged_caller(operation)
            if caller:
                case.headers.update(caller.headers)
                case._has_explicit_auth = True  # noqa: SLF001 - `ignored_auth` asks for it
            case.headers.update(example.headers)
            if not _is_negative(case, ParameterLocation.HEADER):
                case.headers.update({name: tag for name, tag in _ETAG_HEADERS.items() if name in case.headers})
            if not _is_negative(case, ParameterLocation.QUERY):
                case.query.pop("cursor", None)
                case.query.update({n: v for n, v in example.query.items() if n in ("token", "q")})
                case.query.update({"countryId": "CH"} if "countryId" in case.query else {})
            if not _is_negative(case, ParameterLocation.PATH):
                case.path_parameters.update(example.parameters)
            case.path_parameters.update({n: str(v).replace("/", ".") for n, v in case.path_parameters.items()})
            if isinstance(case.body, dict) and not _is_negative(case, ParameterLocation.BODY):
                case.body = {**case.body, **{n: v for n, v in _reference_fields(example.body) if n in case.body}}


def _reference_fields(body: Any) -> Iterable[tuple[str, Any]]:
    """Return the fields of a body that refer to records or contain tokens."""
    return [(n, v) for n, v in (body or {}).items() if n.endswith("Id") or n == "token"]


def _id(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])


def _is_negative(case: Any, location: ParameterLocation) -> bool:
    return bool(case.meta and case.meta.is_negative_at(location))


@contextmanager
def _serve(tenant: TenantFixture) -> Iterator[str]:
    """Serve a tenant on the loopback interface and yield the URL."""

    class Handler(_Handler):
        initial_tenant = tenant

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with serve_in_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    """Passes each request to the service, with the tenant in its initial state."""

    initial_tenant: TenantFixture
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reject an invalid request, such as an overlong path, as the gateway would."""
        self.close_connection = True
        self.request_version = self.protocol_version
        self._send(*_GATEWAY_RESPONSE)

    def _handle(self) -> None:
        tenant = snapshots.create_or_restore(("tenant",), lambda: self.initial_tenant)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_HEADERS}
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            response = tenant.api.request(self.command, self.path, headers=headers, body=body)
        except ValueError:
            self._send(*_GATEWAY_RESPONSE)
        except AssertionError as assertion_error:
            self._send(500, {"Content-Type": "text/plain"}, str(assertion_error).encode())
        else:
            self._send(response.status, response.headers, response.text.encode())

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _HOP_HEADERS:
                self.send_header(name, value)
        if status not in _STATUSES_WITHOUT_BODY:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" or status in _STATUSES_WITHOUT_BODY else body)
        self.wfile.flush()


_MISSING_ID: Final = "01939d3c-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class AllowedRejection:
    """A validation error that no schema describes: its code and detail, the reason, and a request that causes it."""

    code: str
    reason: str
    operation_id: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""

    def matches(self, error: Mapping[str, str]) -> bool:
        return error["code"] == self.code and re.search(self.detail, error["detail"]) is not None


ALLOWED_REJECTIONS: Final = (
    AllowedRejection(
        "unknown", "referenced records must exist", "create_site", {"name": "Looms", "platformId": _MISSING_ID}
    ),
    AllowedRejection(
        "malformed",
        "the formats of paths, domains, networks and lines are described in prose",
        "create_redirect",
        {"fromPath": "looms"},
    ),
    AllowedRejection(
        "out_of_range",
        "one timestamp must be after another",
        "list_audit_log",
        query={"from": "2026-11-20T00:00:00Z", "to": "2026-11-19T00:00:00Z"},
    ),
    AllowedRejection(
        "too_large",
        "the limit is in bytes, not in characters",
        "set_module_override",
        {"moduleId": "looms", "settings": {"text": "x" * 66_000}},
    ),
    AllowedRejection(
        "read_only", "a status may be repeated, but not changed", "update_organization", {"status": "pending_deletion"}
    ),
    AllowedRejection(
        "repeated",
        "ids must be unique",
        "update_project_blocks",
        {"projectBlocks": [{"projectBlockId": "a"}, {"projectBlockId": "a"}]},
    ),
    AllowedRejection("too_short", "surrounding whitespace does not count", "list_countries", query={"q": " "}),
    AllowedRejection(
        "required", "one of two parameters is required", "resolve_taxonomy_path", detail="^Send `path` or `slug`"
    ),
    AllowedRejection("required", "one of two fields is required", "erase_person", {}, detail="^Give an email"),
    AllowedRejection(
        "read_only",
        "the type of a destination cannot change",
        "update_log_stream",
        {"destination": {"type": "datadog", "site": "datadoghq.eu", "apiKey": "0" * 32}},
        detail="^The type cannot change",
    ),
    AllowedRejection(
        "required",
        "a link must have a target",
        "update_platform_navigation",
        {"items": [{"id": "a", "label": "Looms", "type": "url"}]},
        detail="needs a target",
    ),
    AllowedRejection(
        "required",
        "an item of a menu must have the target of its type",
        "put_navigation_menu",
        {"name": "Main menu", "items": [{"id": "a", "label": "Looms", "type": "url"}]},
        detail="needs it as its target",
    ),
    AllowedRejection(
        "unsupported",
        "only one of the formats has evidence",
        "export_audit_log",
        query={"format": "csv", "evidence": True},
        detail="^Only an NDJSON export",
    ),
    AllowedRejection(
        "unsupported",
        "only the export of one log has evidence",
        "export_system_audit_log",
        query={"evidence": True},
        detail="^Evidence belongs to one log",
    ),
    AllowedRejection(
        "not_one_of",
        "the type of an event must be declared",
        "create_event",
        {"type": "invoice.lost"},
        detail="is not declared",
    ),
    AllowedRejection(
        "not_one_of",
        "the type must have the version",
        "create_event",
        {"type": "invoice.approved", "version": 2},
        detail="has no version",
    ),
)


@dataclass(frozen=True)
class AllowedAcceptance:
    """A request that is accepted although it violates the schemas: the finding's text, the reason and an example.

    `body`: JSON, or the bytes of a body that is not JSON. `body_pattern`: what the bytes of the body match.
    """

    text: str
    reason: str
    operation_id: str
    body: Any
    body_pattern: bytes = b""

    def matches(self, failure: Failure) -> bool:
        is_same_finding = re.search(self.text, failure.text.replace("\n", " "))
        return bool(is_same_finding and re.search(self.body_pattern, failure.request_body))


ALLOWED_ACCEPTANCES: Final = (
    AllowedAcceptance(
        "^(?=.*violates `maxLength`)(?!.*violates `(?!maxLength))",
        "surrounding whitespace does not count",
        "update_organization",
        {"name": " " * 200 + "Looms"},
    ),
    AllowedAcceptance(
        "invalid syntax",
        "a body of whitespace is a missing body, which is equal to an empty object",
        "reconcile_research",
        b"\t",
        body_pattern=rb"^[ \t\r\n]+$",
    ),
)
"""`test_json_bombs.py` tests that each field rejects longer text without surrounding whitespace."""

_CHECKED_BEFORE_CREDENTIALS: Final = "unknown_api_version"
"""Schemathesis sometimes gives a request without a credential an unknown version of the API, too."""


def is_allowed(failure: Failure) -> bool:
    if failure.check == "negative_data_rejection":
        return any(each.matches(failure) for each in ALLOWED_ACCEPTANCES)
    if failure.check == "missing_required_header":
        return failure.problem.get("code") == _CHECKED_BEFORE_CREDENTIALS
    errors = failure.validation_errors if failure.check == "positive_data_acceptance" else []
    return bool(errors) and all(any(rejection.matches(error) for rejection in ALLOWED_REJECTIONS) for error in errors)
