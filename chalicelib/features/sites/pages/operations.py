"""HTTP operations on pages and their revisions."""

from chalicelib.features.sites.entities.sites import Site, require_site_organization_role
from chalicelib.features.sites.pages.entities.pages import SCHEDULE_TASK, Page, Revision, page_status
from chalicelib.features.sites.pages.logic import page_changes
from chalicelib.features.sites.pages.logic.page_changes import SiteTrees, SiteTreesWithPosition
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
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.inputs import KnownValues
from chalicelib.kernel.operations.results import ListPage as PageOfList
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("sites")

_REVISION = "/sites/{site_id}/pages/{page_id}/revisions/{revision_id}"


class SiteTreesWithRevision(SiteTrees):
    """Both trees of pages, and the revision in the body."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the states of both trees and, if the body names one, of the revision."""
        keys, revision_id = super().derive_keys(values), values.body_field_or_none("revision_id")
        ids = {"page_id": values.parameters["page_id"], "id": revision_id}
        return [*keys, *([Revision.make_item_key(**ids)] if revision_id else [])]

    def existing_revision(self, page: Page, revision_id: str) -> Revision:
        """Return the revision of a page. Raises ValidationProblem if it does not exist."""
        item = self.items.get(Revision.make_item_key(page_id=page.id, id=revision_id))
        if item is None:
            raise ValidationProblem([FieldError("/revisionId", "unknown", "No revision of this page has this id.")])
        return Revision.from_item(item)


@routes.get(
    "/sites/{site_id}/pages",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
)
def list_pages(ctx: Context, site: Site, query: PagesQuery, trees: SiteTrees) -> PageOfList[PageSummary]:
    """List the pages of a site with their drafts, in order of creation or, with `q`, by title.

    A page of the list may be short if several filters are given.
    """
    return find_pages(ctx, site.id, query, trees.items)


@routes.post(
    "/sites/{site_id}/pages",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.created",
)
def create_page(ctx: Context, site: Site, body: PageCreate, trees: SiteTreesWithPosition) -> PageOut:
    """Create a page as a draft. Publish it, or set `publishAt`. The first page of a site is its home page.

    The page has a draft revision, and visitors do not see it until it is published. Its path consists of the slugs of
    the pages above it and its own.
    """
    page = page_changes.create_page(ctx, site, body, trees)
    _enqueue_publication_if_due(ctx, page)
    return PageOut.of(page)


@routes.get(
    "/sites/{site_id}/pages/{page_id}",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
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
)
def update_page(
    ctx: Context, site: Site, page: EditablePage, body: PagePatch, site_trees: SiteTreesWithPosition
) -> PageOut:
    """Change the draft of a page. The changes are not public until they are published.

    An `unpublishAt` in the past unpublishes the page at once. A `publishAt` in the past publishes the draft within
    seconds.
    """
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, site_trees.items)
    updated = page_changes.update_draft(ctx, trees, site, page, body)
    is_unpublished_now = page.published_revision_id and body.unpublish_at and body.unpublish_at <= ctx.now
    if is_unpublished_now:
        updated = PagePublisher(trees, updated).unpublish()
    trees.add_changes_to_unit_of_work()
    scheduled = ctx.changes.update(
        updated,
        publish_at=body.publish_at,
        unpublish_at=body.unpublish_at,
        preview_epoch=page.preview_epoch + body.revoke_previews,
        status=page_status(updated, body.publish_at),
    )
    ctx.changes.event(scheduled, "page.unpublished" if is_unpublished_now else None)
    _enqueue_publication_if_due(ctx, scheduled)
    return PageOut.of(scheduled)


@routes.delete(
    "/sites/{site_id}/pages/{page_id}",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.deleted",
)
def delete_page(ctx: Context, site: Site, page: EditablePage, query: DeleteQuery, trees: SiteTrees) -> None:
    """Delete a page with its revisions and, with `cascade`, its descendants. They disappear at once.

    Without `cascade`, a page with pages below it is `not_empty`. Visitors get 404 at the former paths, unless a
    redirect exists. Deleted pages cannot be restored.
    """
    page_changes.delete_page(ctx, site, page, trees, cascade=query.strategy == "cascade")


@routes.post(
    "/sites/{site_id}/pages/{page_id}/publish",
    success=200,
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="page.published",
)
def publish_page(
    ctx: Context, site: Site, page: EditablePage, body: PagePublication, site_trees: SiteTreesWithRevision
) -> PageOut:
    """Publish the draft of a page, or another revision of it.

    If its path changes, the paths of all pages below it change, and the former paths redirect.
    """
    revision = (
        page
        if body.revision_id in (None, page.draft_revision_id)
        else site_trees.existing_revision(page, body.revision_id)
    )
    trees = SiteTreesUnitOfWork(ctx.changes, site.id, site_trees.items)
    published = ctx.changes.event(PagePublisher(trees, page).publish_now(revision))
    trees.add_changes_to_unit_of_work()
    return PageOut.of(published)


@routes.get(
    "/sites/{site_id}/pages/{page_id}/revisions",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
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
)
def restore_page_revision(
    ctx: Context, site: Site, page: EditablePage, revision: Revision, trees: SiteTrees
) -> PageOut:
    """Restore a revision of a page as its draft. The published revision does not change.

    It creates a new revision, so nothing is lost. If another page has the path of the revision by now, the page keeps
    its path.
    """
    return PageOut.of(page_changes.restore_revision(ctx, site, page, revision, trees))


def _enqueue_publication_if_due(ctx: Context, page: Page) -> None:
    if page.publish_at and page.publish_at <= ctx.now:
        ctx.changes.enqueue_after_commit(SCHEDULE_TASK, page)
