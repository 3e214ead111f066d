"""HTTP operations on pages and their revisions."""

from chalicelib.features.sites.entities.sites import Site, require_site_organization_role, tree_state_keys
from chalicelib.features.sites.pages.entities.pages import SCHEDULE_TASK, Content, Page, Revision, page_status
from chalicelib.features.sites.pages.logic import page_changes
from chalicelib.features.sites.pages.logic.page_queries import list_pages as find_pages
from chalicelib.features.sites.pages.logic.publishing import PagePublisher
from chalicelib.features.sites.pages.logic.tree_positions import EditablePage, SiteTreesUnitOfWork
from chalicelib.features.sites.pages.models.schemas import (
    DeleteQuery,
    PageCreate,
    PageOut,
    PagePatch,
    PagePublication,
    PagesQuery,
    PageSummary,
    RevisionOut,
    RevisionSummary,
)
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.results import ListPage as PageOfList
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("sites")

_REVISION = "/sites/{site_id}/pages/{page_id}/revisions/{revision_id}"


def tree_prefetch_keys(request: Request) -> list[ItemKey]:
    """Return the item keys of both trees' states of the site in the path, for prefetching."""
    return tree_state_keys(request.parameters["site_id"])


def tree_and_revision_content_prefetch_keys(request: Request) -> list[ItemKey]:
    """Return the item keys of both trees' states and of the content of the revision in the path, for prefetching."""
    ids = {"page_id": request.parameters["page_id"], "id": request.parameters["revision_id"]}
    return [*tree_prefetch_keys(request), Content.make_item_key(**ids)]


def publication_prefetch_keys(request: Request) -> list[ItemKey]:
    """Return the item keys of both trees' states and of the revision in the body, for prefetching."""
    revision_id = request.unvalidated_json_object_or_empty.get("revisionId")
    ids = {"page_id": request.parameters["page_id"], "id": ascii_lower(str(revision_id))}
    return [*tree_prefetch_keys(request), *([Revision.make_item_key(**ids)] if isinstance(revision_id, str) else [])]


@routes.get(
    "/sites/{site_id}/pages",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=tree_prefetch_keys,
)
def list_pages(ctx: Context, site: Site, query: PagesQuery) -> PageOfList[PageSummary]:
    """List the pages of a site with their drafts, in order of creation or, with `q`, by title.

    A page of the list may be short if several filters are given.
    """
    return find_pages(ctx, site.id, query)


@routes.post(
    "/sites/{site_id}/pages",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.created",
    prefetch=page_changes.tree_parent_and_slug_prefetch_keys,
)
def create_page(ctx: Context, site: Site, body: PageCreate) -> PageOut:
    """Create a page as a draft. Publish it, or set `publishAt`. The first page of a site is its home page.

    The page has a draft revision, and visitors do not see it until it is published. Its path consists of the slugs of
    the pages above it and its own.
    """
    page = page_changes.create_page(ctx, site, body)
    _enqueue_publication_if_due(ctx, page)
    return PageOut.of(page)


@routes.get(
    "/sites/{site_id}/pages/{page_id}",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=tree_prefetch_keys,
)
def get_page(_ctx: Context, _site: Site, page: Page) -> PageOut:
    """Get a page with its draft.

    Use it in an editor. `hasUnpublishedChanges` shows whether the draft differs from what visitors see.
    """
    return PageOut.of(page)


