"""Taxonomies: nodes and their attachments."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.platforms import CreatedPlatform
from tests.harness.record_clients import CreatedRecord


@dataclass(frozen=True)
class CreatedNode(CreatedRecord):
    platform: CreatedPlatform

    collection_path = "/taxonomy-nodes"


@dataclass(frozen=True)
class CreatedAttachment(CreatedRecord):
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
    return CreatedNode(post_node(api, platform, name, parent, **options).expect(201).json, platform)


def create_node_chain(api: ApiClient, platform: CreatedPlatform, *names: str) -> list[CreatedNode]:
    nodes: list[CreatedNode] = []
    for name in names:
        nodes.append(create_node(api, platform, name, nodes[-1] if nodes else None))
    return nodes


def move_node(api: ApiClient, node: CreatedNode, parent: CreatedNode | None, **fields: Any) -> ApiResponse:
    body = {"parentId": parent.id if parent else None, **fields}
    return api.patch(node.path, caller=node.platform.owner, json=body)


def delete_node(api: ApiClient, node: CreatedNode, strategy: str | None = None) -> ApiResponse:
    return api.delete(node.path, caller=node.platform.owner, query={"strategy": strategy} if strategy else None)


def list_node_paths(api: ApiClient, platform: CreatedPlatform, **query: Any) -> list[str]:
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
    body = {"entityType": entity_type, "entityId": entity_id or str(uuid4())}
    return api.post(f"{node.path}/attachments", caller=caller or node.platform.owner, json=body)


def create_attachment(
    api: ApiClient, node: CreatedNode, entity_type: str = "lesson", entity_id: str | None = None
) -> CreatedAttachment:
    return CreatedAttachment(post_attachment(api, node, entity_type, entity_id).expect(201).json, node)


class TaxonomyNodes:
    """The nodes of a platform's taxonomy by name, which the owner of the platform creates and moves."""

    def __init__(self, api: ApiClient, platform: CreatedPlatform) -> None:
        self.platform = platform
        self._api = api
        self._nodes: dict[str, CreatedNode] = {}

    def __getitem__(self, name: str) -> CreatedNode:
        return self._nodes[name]

    def create(self, *name_paths: str, **options: Any) -> CreatedNode:
        """Create nodes and return the last one. `Machines/Looms` creates the node Looms below Machines."""
        for name_path in name_paths:
            *ancestors, name = name_path.split("/")
            parent = self._nodes[ancestors[-1]] if ancestors else None
            self._nodes[name] = create_node(self._api, self.platform, name, parent, **options)
        return self._nodes[name]

    def create_chain(self, *names: str) -> list[CreatedNode]:
        chain = create_node_chain(self._api, self.platform, *names)
        self._nodes |= dict(zip(names, chain, strict=True))
        return chain

    def post(self, name: str, parent: str | None = None, **options: Any) -> ApiResponse:
        return post_node(self._api, self.platform, name, self._nodes[parent] if parent else None, **options)

    def read(self, name: str) -> Json:
        return self._api.get(self._nodes[name].path, caller=self.platform.owner).expect(200).json

    def patch(self, node_name: str, /, **fields: Any) -> ApiResponse:
        return self._api.patch(self._nodes[node_name].path, caller=self.platform.owner, json=fields)

    def rename(self, **slugs: str) -> None:
        """Change the slugs of nodes, by name, one after the other."""
        for name, slug in slugs.items():
            assert self.patch(name, slug=slug).status == 200

    def move(self, node_name: str, parent: str | None, /, **fields: Any) -> ApiResponse:
        return move_node(self._api, self._nodes[node_name], self._nodes[parent] if parent else None, **fields)

    def delete(self, name: str, strategy: str | None = None) -> ApiResponse:
        return delete_node(self._api, self._nodes[name], strategy)

    def attach(self, name: str, entity_type: str = "lesson", entity_id: str | None = None) -> CreatedAttachment:
        return create_attachment(self._api, self._nodes[name], entity_type, entity_id)

    def list_paths(self, **query: Any) -> list[str]:
        return list_node_paths(self._api, self.platform, **query)

    def resolve(self, path: str | None = None, **query: Any) -> tuple[str, str] | None:
        """Return the name of the node that a path or slug resolves to, and how it was matched, or None."""
        answer = resolve_node(self._api, self.platform, path, **query)
        if answer.status != 200:
            assert answer.status_and_code == "404 not_found"
            return None
        (name,) = (name for name, node in self._nodes.items() if node.id == answer.json["node"]["id"])
        return name, answer.json["matchedBy"]
