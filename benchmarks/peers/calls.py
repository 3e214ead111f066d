"""The calls that are measured, as API Gateway hands them over, and that every stack answers them alike."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.peers.cloud import PLATFORM, Cloud
from benchmarks.peers.stacks import Stack

READ, LIST, CREATE = "read one", "list 50", "create in a transaction"
SPACES: Final = 50
TIMES: Final = {READ: 60, LIST: 30, CREATE: 40}
WARM_UP: Final = 10
_MADE: Final = 201
_OF_EACH: Final = ("id", "createdAt", "updatedAt", "platformId")
"""What no two stacks have in common."""

Event = dict[str, Any]


class Wrong(Exception):
    """A stack answers otherwise than it should: there is nothing to measure then."""


def learned(cloud: Cloud, stack: Stack, platform: str) -> dict[str, Event]:
    """Make a stack's spaces, and return the event of each call; the cloud knows all answers then. Raises Wrong."""
    create = event("POST", "/spaces", {}, cloud, body={"platformId": platform, "name": "Looms", "description": "Warp."})
    made = [
        event("POST", "/spaces", {}, cloud, body={"platformId": platform, "name": f"Room {number}", "description": "-"})
        for number in range(SPACES)
    ]
    spaces = answers(cloud, stack, made)
    events = {
        READ: event("GET", "/spaces/{space_id}", {"space_id": spaces[0]["id"]}, cloud),
        LIST: event("GET", "/platforms/{platform_id}/spaces", {"platform_id": platform}, cloud, query={"limit": "50"}),
        CREATE: create,
    }
    read, listed, created = answers(cloud, stack, list(events.values()))
    _agree(stack, "get back what was made", read, spaces[0])
    _agree(stack, "list what was made", listed, {"items": spaces, "nextCursor": listed["nextCursor"]})
    wanted = {
        "version": 1,
        "name": "Looms",
        "slug": "looms",
        "description": "Warp.",
        "visibility": "open",
        "position": SPACES,
    }
    _agree(stack, "make a space", {name: created[name] for name in created if name not in _OF_EACH}, wanted)
    return events


def check(stack: Stack, given: Mapping[str, Any]) -> None:
    """Look whether the last answers of a measured process are what they should be. Raises Wrong."""
    listed = _body(stack, given[LIST])["items"]
    _agree(stack, "list all", [len(listed), listed[0]], [SPACES, _body(stack, given[READ])])
    _agree(stack, "make a space", _body(stack, given[CREATE])["slug"], "looms")


def platform_of(cloud: Cloud, stack: Stack) -> str:
    """Return the id of a stack's platform; Atrium's is made over its own interface, with its company."""
    if stack.name != "atrium":
        return PLATFORM
    (company,) = answers(cloud, stack, [event("POST", "/organizations", {}, cloud, body={"name": "Mill"})])
    body = {"organizationId": company["id"], "name": "Mill"}
    (platform,) = answers(cloud, stack, [event("POST", "/platforms", {}, cloud, body=body)])
    return str(platform["id"])


def answers(cloud: Cloud, stack: Stack, events: Sequence[Event]) -> list[Any]:
    """Return what a stack answers to events, one after the other, as JSON. Raises Wrong unless they succeed."""
    calls = {str(n): {"event": each, "warmUp": 1, "times": 0} for n, each in enumerate(events)}
    nothing = event("GET", "/nowhere", {}, cloud)
    found = stack.run(cloud.environment(stack), {"first": "first", "calls": {"first": _once(nothing), **calls}})
    return [_body(stack, found["answers"][name]) for name in calls]


def _once(nothing: Event) -> dict[str, Any]:
    return {"event": nothing, "warmUp": 0, "times": 0}


def _body(stack: Stack, answer: Mapping[str, Any]) -> Any:
    if answer["statusCode"] not in (200, _MADE):
        raise Wrong(f"{stack.name} answers {answer['statusCode']}: {answer['body']}")
    return json.loads(answer["body"])


def _agree(stack: Stack, what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise Wrong(f"{stack.name} does not {what}: {json.dumps(found)[:500]} instead of {json.dumps(wanted)[:500]}")


def event(
    method: str,
    resource: str,
    names: Mapping[str, str],
    cloud: Cloud,
    *,
    query: Mapping[str, str] | None = None,
    body: Any = None,
) -> Event:
    """Return what API Gateway hands over of a request of Ada's."""
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
    path = resource.format_map(names)
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": query,
        "multiValueQueryStringParameters": _multiple(query),
        "stageVariables": None,
        "pathParameters": dict(names) or None,
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


def _multiple(query: Mapping[str, str] | None) -> dict[str, list[str]] | None:
    return {name: [value] for name, value in query.items()} if query else None