@routes.patch(
    "/sites/{site_id}/pages/{page_id}",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits=("page.updated", "page.unpublished"),
    prefetch=page_changes.tree_parent_and_slug_prefetch_keys,
)
def update_page(ctx: Context, site: Site, page: EditablePage, body: PagePatch) -> PageOut:
    """Change the draft of a page. The changes are not public until they are published.

    An `unpublishAt` in the past unpublishes the page at once. A `publishAt` in the past publishes the draft within
    seconds.
    """
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, ctx.access.prefetched)
    updated = page_changes.update_draft(ctx, trees, site, page, body)
    if page.published_revision_id and body.unpublish_at and body.unpublish_at <= ctx.now:
        updated = PagePublisher(trees, updated, ctx.now).unpublish()
        ctx.changes.event = "page.unpublished"
    trees.add_changes_to_unit_of_work()
    schedule = {"publish_at": body.publish_at, "unpublish_at": body.unpublish_at}
    scheduled = ctx.changes.update(
        updated,
        **schedule,
        preview_epoch=page.preview_epoch + body.revoke_previews,
        status=page_status(updated, body.publish_at),
    )
    _enqueue_publication_if_due(ctx, scheduled)
    return PageOut.of(scheduled)


@routes.delete(
    "/sites/{site_id}/pages/{page_id}",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.deleted",
    prefetch=tree_prefetch_keys,
)
def delete_page(ctx: Context, site: Site, page: EditablePage, query: DeleteQuery) -> None:
    """Delete a page with its revisions and, with `cascade`, its descendants. They disappear at once.

    Without `cascade`, a page with pages below it is `not_empty`. Visitors get 404 at the former paths, unless a
    redirect exists. Deleted pages cannot be restored.
    """
    page_changes.delete_page(ctx, site, page, cascade=query.strategy == "cascade")


@routes.post(
    "/sites/{site_id}/pages/{page_id}/publish",
    success=200,
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.published",
    prefetch=publication_prefetch_keys,
)
def publish_page(ctx: Context, site: Site, page: EditablePage, body: PagePublication) -> PageOut:
    """Publish the draft of a page, or another revision of it.

    If its path changes, the paths of all pages below it change, and the former paths redirect.
    """
    revision = (
        page
        if body.revision_id in (None, page.draft_revision_id)
        else _prefetched_revision_or_raise(ctx, page, body.revision_id)
    )
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, ctx.access.prefetched)
    published = PagePublisher(trees, page, ctx.now).publish_now(revision)
    trees.add_changes_to_unit_of_work()
    return PageOut.of(published)


@routes.get(
    "/sites/{site_id}/pages/{page_id}/revisions",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=tree_prefetch_keys,
)
def list_page_revisions(ctx: Context, _site: Site, page: Page, query: ListQuery) -> PageOfList[RevisionSummary]:
    """List the revisions of a page, newest first.

    Each change of the content makes a revision. Use the list to see who changed a page and when, and to choose one to
    preview, publish or restore.
    """
    return ctx.list_records(Revision, Revision.of_page, query, RevisionSummary.of, page_id=page.id)


@routes.get(
    _REVISION,
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=tree_and_revision_content_prefetch_keys,
)
def get_page_revision(_ctx: Context, _site: Site, _page: Page, revision: Revision) -> RevisionOut:
    """Get a revision of a page.

    The revision contains the complete blocks, so it can be compared with the draft. Revisions never change.
    """
    return RevisionOut.of(revision)


@routes.post(
    f"{_REVISION}/restore",
    success=200,
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.restored",
    prefetch=tree_and_revision_content_prefetch_keys,
)
def restore_page_revision(ctx: Context, site: Site, page: EditablePage, revision: Revision) -> PageOut:
    """Restore a revision of a page as its draft. The published revision does not change.

    It creates a new revision, so nothing is lost. If another page has the path of the revision by now, the page keeps
    its path.
    """
    return PageOut.of(page_changes.restore_revision(ctx, site, page, revision))


def _prefetched_revision_or_raise(ctx: Context, page: Page, revision_id: str | None) -> Revision:
    key = Revision.make_item_key(page_id=page.id, id=str(revision_id))
    if key not in ctx.access.prefetched:
        raise ValidationProblem([FieldError("/revisionId", "unknown", "No revision of this page has this id.")])
    return Revision.from_item(ctx.access.prefetched[key])


def _enqueue_publication_if_due(ctx: Context, page: Page) -> None:
    if page.publish_at and page.publish_at <= ctx.now:
        ctx.changes.enqueue_after_commit(SCHEDULE_TASK, page)
