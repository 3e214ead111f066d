"""The taxonomies of the platforms, and the attachments of their nodes."""

from collections.abc import Mapping
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.organization import Company
from local.seed.platforms import Platform


def ensure_taxonomy(company: Company, platform: Platform, content: Json) -> dict[str, str]:
    """Create the missing nodes of a platform's taxonomy and its system tags. Return the node ids by path."""
    curator = company.caller_for(content["curator"])
    _ensure_system_tags(company.owner, platform)
    nodes = {node["path"]: node for node in curator.list_all(f"{platform.path}/taxonomy-nodes")}
    for root in content["taxonomy"]:
        _ensure_node(curator, platform, nodes, root, None)
    return {path: node["id"] for path, node in nodes.items()}


def ensure_attachments(
    company: Company, platform: Platform, content: Json, nodes: Mapping[str, str], pages: Mapping[str, str]
) -> None:
    """Attach nodes to spaces and to the site's pages, unless they are attached already."""
    ids = {"space": platform.space_ids_by_slug, "page": pages}
    attachments = company.owner.list_all(f"{platform.path}/taxonomy-attachments")
    attached = {(attachment["nodeId"], attachment["entityId"]) for attachment in attachments}
    for path, entities in content["sorted"].items():
        for kind, name in entities:
            if (nodes[path], ids[kind][name]) not in attached:
                body = {"entityType": kind, "entityId": ids[kind][name]}
                company.owner.post(f"/taxonomy-nodes/{nodes[path]}/attachments", body)


def _ensure_system_tags(owner: Caller, platform: Platform) -> None:
    if not owner.list_all(f"{platform.path}/taxonomy-nodes", kind="system"):
        owner.post(f"{platform.path}/taxonomy-system-tags")


def _ensure_node(curator: Caller, platform: Platform, nodes: dict[str, Json], term: Any, parent: Json | None) -> None:
    """Create a term below its parent, and its descendants, unless they exist."""
    fields = {name: value for name, value in term.items() if name != "children"}
    slug = term["name"].lower().replace(" ", "-")
    path = f"{parent['path']}/{slug}" if parent else slug
    if path not in nodes:
        position = {"platformId": platform.record["id"], "parentId": parent["id"] if parent else None, "slug": slug}
        nodes[path] = curator.post("/taxonomy-nodes", {**fields, **position})
    for child in term.get("children", []):
        _ensure_node(curator, platform, nodes, child, nodes[path])
