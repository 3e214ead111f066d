"""HTTP: Chalice's requests become operations, and everything that goes wrong becomes a problem. Once, here."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import unquote

from chalice.app import Blueprint
from chalice.app import Request as ChaliceRequest
from chalice.app import Response as ChaliceResponse
from uuid_utils import uuid7

from chalicelib.entrypoints.catalogue import ROUTES, operation_of
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.logs import correlate, log_scope, logger
from chalicelib.kernel.core.problems import Problem, internal_error
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution.pipeline import execute
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import EXPOSED_HEADERS, Request, Response

_ACCEPTED: Final = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, API-Version, Lead-Token"
_NO_CONTENT: Final = 204


def blueprints() -> Iterable[Blueprint]:
    """Return a Blueprint for each route group, with a view for each of its operations and their preflights."""
    groups: dict[str, Blueprint] = {}
    methods: dict[str, list[str]] = {}
    for group, method, path, target in ROUTES:
        blueprint = groups.setdefault(group, Blueprint(f"chalicelib.entrypoints.http.{group}"))
        blueprint.route(path, methods=[method], content_types=["*/*"], name=target.rpartition(":")[2])(
            _view(blueprint, target)
        )
        methods.setdefault(path, []).append(method)
        if len(methods[path]) == 1:
            preflight = _preflight(blueprint, methods[path])
            blueprint.route(path, methods=["OPTIONS"], content_types=["*/*"], name="preflight")(preflight)
    return groups.values()


def _view(blueprint: Blueprint, target: str) -> Callable[..., ChaliceResponse]:
    def view(**_: str) -> ChaliceResponse:
        return _answer(_request(blueprint.current_request), target)

    return view


def _preflight(blueprint: Blueprint, methods: list[str]) -> Callable[..., ChaliceResponse]:
    def view(**_: str) -> ChaliceResponse:
        request = _request(blueprint.current_request)
        allowed = {
            "Access-Control-Allow-Methods": ", ".join([*methods, "OPTIONS"]),
            "Access-Control-Allow-Headers": _ACCEPTED,
            "Access-Control-Max-Age": "86400",
        }
        return _sent(request, Response(_NO_CONTENT, headers=allowed))

    return view


def _answer(request: Request, target: str) -> ChaliceResponse:
    operation = target.rpartition(":")[2]
    with (
        log_scope(
            "request", operation, requestId=request.id, method=request.method, principal="anonymous", tenant=None
        ) as facts,
        correlate(request.id),
    ):
        try:
            response = execute(operation_of(target), request)
        except Problem as problem:
            response = _problem(request, problem)
            facts["problem"] = problem.code
        except Exception:  # noqa: BLE001 - the edge of the process: the caller gets a problem, the log the trace
            logger().exception("unhandled", extra={"requestId": request.id})
            response = _problem(request, internal_error())
        facts["status"] = response.status
    return _sent(request, response)


def _request(request: ChaliceRequest) -> Request:
    # `chalice local` decodes no path parameter and knows other routes' names: take the path's own, decoded once.
    given = request.uri_params or {}
    parameters = {name: _decoded(given[name]) for name in re.findall(r"{(\w+)}", request.path)}
    path = re.sub(r"{(\w+)}", lambda match: given[match[1]], request.path)
    full = (request.context.get("path") or path).rstrip("/")  # The gateway takes a trailing slash for nothing.
    return Request(
        method=request.method,
        path=path,
        parameters=parameters,
        query=request.query_params._dict if request.query_params else {},  # noqa: SLF001 - MultiDict shows it no other way
        headers={ascii_lower(name): value for name, value in request.headers.items()},
        body=body if isinstance(body := request.raw_body, bytes) else body.encode(),
        id=request.context.get("requestId") or str(uuid7()),
        ip=request.context.get("identity", {}).get("sourceIp") or "0.0.0.0",  # noqa: S104 - an address unknown
        base=full.removesuffix(path) if full.endswith(path) else "",
    )


def _decoded(parameter: str) -> str:
    """Return a path parameter as operations see it: decoded, and a UUID in lower case."""
    value = unquote(parameter)
    return lowered if re.fullmatch(UUID_PATTERN, lowered := ascii_lower(value)) else value


def _problem(request: Request, problem: Problem) -> Response:
    document = problem.document(instance=request.path, request_id=request.id)
    headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store", **problem.headers}
    return Response(problem.status, json.dumps(document, ensure_ascii=False).encode(), headers)


def _sent(request: Request, response: Response) -> ChaliceResponse:
    headers: dict[str, str | list[str]] = {
        **response.headers,
        "API-Version": API_VERSION,
        "X-Request-Id": request.id,
        **_cors(request, response.headers.get("Vary")),
    }
    return ChaliceResponse(response.body.decode(), status_code=response.status, headers=headers)


def _cors(request: Request, varies: str | None) -> dict[str, str]:
    allowed = settings().cors_origins
    if allowed == "*":
        return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED_HEADERS}
    origin = request.headers.get("origin", "")
    listed = origin in [o.strip() for o in allowed.split(",")]
    granted = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED_HEADERS}
    return (granted if listed else {}) | {"Vary": ", ".join(filter(None, [varies, "Origin"]))}


def problems_of_chalice(event: Any, get_response: Callable[[Any], ChaliceResponse]) -> ChaliceResponse:
    """Middleware: what Chalice answers by itself (405, and 500 of its own) is a problem too."""
    response = get_response(event)
    if "API-Version" in response.headers:
        return response
    request = _request(event)
    if response.status_code == Problem("method_not_allowed", "").status:
        allow = ", ".join(
            m.strip() for m in str(response.headers.get("Allow", "")).split(",") if m.strip() != "OPTIONS"
        )
        problem = Problem("method_not_allowed", f"Allowed here: {allow}.", headers={"Allow": allow})
    else:
        problem = internal_error()
    return _sent(request, _problem(request, problem))
