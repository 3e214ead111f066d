"""Taxonomies, made over HTTP: nodes, and what they are put on."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.harness.api import Answer, Api
from tests.harness.builders import Made
from tests.harness.callers import Caller
from tests.harness.platforms import Running


@dataclass(frozen=True)
class Node(Made):
    """A node of a taxonomy."""

    platform: Running

    listed_at = "/taxonomy-nodes"


@dataclass(frozen=True)
class Attached(Made):
    """An attachment of a node."""

    node: Node

    listed_at = "{node.path}/attachments"


def asked_to_plant(
    api: Api,
    platform: Running,
    name: str = "Looms",
    below: Node | None = None,
    *,
    as_: Caller | None = None,
    **fields: Any,
) -> Answer:
    """Ask for a node, as a root or below another; in the name of the platform's owner, unless it is said who asks."""
    body = {"platformId": platform.id, "name": name, **({"parentId": below.id} if below else {}), **fields}
    return api.post("/taxonomy-nodes", as_=as_ or platform.owner, json=body)


def plant(api: Api, platform: Running, name: str = "Looms", below: Node | None = None, **words: Any) -> Node:
    """Let there be a node."""
    answer = asked_to_plant(api, platform, name, below, **words)
    assert answer.status == 201, answer.text
    return Node(answer.json, platform)


def plant_line(api: Api, platform: Running, *names: str) -> list[Node]:
    """Let there be a node below each of the one before it."""
    line: list[Node] = []
    for name in names:
        line.append(plant(api, platform, name, line[-1] if line else None))
    return line


def move(api: Api, node: Node, below: Node | None, **fields: Any) -> Answer:
    """Ask for a node to be moved."""
    body = {"parentId": below.id if below else None, **fields}
    return api.patch(node.path, as_=node.platform.owner, json=body)


def fell(api: Api, node: Node, strategy: str | None = None) -> Answer:
    """Ask for a node to be deleted."""
    return api.delete(node.path, as_=node.platform.owner, query={"strategy": strategy} if strategy else None)


def paths(api: Api, platform: Running, **query: Any) -> list[str]:
    """Return the paths of a platform's nodes, as they are listed."""
    listed = api.items(f"{platform.path}/taxonomy-nodes", as_=platform.owner, query=query)
    return [node["path"] for node in listed]


def resolve(api: Api, platform: Running, path: str | None = None, **query: Any) -> Answer:
    """Ask where a path, or what the query says, leads to."""
    query = {**query, **({"path": path} if path is not None else {})}
    return api.get(f"{platform.path}/taxonomy-resolve", as_=platform.owner, query=query)


def put_on(
    api: Api, node: Node, entity_type: str = "lesson", entity_id: str | None = None, *, as_: Caller | None = None
) -> Answer:
    """Ask for a node to be put on something; on what there is no other, unless it is said on what."""
    body = {"entityType": entity_type, "entityId": entity_id or str(uuid4())}
    return api.post(f"{node.path}/attachments", as_=as_ or node.platform.owner, json=body)


def attach(api: Api, node: Node, entity_type: str = "lesson", entity_id: str | None = None) -> Attached:
    """Let a node be put on something."""
    answer = put_on(api, node, entity_type, entity_id)
    assert answer.status == 201, answer.text
    return Attached(answer.json, node)
