"""Create, change, move and delete pages as drafts, with their effects on parents, both trees and the slug index.

A write that relies on a path fails if the version of the tree of drafts has changed since the path was read.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.sites.entities.sites import DRAFT_TREE, Site, page_tree, tree_state_keys
from chalicelib.features.sites.pages.entities.pages import REVISION_FIELDS, Content, Page, PageRemoval, Revision
from chalicelib.features.sites.pages.logic.tree_positions import DEPTH_LIMIT, SiteTreesUnitOfWork, breadcrumb_ids
from chalicelib.features.sites.pages.models.schemas import MAX_BLOCKS_BYTES, PageCreate, PagePatch
from chalicelib.features.sites.pages.models.slugs import RESERVED_PAGE_SLUGS
from chalicelib.features.sites.rendering.logic.limits import TooComplex
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.changes import reject_cycle, requested_position_keys
from chalicelib.kernel.trees.reading import scan_tree_for_children
from chalicelib.kernel.trees.tree import Tree
from chalicelib.kernel.work import jobs

MAX_CHILDREN_OF_NEW_HOME: Final = 1000
"""Children of a page that becomes the home page."""

_CYCLE: Final = "The page would be below itself. Choose another page as its parent."
_HOME_REQUIRED: Final = "A site always has a home page. Set `isHome` on another page instead."


class SiteTrees(Prefetched):
    """Both trees of pages of the site in the path."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the states of both trees."""
        return tree_state_keys(values.parameters["site_id"])


class SiteTreesWithPosition(SiteTrees):
    """Both trees of pages, and what decides about the position of a new or changed page: its parent and its slug."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the states, and of the parent and the slug in the body."""
        site_id = values.parameters["site_id"]
        position_keys = requested_position_keys(
            values, page_tree(site_id, DRAFT_TREE), "title", lambda id_: Page.make_item_key(site_id=site_id, id=id_)
        )
        return [*super().derive_keys(values), *position_keys]


def create_page(ctx: Context, site: Site, body: PageCreate, site_trees: SiteTrees) -> Page:
    """Create a page with its first draft. Raises Problem if the page cannot have its position."""
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, site_trees.items)
    parent_breadcrumbs = _load_parent_breadcrumbs(trees, body.parent_id)
    DEPTH_LIMIT.reject_excess(len(parent_breadcrumbs), 0)
    slug = ctx.given_or_derived_slug(body.slug, body.title, RESERVED_PAGE_SLUGS)
    fields = body.model_dump(mode="json", exclude={"is_home", "blocks"}) | {"slug": slug}
    page = Page(
        **ctx.new_id_and_time_fields(),
        **site.ids_by_parameter,
        **fields,
        ancestor_ids=breadcrumb_ids(parent_breadcrumbs),
        tree_version=trees.drafts.state.version,
        draft_revision_id=ctx.new_id_and_time_fields()["id"],
        status="scheduled" if body.publish_at else "draft",
        blocks=_stored_blocks_within_size_limit(body),
    )
    page = ctx.changes.create(
        page.replace(
            breadcrumbs=(*parent_breadcrumbs, page.draft_position_item), draft_home_id=trees.drafts.state.home_page_id
        )
    )
    ctx.changes.event(page)
    _store_draft_as_revision(ctx, page)
    trees.drafts.slug_index.add(page.draft_position_item)
    trees.add_to_child_counts(body.parent_id, child_count=1)
    trees.add_home_child_path_clash_condition(trees.drafts, page, page.parent_id, page.slug)
    if body.is_home or page.draft_home_id is None:
        page = _set_home_of_trees_and_site(trees, site, page)
    trees.add_changes_to_unit_of_work()
    return page


def update_draft(ctx: Context, trees: SiteTreesUnitOfWork, site: Site, page: Page, body: PagePatch) -> Page:
    """Apply a patch to a page. Changed revision fields create a new revision, which becomes the draft.

    Raises Problem if the page cannot have its new position.
    """
    fields = body.model_dump(mode="json", include={*REVISION_FIELDS})
    updated = revise_draft(ctx, trees, page, {**fields, "blocks": _stored_blocks_within_size_limit(body)})
    if page.is_home and not body.is_home:
        raise ValidationProblem([FieldError("/isHome", "required", _HOME_REQUIRED)])
    if body.is_home and not page.is_home:
        updated = _set_home_of_trees_and_site(trees, site, updated)
    return updated


def restore_revision(ctx: Context, site: Site, page: Page, revision: Revision, site_trees: SiteTrees) -> Page:
    """Restore a revision as the draft of a page. The page gets the revision's position unless another page has it."""
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, site_trees.items)
    revision_fields = revision.page_fields
    if (revision.parent_id, revision.slug) != (page.parent_id, page.slug) and not _can_take_position_of(
        trees, page, revision
    ):
        revision_fields |= {"parent_id": page.parent_id, "slug": page.slug}
    restored = ctx.changes.event(revise_draft(ctx, trees, page, revision_fields, restored_from=revision.id))
    trees.add_changes_to_unit_of_work()
    return restored


