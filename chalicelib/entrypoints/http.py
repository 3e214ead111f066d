"""The HTTP entry point: maps requests of Chalice to operations, and every error to a problem document."""

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from chalice.app import Blueprint
from chalice.app import Request as ChaliceRequest
from chalice.app import Response as ChaliceResponse
from uuid_utils import uuid7

from chalicelib.entrypoints import route_hints
from chalicelib.entrypoints.catalogue import ROUTES, load_operation
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.logs import originating_request_ids_scope, powertools_logger, write_log_record_of_block
from chalicelib.kernel.core.problems import Problem, internal_error
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution.pipeline import execute_or_raise_problem
from chalicelib.kernel.http.client_address import client_address, without_edge_secret
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import DEPRECATION_HEADERS, EXPOSED_HEADERS, LIST_HEADERS, Request, Response

_ALLOWED_REQUEST_HEADERS: Final = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, API-Version, Lead-Token, Link-Token, Prefer"
)
_PATHS_WITH_HEAD: Final = ("/sites/resolve",)
"""Paths whose GET operation also accepts HEAD. A CDN forwards the method with which a visitor requests a page."""

_NO_CONTENT: Final = 204
_UNKNOWN_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a placeholder, no address to listen on


def create_blueprints() -> Iterable[Blueprint]:
    """Return a Blueprint for each route group, and one for guessed routes, with views for CORS preflight requests.

    A browser only sends the methods that the preflight response allows, so it includes the guessed ones.
    """
    groups: dict[str, Blueprint] = {}
    methods: dict[str, list[str]] = {}
    hints_by_path = route_hints.hints_by_path()
    for group, method, path, target in ROUTES:
        blueprint = groups.setdefault(group, Blueprint(f"chalicelib.entrypoints.http.{group}"))
        accepted = [method, "HEAD"] if method == "GET" and path in _PATHS_WITH_HEAD else [method]
        blueprint.route(path, methods=accepted, content_types=["*/*"], name=target.rpartition(":")[2])(
            _build_view_function(blueprint, target)
        )
        if path not in methods:
            methods[path] = [hint.method for hint in hints_by_path.get(path, ())]
            preflight = _build_preflight_view_function(blueprint, methods[path])
            blueprint.route(path, methods=["OPTIONS"], content_types=["*/*"], name="preflight")(preflight)
        methods[path].append(method)
    return [*groups.values(), _create_hint_blueprint(known_paths=methods)]


def _create_hint_blueprint(known_paths: Container[str]) -> Blueprint:
    blueprint = Blueprint("chalicelib.entrypoints.http.hints")
    for path, hints in route_hints.hints_by_path().items():
        methods = [hint.method for hint in hints]
        view = _build_hint_view_function(blueprint, path)
        blueprint.route(path, methods=methods, content_types=["*/*"], name="hint")(view)
        if path not in known_paths:
            preflight = _build_preflight_view_function(blueprint, methods)
            blueprint.route(path, methods=["OPTIONS"], content_types=["*/*"], name="preflight")(preflight)
    return blueprint


def _build_view_function(blueprint: Blueprint, function_path: str) -> Callable[..., ChaliceResponse]:
    def view(**_: str) -> ChaliceResponse:
        response = _handle_request(
            _from_chalice_request(blueprint.current_request),
            function_path.rpartition(":")[2],
            lambda request: execute_or_raise_problem(load_operation(function_path), request),
        )
        if blueprint.current_request.method == "HEAD":
            response.body = ""  # The response to GET without its content (RFC 9110, section 9.3.2).
        return response

    return view


def _build_hint_view_function(blueprint: Blueprint, path: str) -> Callable[..., ChaliceResponse]:
    def raise_problem(request: Request) -> Response:
        raise route_hints.build_problem(request.method, path, request.base)

    def view(**_: str) -> ChaliceResponse:
        return _handle_request(_from_chalice_request(blueprint.current_request), "route_hint", raise_problem)

    return view


def _build_preflight_view_function(blueprint: Blueprint, methods: list[str]) -> Callable[..., ChaliceResponse]:
    def view(**_: str) -> ChaliceResponse:
        request = _from_chalice_request(blueprint.current_request)
        allow_headers = {
            "Access-Control-Allow-Methods": ", ".join([*methods, "OPTIONS"]),
            "Access-Control-Allow-Headers": _ALLOWED_REQUEST_HEADERS,
            "Access-Control-Max-Age": "86400",
        }
        return _to_chalice_response(request, Response(_NO_CONTENT, headers=allow_headers))

    return view


