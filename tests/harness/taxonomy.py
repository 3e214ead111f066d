"""Taxonomies: nodes and their attachments."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.harness.api import Answer, Api
from tests.harness.builders import Made
from tests.harness.callers import Caller
from tests.harness.platforms import Running


@dataclass(frozen=True)
class Node(Made):
    """A taxonomy node."""

    platform: Running

    listed_at = "/taxonomy-nodes"


@dataclass(frozen=True)
class Attached(Made):
    """A taxonomy attachment."""

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
    """Request a node, by default a root and as the owner of the platform, and return the response."""
    body = {"platformId": platform.id, "name": name, **({"parentId": below.id} if below else {}), **fields}
    return api.post("/taxonomy-nodes", as_=as_ or platform.owner, json=body)


def plant(api: Api, platform: Running, name: str = "Looms", below: Node | None = None, **options: Any) -> Node:
    """Create a node."""
    answer = asked_to_plant(api, platform, name, below, **options)
    assert answer.status == 201, answer.text
    return Node(answer.json, platform)


def plant_line(api: Api, platform: Running, *names: str) -> list[Node]:
    """Create a chain of nodes, in which each is the parent of the next."""
    nodes: list[Node] = []
    for name in names:
        nodes.append(plant(api, platform, name, nodes[-1] if nodes else None))
    return nodes


def move(api: Api, node: Node, below: Node | None, **fields: Any) -> Answer:
    """Request the move of a node."""
    body = {"parentId": below.id if below else None, **fields}
    return api.patch(node.path, as_=node.platform.owner, json=body)


def fell(api: Api, node: Node, strategy: str | None = None) -> Answer:
    """Request the deletion of a node."""
    return api.delete(node.path, as_=node.platform.owner, query={"strategy": strategy} if strategy else None)


def paths(api: Api, platform: Running, **query: Any) -> list[str]:
    """List the paths of a platform's nodes."""
    listed = api.items(f"{platform.path}/taxonomy-nodes", as_=platform.owner, query=query)
    return [node["path"] for node in listed]


def resolve(api: Api, platform: Running, path: str | None = None, **query: Any) -> Answer:
    """Request the node that a path or the parameters of a query resolve to."""
    query = {**query, **({"path": path} if path is not None else {})}
    return api.get(f"{platform.path}/taxonomy-resolve", as_=platform.owner, query=query)


def put_on(
    api: Api, node: Node, entity_type: str = "lesson", entity_id: str | None = None, *, as_: Caller | None = None
) -> Answer:
    """Request an attachment of a node, by default to a new entity, and return the response."""
    body = {"entityType": entity_type, "entityId": entity_id or str(uuid4())}
    return api.post(f"{node.path}/attachments", as_=as_ or node.platform.owner, json=body)


def attach(api: Api, node: Node, entity_type: str = "lesson", entity_id: str | None = None) -> Attached:
    """Attach a node to an entity."""
    answer = put_on(api, node, entity_type, entity_id)
    assert answer.status == 201, answer.text
    return Attached(answer.json, node)
