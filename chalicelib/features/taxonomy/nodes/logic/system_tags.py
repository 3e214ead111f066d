"""Create system tags: permanent root nodes with fixed slugs."""

from collections.abc import Mapping
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.taxonomy.entities.nodes import (
    ALL_NODES_LIST,
    SYSTEM_TAG,
    SystemTagSet,
    Taxonomy,
    TaxonomyNode,
)
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.features.taxonomy.models import MAX_SYSTEM_TAGS, NodeOut, SystemTagsOut
from chalicelib.features.taxonomy.nodes.logic.node_changes import add_to_slug_index
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

TagsBySlug = Mapping[str, TaxonomyNode]
"""System tags by slug."""


def create_missing_tags(ctx: Context, platform: Platform, slugs: list[str], tree: Taxonomy | None) -> SystemTagsOut:
    """Return the system tags with some slugs, after creating the missing ones.

    Raises Problem `slug_taken` if another root has one of the slugs, and `limit_exceeded`.
    """
    tag_ids = tree.tags if tree else {}
    missing_slugs = [slug for slug in slugs if slug not in tag_ids]
    nodes = taxonomy_tree(platform.id)
    node_keys = {slug: nodes.node_key(node_id) for slug, node_id in tag_ids.items()}
    slug_keys = {slug: nodes.slug_guard_key(None, slug) for slug in missing_slugs}
    items = table.get_all([*node_keys.values(), *slug_keys.values(), *map(nodes.slug_index_key, missing_slugs)])
    _reject_taken_slugs(slugs, [slug for slug in missing_slugs if slug_keys[slug] in items])
    existing_tags = {slug: TaxonomyNode.from_item(items[key]) for slug, key in node_keys.items()}
    last_position = tree.last_position if tree else -1
    new_tags = {
        slug: _build_tag_node(ctx, platform, slug, last_position + n, tree) for n, slug in enumerate(missing_slugs, 1)
    }
    if len(tag_ids) + len(new_tags) > MAX_SYSTEM_TAGS:
        raise Problem("limit_exceeded", f"A platform has at most {MAX_SYSTEM_TAGS} system tags.")
    if new_tags:
        _add_tags_to_unit_of_work(ctx, platform, tree, existing_tags, new_tags, items)
    outputs = [NodeOut.of({**existing_tags, **new_tags}[slug]) for slug in slugs]
    return SystemTagsOut(items=outputs, created=len(new_tags))


def _add_tags_to_unit_of_work(
    ctx: Context,
    platform: Platform,
    tree: Taxonomy | None,
    existing_tags: TagsBySlug,
    new_tags: TagsBySlug,
    prefetched: dict[ItemKey, Item],
) -> None:
    """Add new tags to the tree. Also change the version of the platform, so that concurrent requests conflict."""
    ctx.has_derived_slug = True  # If another node takes a slug meanwhile, the request is retried and finds it.
    tags = {**existing_tags, **new_tags}
    fields: dict[str, Any] = {"tags": {slug: node.id for slug, node in tags.items()}}
    fields["last_position"] = max(node.position for node in new_tags.values())
    for node in new_tags.values():
        ctx.changes.create(node)
        add_to_slug_index(ctx.changes, node, prefetched)
    if tree:
        ctx.changes.update_untracked(tree, **fields)
    else:
        ctx.changes.create(Taxonomy(**ctx.new_id_and_time_fields(), **platform.ids_by_parameter, **fields))
    before, after = (_node_outputs(each) for each in (existing_tags, tags))
    create_set = SystemTagSet.from_container_and_records
    ctx.changes.event(create_set(ctx.changes.update(platform, touch=True), after), before=create_set(platform, before))


def _reject_taken_slugs(slugs: list[str], taken_slugs: list[str]) -> None:
    if taken_slugs:
        detail = "A term that is a root has this slug. Give that term another slug, or move it, first."
        errors = [FieldError(f"/tags/{slugs.index(slug)}", "slug_taken", detail) for slug in taken_slugs]
        raise Problem("slug_taken", f"{detail} It is {', '.join(taken_slugs)}.", errors)


def _node_outputs(tags: TagsBySlug) -> list[NodeOut]:
    return [NodeOut.of(node) for node in sorted(tags.values(), key=lambda node: (node.position, node.id))]


def _build_tag_node(ctx: Context, platform: Platform, slug: str, position: int, tree: Taxonomy | None) -> TaxonomyNode:
    return TaxonomyNode(
        **ctx.new_id_and_time_fields(),
        organization_id=platform.organization_id,
        platform_id=platform.id,
        slug=slug,
        position=position,
        name=slug.replace("-", " ").capitalize(),
        sort=SYSTEM_TAG,
        listed=ALL_NODES_LIST,
        sibling_list=SYSTEM_TAG,
        tree_version=tree.version if tree else 1,
    )
