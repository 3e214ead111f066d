"""Taxonomies: nodes and their attachments."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller
from tests.harness.created_record import CreatedRecord
from tests.harness.platforms import CreatedPlatform


@dataclass(frozen=True)
class CreatedNode(CreatedRecord):
    """A taxonomy node."""

    platform: CreatedPlatform

    collection_path = "/taxonomy-nodes"


@dataclass(frozen=True)
class CreatedAttachment(CreatedRecord):
    """A taxonomy attachment."""

    node: CreatedNode

    collection_path = "{node.path}/attachments"


def post_node(
    api: ApiClient,
    platform: CreatedPlatform,
    name: str = "Looms",
    parent: CreatedNode | None = None,
    *,
    caller: Caller | None = None,
    **fields: Any,
) -> ApiResponse:
    """Request a node, by default a root and as the owner of the platform, and return the response."""
    body = {"platformId": platform.id, "name": name, **({"parentId": parent.id} if parent else {}), **fields}
    return api.post("/taxonomy-nodes", caller=caller or platform.owner, json=body)


def create_node(
    api: ApiClient, platform: CreatedPlatform, name: str = "Looms", parent: CreatedNode | None = None, **options: Any
) -> CreatedNode:
    """Create a node."""
    answer = post_node(api, platform, name, parent, **options)
    assert answer.status == 201, answer.text
    return CreatedNode(answer.json, platform)


def create_node_chain(api: ApiClient, platform: CreatedPlatform, *names: str) -> list[CreatedNode]:
    """Create a chain of nodes, in which each is the parent of the next."""
    nodes: list[CreatedNode] = []
    for name in names:
        nodes.append(create_node(api, platform, name, nodes[-1] if nodes else None))
    return nodes


def move_node(api: ApiClient, node: CreatedNode, parent: CreatedNode | None, **fields: Any) -> ApiResponse:
    """Request the move of a node."""
    body = {"parentId": parent.id if parent else None, **fields}
    return api.patch(node.path, caller=node.platform.owner, json=body)


def delete_node(api: ApiClient, node: CreatedNode, strategy: str | None = None) -> ApiResponse:
    """Request the deletion of a node."""
    return api.delete(node.path, caller=node.platform.owner, query={"strategy": strategy} if strategy else None)


def list_node_paths(api: ApiClient, platform: CreatedPlatform, **query: Any) -> list[str]:
    """List the paths of a platform's nodes."""
    listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=platform.owner, query=query)
    return [node["path"] for node in listed]


def resolve_node(api: ApiClient, platform: CreatedPlatform, path: str | None = None, **query: Any) -> ApiResponse:
    """Request the node that a path or the parameters of a query resolve to."""
    query = {**query, **({"path": path} if path is not None else {})}
    return api.get(f"{platform.path}/taxonomy-resolve", caller=platform.owner, query=query)


def post_attachment(
    api: ApiClient,
    node: CreatedNode,
    entity_type: str = "lesson",
    entity_id: str | None = None,
    *,
    caller: Caller | None = None,
) -> ApiResponse:
    """Request an attachment of a node, by default to a new entity, and return the response."""
    body = {"entityType": entity_type, "entityId": entity_id or str(uuid4())}
    return api.post(f"{node.path}/attachments", caller=caller or node.platform.owner, json=body)


def create_attachment(
    api: ApiClient, node: CreatedNode, entity_type: str = "lesson", entity_id: str | None = None
) -> CreatedAttachment:
    """Attach a node to an entity."""
    answer = post_attachment(api, node, entity_type, entity_id)
    assert answer.status == 201, answer.text
    return CreatedAttachment(answer.json, node)