def revise_draft(
    ctx: Context,
    trees: SiteTreesUnitOfWork,
    page: Page,
    revision_fields: Mapping[str, Any],
    restored_from: str | None = None,
) -> Page:
    """Create a revision with some fields as the draft of a page, and move the page if its parent or slug changes."""
    if not restored_from and all(getattr(page, name) == value for name, value in revision_fields.items()):
        return page
    moved_fields = _record_draft_move_and_build_fields(
        trees, page, revision_fields["parent_id"], revision_fields["slug"]
    )
    revised = ctx.changes.update(
        page, **{**revision_fields, **moved_fields, "draft_revision_id": ctx.new_id_and_time_fields()["id"]}
    )
    # Stored blocks can be moved, renamed and restored, even if the limits are lower by now.
    _store_draft_as_revision(
        ctx,
        revised,
        restored_from,
        skip_complexity_check=bool(restored_from) or revision_fields["blocks"] == page.blocks,
    )
    return revised


def _record_draft_move_and_build_fields(
    trees: SiteTreesUnitOfWork, page: Page, parent_id: str | None, slug: str
) -> dict[str, Any]:
    """Move a page among the drafts, and return the changed fields, if its parent or slug changes."""
    if (parent_id, slug) == (page.parent_id, page.slug):
        return {}
    parent_breadcrumbs = (
        page.breadcrumbs[:-1] if parent_id == page.parent_id else _load_parent_breadcrumbs(trees, parent_id)
    )
    if parent_id != page.parent_id:
        reject_cycle(page.id, breadcrumb_ids(parent_breadcrumbs), _CYCLE)
        has_deeper_children = page.child_count > 0 and len(parent_breadcrumbs) >= len(page.breadcrumbs)
        trees.drafts.reject_excess_depth(page.id, len(parent_breadcrumbs), has_children=has_deeper_children)
        trees.add_to_child_counts(page.parent_id, child_count=-1)
        trees.add_to_child_counts(parent_id, child_count=1)
    version = trees.drafts.record_move_and_return_version(page.id)
    moved_page = page.replace(
        parent_id=parent_id, slug=slug, ancestor_ids=breadcrumb_ids(parent_breadcrumbs), tree_version=version
    )
    trees.drafts.slug_index.remove(page.draft_position_item)
    trees.drafts.slug_index.add(moved_page.draft_position_item)
    trees.add_home_child_path_clash_condition(trees.drafts, page, parent_id, slug)
    return {
        "ancestor_ids": moved_page.ancestor_ids,
        "tree_version": moved_page.tree_version,
        "breadcrumbs": (*parent_breadcrumbs, moved_page.draft_position_item),
    }


def _can_take_position_of(trees: SiteTreesUnitOfWork, page: Page, revision: Revision) -> bool:
    """Return whether a page can have the position of one of its revisions."""
    parent = trees.find_page_with_changes(revision.parent_id)
    if revision.parent_id and (parent is None or (parent := trees.load_with_breadcrumbs_or_none(parent)) is None):
        return False
    parent_breadcrumbs = parent.breadcrumbs if parent else ()
    home_id = trees.drafts.state.home_page_id
    sibling_parents = {None, home_id} if revision.parent_id in (None, home_id) else set[str | None]()
    keys = {
        parent_id: trees.drafts.tree.slug_guard_key(parent_id, revision.slug)
        for parent_id in {revision.parent_id, *sibling_parents}
    }
    guards = table.get_all(keys.values())
    # The home page is at `/`, so its slug conflicts only with its siblings.
    conflicting_ids = {
        guard["ref"]
        for parent_id, key in keys.items()
        for guard in [guards.get(key)]
        if guard and (guard["ref"] != home_id or parent_id == revision.parent_id)
    } - {page.id}
    is_within_limits = DEPTH_LIMIT.allows(len(parent_breadcrumbs), 0) and (
        revision.parent_id == page.parent_id or not page.child_count
    )
    return is_within_limits and not conflicting_ids and page.id not in breadcrumb_ids(parent_breadcrumbs)


def _set_home_of_trees_and_site(trees: SiteTreesUnitOfWork, site: Site, page: Page) -> Page:
    """Make a page the home page of the drafts and, if it is published, of the published pages.

    Raises Problem if a child of the page would then have the path of another page.
    """
    _reject_new_home_child_path_clashes(trees.drafts.tree, page, page.child_count)
    trees.drafts.set_home(page.id)
    if page.published_revision_id:
        set_published_home(trees, page, page.published_revision_id)
    home = trees.changes.update(page, touch=True, draft_home_id=page.id)
    trees.changes.update_untracked(site, home_page_id=page.id)
    return home


def set_published_home(trees: SiteTreesUnitOfWork, page: Page, published_revision_id: str) -> None:
    """Make a page the home page of the published pages, which shows one of its revisions."""
    _reject_new_home_child_path_clashes(trees.published.tree, page, page.published_child_count)
    trees.published.set_home(page.id, home_revision_id=published_revision_id)