def _handle_request(request: Request, operation_id: str, respond: Callable[[Request], Response]) -> ChaliceResponse:
    with (
        write_log_record_of_block(
            "request", operation_id, requestId=request.id, method=request.method, principal="anonymous", tenant=None
        ) as log_fields,
        originating_request_ids_scope(request.id),
    ):
        try:
            response = respond(request)
        except Problem as problem:
            response = _build_problem_response(request, problem)
            log_fields["problem"] = problem.code
        except Exception:  # noqa: BLE001 - boundary of the process: the caller gets a problem, the log the traceback
            powertools_logger().exception("unhandled", extra={"requestId": request.id})
            response = _build_problem_response(request, internal_error())
        log_fields["status"] = response.status
    return _to_chalice_response(request, response)


def _from_chalice_request(request: ChaliceRequest) -> Request:
    # `chalice local` does not decode path parameters, and also passes those of other routes.
    raw_parameters = request.uri_params or {}
    parameters = {
        name: _decode_and_lowercase_uuid(raw_parameters[name]) for name in re.findall(r"{(\w+)}", request.path)
    }
    path = re.sub(r"{(\w+)}", lambda match: raw_parameters[match[1]], request.path)
    # The gateway ignores a trailing slash.
    full_path, own_path = (request.context.get("path") or path).rstrip("/"), path.rstrip("/")
    headers = _headers_with_joined_lines(request)
    connection_address = request.context.get("identity", {}).get("sourceIp") or _UNKNOWN_ADDRESS
    return Request(
        method="GET" if request.method == "HEAD" else request.method,
        path=path,
        parameters=parameters,
        query=request.query_params._dict if request.query_params else {},  # noqa: SLF001 - MultiDict has no public accessor for it
        headers=without_edge_secret(headers),
        body=body if isinstance(body := request.raw_body, bytes) else body.encode(),
        id=request.context.get("requestId") or str(uuid7()),
        ip=client_address(headers, connection_address),
        base=full_path.removesuffix(own_path) if full_path.endswith(own_path) else "",
    )


def _headers_with_joined_lines(request: ChaliceRequest) -> dict[str, str]:
    """Return the headers by name in lower case. Of a repeated header, Chalice has only the last line."""
    headers = {ascii_lower(name): value for name, value in request.headers.items()}
    lines_by_name = request.to_original_event().get("multiValueHeaders") or {}
    repeated = {ascii_lower(name): lines for name, lines in lines_by_name.items() if len(lines) > 1}
    return headers | {name: ", ".join(repeated[name]) for name in LIST_HEADERS if name in repeated}


def _decode_and_lowercase_uuid(parameter: str) -> str:
    """Return a path parameter decoded, and in lower case if it is a UUID."""
    value = unquote(parameter)
    return lowercase if re.fullmatch(UUID_PATTERN, lowercase := ascii_lower(value)) else value


def _build_problem_response(request: Request, problem: Problem) -> Response:
    document = problem.document(instance=request.path, request_id=request.id)
    headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store", **problem.headers}
    return Response(problem.status, json.dumps(document, ensure_ascii=False).encode(), headers)


def _to_chalice_response(request: Request, response: Response) -> ChaliceResponse:
    headers: dict[str, str | list[str]] = {
        **response.headers,
        "API-Version": API_VERSION,
        "X-Request-Id": request.id,
        **_cors_headers(request, response.headers),
    }
    return ChaliceResponse(response.body.decode(), status_code=response.status, headers=headers)


def _cors_headers(request: Request, headers: Mapping[str, str]) -> dict[str, str]:
    cors_origins = settings().cors_origins
    exposed = ", ".join([EXPOSED_HEADERS, *(name for name in DEPRECATION_HEADERS if name in headers)])
    if cors_origins == "*":
        return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed}
    origin = request.headers.get("origin", "")
    is_allowed = origin in [o.strip() for o in cors_origins.split(",")]
    allow_headers = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": exposed}
    return (allow_headers if is_allowed else {}) | {"Vary": ", ".join(filter(None, [headers.get("Vary"), "Origin"]))}


def convert_chalice_errors(event: Any, get_response: Callable[[Any], ChaliceResponse]) -> ChaliceResponse:
    """Replace Chalice's own error responses (405 and 500) with problem documents. This is a middleware."""
    response = get_response(event)
    if "API-Version" in response.headers:
        return response
    request = _from_chalice_request(event)
    if response.status_code == Problem("method_not_allowed", "").status:
        allowed = [method.strip() for method in str(response.headers.get("Allow", "")).split(",")]
        problem = _method_not_allowed(request, event.path, [method for method in allowed if method != "OPTIONS"])
    else:
        problem = internal_error()
    return _to_chalice_response(request, _build_problem_response(request, problem))


def _method_not_allowed(request: Request, path: str, chalice_methods: Sequence[str]) -> Problem:
    """Return the problem of a method that a path does not have. `chalice_methods` include those of guessed routes."""
    if path in route_hints.hints_by_path():
        return route_hints.build_problem(request.method, path, request.base)
    allow = ", ".join(chalice_methods)
    return Problem("method_not_allowed", f"Allowed methods: {allow}.", headers={"Allow": allow})
