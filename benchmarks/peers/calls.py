"""The measured calls as API Gateway events, and the check that all stacks respond alike."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.peers.cloud import PLATFORM_ID, PreparedAws
from benchmarks.peers.stacks import Stack

READ, LIST, CREATE = "read one", "list 50", "create in a transaction"
SPACES: Final = 50
REPETITIONS: Final = {READ: 60, LIST: 30, CREATE: 40}
WARM_UP_REPETITIONS: Final = 10
_CREATED: Final = 201
_VARYING_FIELDS: Final = ("id", "createdAt", "updatedAt", "platformId")
"""The fields that differ in each stack."""

Event = dict[str, Any]


class WrongResponse(Exception):
    """A stack did not respond as required, so it cannot be measured."""


def prepare_stack(cloud: PreparedAws, stack: Stack, platform_id: str) -> dict[str, Event]:
    """Create a stack's spaces, and return the event of each call. The fake AWS then knows all its responses."""
    final_create = build_event(
        "POST", "/spaces", {}, cloud, body={"platformId": platform_id, "name": "Looms", "description": "Warp."}
    )
    create_events = [
        build_event(
            "POST", "/spaces", {}, cloud, body={"platformId": platform_id, "name": f"Room {number}", "description": "-"}
        )
        for number in range(SPACES)
    ]
    spaces = call_stack(cloud, stack, create_events)
    events = {
        READ: build_event("GET", "/spaces/{space_id}", {"space_id": spaces[0]["id"]}, cloud),
        LIST: build_event(
            "GET", "/platforms/{platform_id}/spaces", {"platform_id": platform_id}, cloud, query={"limit": "50"}
        ),
        CREATE: final_create,
    }
    read, listed, created = call_stack(cloud, stack, list(events.values()))
    _check_equal(stack, "return the created space", read, spaces[0])
    _check_equal(stack, "list the created spaces", listed, {"items": spaces, "nextCursor": listed["nextCursor"]})
    expected = {
        "version": 1,
        "name": "Looms",
        "slug": "looms",
        "description": "Warp.",
        "visibility": "open",
        "position": SPACES,
    }
    _check_equal(
        stack, "create a space", {name: created[name] for name in created if name not in _VARYING_FIELDS}, expected
    )
    return events


def check_responses(stack: Stack, responses: Mapping[str, Any]) -> None:
    """Check the last responses of a measured process. Raises WrongResponse."""
    items = _parse_body(stack, responses[LIST])["items"]
    _check_equal(stack, "list all spaces", [len(items), items[0]], [SPACES, _parse_body(stack, responses[READ])])
    _check_equal(stack, "create a space", _parse_body(stack, responses[CREATE])["slug"], "looms")


def create_platform(cloud: PreparedAws, stack: Stack) -> str:
    """Return the id of a stack's platform. Atrium's is created over its own interface, with its organization."""
    if stack.name != "atrium":
        return PLATFORM_ID
    (organization,) = call_stack(
        cloud, stack, [build_event("POST", "/organizations", {}, cloud, body={"name": "Mill"})]
    )
    body = {"organizationId": organization["id"], "name": "Mill"}
    (platform,) = call_stack(cloud, stack, [build_event("POST", "/platforms", {}, cloud, body=body)])
    return str(platform["id"])


def call_stack(cloud: PreparedAws, stack: Stack, events: Sequence[Event]) -> list[Any]:
    """Call a stack with events, one after the other, and return the parsed bodies. Raises WrongResponse on an error."""
    calls = {str(n): {"event": each, "warmUp": 1, "times": 0} for n, each in enumerate(events)}
    unknown_path = build_event("GET", "/nowhere", {}, cloud)
    results = stack.run_plan(
        cloud.environment(stack), {"first": "first", "calls": {"first": _call_never(unknown_path), **calls}}
    )
    return [_parse_body(stack, results["answers"][name]) for name in calls]


def _call_never(event: Event) -> dict[str, Any]:
    return {"event": event, "warmUp": 0, "times": 0}


def _parse_body(stack: Stack, response: Mapping[str, Any]) -> Any:
    if response["statusCode"] not in (200, _CREATED):
        raise WrongResponse(f"{stack.name} responds with {response['statusCode']}: {response['body']}")
    return json.loads(response["body"])


def _check_equal(stack: Stack, requirement: str, actual: Any, expected: Any) -> None:
    if actual != expected:
        raise WrongResponse(
            f"{stack.name} does not {requirement}: {json.dumps(actual)[:500]} instead of {json.dumps(expected)[:500]}"
        )


def build_event(
    method: str,
    resource: str,
    path_parameters: Mapping[str, str],
    cloud: PreparedAws,
    *,
    query: Mapping[str, str] | None = None,
    body: Any = None,
) -> Event:
    """Build API Gateway's event of a request by Ada."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "gzip, br",
        "Authorization": f"Bearer {cloud.ada.credential}",
        "Content-Type": "application/json",
        "Host": "api.atrium.example",
        "User-Agent": "bench/1.0",
        "X-Amzn-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700",
        "X-Forwarded-For": "192.0.2.7",
        "X-Forwarded-Port": "443",
        "X-Forwarded-Proto": "https",
    }
    path = resource.format_map(path_parameters)
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": query,
        "multiValueQueryStringParameters": _multi_value(query),
        "stageVariables": None,
        "pathParameters": dict(path_parameters) or None,
        "body": json.dumps(body) if body else None,
        "isBase64Encoded": False,
        "requestContext": {
            "resourceId": "bench",
            "resourcePath": resource,
            "httpMethod": method,
            "stage": "api",
            "path": f"/api{path}",
            "accountId": "123456789012",
            "apiId": "bench",
            "protocol": "HTTP/1.1",
            "domainName": "api.atrium.example",
            "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
            "requestTimeEpoch": 1795341600000,
            "identity": {"sourceIp": "192.0.2.7", "userAgent": "bench/1.0"},
        },
    }


def _multi_value(query: Mapping[str, str] | None) -> dict[str, list[str]] | None:
    return {name: [value] for name, value in query.items()} if query else None