def _reject_new_home_child_path_clashes(tree: Tree, page: Page, child_count: int) -> None:
    """Raise Problem if a child of a page would have the path of another page if the page became the home page.

    No child can be added concurrently, because that would change the version of the tree.
    """
    if not child_count:
        return
    if child_count > MAX_CHILDREN_OF_NEW_HOME:
        detail = f"The page has {child_count} children. A new home page can have at most {MAX_CHILDREN_OF_NEW_HOME}."
        raise Problem.create_with_field_error("/isHome", "limit_exceeded", f"{detail} Move some first.")
    slugs = sorted(str(position["slug"]) for position in scan_tree_for_children(tree, page.id))
    if len(slugs) != child_count:
        raise ConcurrentModification  # A child was added or removed concurrently.
    guard_keys = {slug: tree.slug_guard_key(None, slug) for slug in slugs}
    guards = table.get_all(guard_keys.values())
    taken_slugs = [slug for slug in slugs if guards.get(guard_keys[slug], {}).get("ref", page.id) != page.id]
    if taken_slugs:
        detail = "Children and siblings of the page have the same slugs and would get the same paths"
        raise Problem.create_with_field_error(
            "/isHome", "slug_taken", f"{detail}: {', '.join(taken_slugs)}. Change one of each first."
        )


def delete_page(ctx: Context, site: Site, page: Page, site_trees: SiteTrees, *, cascade: bool) -> None:
    """Delete a page and, with `cascade`, its descendants. Raises Problem `not_empty` if it has children otherwise."""
    child_count = max(page.child_count, page.published_child_count)
    if child_count and not cascade:
        pages = describe_count(child_count, "page")
        detail = f"It has {pages} below it. Send `strategy=cascade` to delete them, too, or move them first."
        raise Problem.create_with_field_error("query/strategy", "not_empty", detail)
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, site_trees.items)
    remove_from_trees(trees, page)
    ctx.changes.delete(page)
    ctx.changes.event(page)
    if site.home_page_id == page.id:
        ctx.changes.update_untracked(site, home_page_id=None)
    trees.add_changes_to_unit_of_work()
    removal = PageRemoval(
        **ctx.new_id_and_time_fields(), **page.organization_and_site_ids, page_id=page.id, lease_until=ctx.now
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, removal)


def remove_from_trees(trees: SiteTreesUnitOfWork, page: Page) -> None:
    """Remove a page that is deleted from both trees.

    The former published paths of its descendants continue to resolve.
    """
    trees.drafts.slug_index.remove(page.draft_position_item)
    trees.add_to_child_counts(page.parent_id, child_count=-1)
    if trees.drafts.state.home_page_id == page.id:
        trees.drafts.set_home(None)
    if page.published_tree_version is not None:
        trees.remove_published_position(page)
    if trees.published.state.home_page_id == page.id:
        trees.published.set_home(None, home_revision_id=None)


def _load_parent_breadcrumbs(trees: SiteTreesUnitOfWork, parent_id: str | None) -> tuple[Item, ...]:
    """Return the breadcrumbs of a page that is to be a parent. Raises ValidationProblem if it does not exist."""
    page = trees.find_page_with_changes(parent_id)
    parent = trees.load_with_breadcrumbs_or_none(page) if page else None
    if parent_id and parent is None:
        raise ValidationProblem([FieldError("/parentId", "unknown", "No page of this site has this id.")])
    return parent.breadcrumbs if parent else ()


def _stored_blocks_within_size_limit(body: PageCreate | PagePatch) -> tuple[Mapping[str, Any], ...]:
    """Return the blocks of a body in their stored form. Raises Problem `payload_too_large`."""
    blocks = tuple(block.model_dump(mode="json", by_alias=True) for block in body.blocks)
    size = len(to_json(blocks))
    if size > MAX_BLOCKS_BYTES:
        detail = f"The blocks of a page can have at most {MAX_BLOCKS_BYTES} bytes as JSON. These have {size}."
        raise Problem.create_with_field_error("/blocks", "payload_too_large", detail)
    return blocks


def _store_draft_as_revision(
    ctx: Context, page: Page, restored_from: str | None = None, *, skip_complexity_check: bool = False
) -> None:
    """Store the draft of a page as a revision. Raises ValidationProblem if new blocks exceed the limits of a page."""
    record_fields = {**ctx.new_id_and_time_fields(), "id": page.draft_revision_id}
    revision_fields = {name: getattr(page, name) for name in REVISION_FIELDS}
    content = Content.create(page, record_fields)
    if not skip_complexity_check:
        _reject_too_complex_blocks(content)
    ctx.changes.create(
        Revision(
            **record_fields,
            **page.organization_and_site_ids,
            **revision_fields,
            page_id=page.id,
            created_by=ctx.principal_or_anonymous.id,
            restored_from=restored_from,
        )
    )
    ctx.changes.create(content)


def _reject_too_complex_blocks(content: Content) -> None:
    """Raise ValidationProblem if blocks exceed the limits of a rendered page."""
    result = content.fresh_rendering.html_or_error_object
    if isinstance(result, TooComplex):
        pointer = "".join(f"/{each}" for each in ("blocks", *result.path))
        raise ValidationProblem([FieldError(pointer, "too_complex", str(result))])
