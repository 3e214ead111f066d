"""The taxonomies of the platforms, and what their nodes are put on."""

from collections.abc import Mapping
from typing import Any

from local.seed.callers import Caller, Json
from local.seed.organization import Company
from local.seed.platforms import Platform


def grow(company: Company, platform: Platform, content: Json) -> dict[str, str]:
    """Let a platform have its taxonomy, and the system tags; return the nodes' ids by their paths."""
    curator = company.person(content["curator"])
    _let_have_tags(company.owner, platform)
    nodes = {node["path"]: node for node in curator.items(f"{platform.path}/taxonomy-nodes")}
    for root in content["taxonomy"]:
        _create_node(curator, platform, nodes, root, None)
    return {path: node["id"] for path, node in nodes.items()}


def sort(
    company: Company, platform: Platform, content: Json, nodes: Mapping[str, str], pages: Mapping[str, str]
) -> None:
    """Put nodes on spaces, by their slugs, and on the site's pages, by their paths."""
    ids = {"space": platform.spaces, "page": pages}
    there = company.owner.items(f"{platform.path}/taxonomy-attachments")
    attached = {(attachment["nodeId"], attachment["entityId"]) for attachment in there}
    for path, entities in content["sorted"].items():
        for kind, name in entities:
            if (nodes[path], ids[kind][name]) not in attached:
                body = {"entityType": kind, "entityId": ids[kind][name]}
                company.owner.post(f"/taxonomy-nodes/{nodes[path]}/attachments", body)


def _let_have_tags(owner: Caller, platform: Platform) -> None:
    if not owner.items(f"{platform.path}/taxonomy-nodes", kind="system"):
        owner.post(f"{platform.path}/taxonomy-system-tags")


def _create_node(curator: Caller, platform: Platform, nodes: dict[str, Json], term: Any, parent: Json | None) -> None:
    """Let a term be there, below its parent, and all that is below it."""
    fields = {name: value for name, value in term.items() if name != "children"}
    slug = term["name"].lower().replace(" ", "-")
    path = f"{parent['path']}/{slug}" if parent else slug
    if path not in nodes:
        where = {"platformId": platform.record["id"], "parentId": parent["id"] if parent else None, "slug": slug}
        nodes[path] = curator.post("/taxonomy-nodes", {**fields, **where})
    for child in term.get("children", []):
        _create_node(curator, platform, nodes, child, nodes[path])
