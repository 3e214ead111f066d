"""System tags: roots of a fixed slug, there once and for all."""

from collections.abc import Mapping
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.taxonomy.entities import LISTED, SYSTEM, SystemTags, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.finding import state_of
from chalicelib.features.taxonomy.models import MOST_TAGS_IN_ALL, NodeOut, SystemTagsOut
from chalicelib.features.taxonomy.trails import join, trail_key
from chalicelib.kernel.core.problems import FieldError, Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key

Tags = Mapping[str, TaxonomyNode]
"""System tags by their slugs."""


def create_tags(ctx: Context, platform: Platform, slugs: list[str]) -> SystemTagsOut:
    """Return the system tags of some slugs; those that there are not yet are created.

    Raises Problem `slug_taken` if another root has the slug of one, and `limit_exceeded`.
    """
    tree = state_of(ctx, platform.id)
    tags = tree.tags if tree else {}
    missing = [slug for slug in slugs if slug not in tags]
    there = {slug: TaxonomyNode.make_item_key(platform_id=platform.id, id=node_id) for slug, node_id in tags.items()}
    guards = {slug: guard_key(TaxonomyNode.by_slug, _root(platform, slug)) for slug in missing}
    trails = [trail_key(platform.id, slug) for slug in missing]
    read = table.get_all([*there.values(), *guards.values(), *trails])
    _refuse_taken(slugs, [slug for slug in missing if guards[slug] in read])
    present = {slug: TaxonomyNode.from_item(read[key]) for slug, key in there.items()}
    last = tree.last_position if tree else -1
    new = {slug: _tag(ctx, platform, slug, last + number, tree) for number, slug in enumerate(missing, 1)}
    if len(tags) + len(new) > MOST_TAGS_IN_ALL:
        raise Problem("limit_exceeded", f"A platform has at most {MOST_TAGS_IN_ALL} system tags.")
    if new:
        _put(ctx, platform, tree, present, new, read)
    shown = [NodeOut.of({**present, **new}[slug]) for slug in slugs]
    return SystemTagsOut(items=shown, created=len(new))


def _put(
    ctx: Context, platform: Platform, tree: Taxonomy | None, present: Tags, new: Tags, read: dict[ItemKey, Item]
) -> None:
    """Put new tags into the tree. The platform is touched, so that no two do that at once."""
    ctx.derived = True  # Who takes a slug at the same moment is found at the next try.
    together = {**present, **new}
    fields: dict[str, Any] = {"tags": {slug: node.id for slug, node in together.items()}}
    fields["last_position"] = max(node.position for node in new.values())
    for slug, node in new.items():
        ctx.changes.create(node)
        key = trail_key(platform.id, slug)
        for write in join(key, read.get(key), node.id):
            ctx.changes.add_write(write)
    if tree:
        ctx.changes.update_untracked(tree, **fields)
    else:
        ctx.changes.create(Taxonomy(**ctx.new_record_fields(), **platform.ancestor_ids, **fields))
    before, now = (_shown(tags) for tags in (present, together))
    ctx.changes.set_event_diff(
        SystemTags.of(platform, before), SystemTags.of(ctx.changes.touch_if_changed(platform), now)
    )


def _refuse_taken(slugs: list[str], taken: list[str]) -> None:
    if taken:
        detail = "A term that is a root has this slug. Give that term another slug, or move it, first."
        faults = [FieldError(f"/tags/{slugs.index(slug)}", "slug_taken", detail) for slug in taken]
        raise Problem("slug_taken", f"{detail} It is {', '.join(taken)}.", faults)


def _shown(tags: Tags) -> list[NodeOut]:
    return [NodeOut.of(node) for node in sorted(tags.values(), key=lambda node: (node.position, node.id))]


def _root(platform: Platform, slug: str) -> dict[str, Any]:
    return {"platform_id": platform.id, "parent_id": None, "slug": slug}


def _tag(ctx: Context, platform: Platform, slug: str, position: int, tree: Taxonomy | None) -> TaxonomyNode:
    return TaxonomyNode(
        **ctx.new_record_fields(),
        **_root(platform, slug),
        organization_id=platform.organization_id,
        position=position,
        name=slug.replace("-", " ").capitalize(),
        sort=SYSTEM,
        listed=LISTED,
        shelf=SYSTEM,
        placed=tree.version if tree else 1,
    )
