"""Publish and unpublish pages. A published page has a position in the tree of published pages.

One transaction contains all changes, however many descendants the page has: the page, its position, the slug index, the
former position, the redirect that lists the former position, and the removal of a redirect at the new path.
"""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.sites.entities.redirects import Redirect, redirect_by_path_key
from chalicelib.features.sites.models.intervals import (
    limit_count_by_merging_oldest,
    parts_before,
    with_open_last_interval,
)
from chalicelib.features.sites.pages.entities.pages import Page, Revision, page_status
from chalicelib.features.sites.pages.logic.page_changes import set_published_home
from chalicelib.features.sites.pages.logic.tree_positions import SiteTreesUnitOfWork, breadcrumb_ids
from chalicelib.features.sites.pages.models.paths import path_of_breadcrumbs
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.trees.changes import reject_cycle
from chalicelib.kernel.trees.reading import TreeReader

_CYCLE: Final = "The page would be below itself. Its new parent is still published below it. Publish the parent first."
_PARENT_GONE: Final = "The parent of this revision is gone. Restore the revision, then publish the draft."


class PagePublisher:
    """Publishes or unpublishes a page."""

    def __init__(self, trees: SiteTreesUnitOfWork, page: Page) -> None:
        self._trees, self._page, self._timestamp = trees, page, trees.changes.now
        self._reader = TreeReader.from_items(trees.published.tree, trees.items)
        self._breadcrumbs: dict[str, list[Item]] = {}

    def publish_now(self, revision: Revision | Page, was_scheduled_for: str | None = None) -> Page:
        """Publish a revision of the page, or its draft. Its published descendants move with it.

        `was_scheduled_for` is the scheduled time, if the publication was scheduled. An `unpublishAt` up to that time is
        cleared. Raises Problem if another page is published at the path, or if the page cannot have the position.
        """
        trees, page = self._trees, self._page
        revision_id = revision.id if isinstance(revision, Revision) else revision.draft_revision_id
        if revision_id == page.published_revision_id:
            return page
        previous = (
            self._published_path_and_position(page) if page.published_revision_id else page.last_published_position
        )
        position_fields = self._take_published_position_and_build_fields(page, revision.parent_id, revision.slug)
        intervals = with_open_last_interval(page.replace(**position_fields).published_intervals, self._timestamp)
        is_expired = page.unpublish_at is not None and page.unpublish_at <= (was_scheduled_for or self._timestamp)
        published_page = trees.changes.update(
            page,
            **{**position_fields, "published_intervals": intervals},
            published_revision_id=revision_id,
            published_at=self._timestamp,
            was_published=True,
            published_version=page.version + 1,
            last_published_position=None,
            status="published",
            publish_at=None,
            unpublish_at=None if is_expired else page.unpublish_at,
            indexable=not revision.seo["noindex"],
            canonical=revision.seo["canonical"],
        )
        trees.published.slug_index.add(published_page.published_position_item)
        trees.mark_content_changed()
        self._update_or_become_published_home(published_page, revision_id)
        if (path := self._published_path(published_page)) != (previous or {}).get("path"):
            self._update_redirects(published_page, previous, path)
        return published_page

    def unpublish(self) -> Page:
        """Unpublish the page. It keeps its position only if it has published descendants."""
        trees, page = self._trees, self._page
        if page.published_revision_id is None:
            return page
        position_fields = (
            {
                "published_intervals": limit_count_by_merging_oldest(
                    parts_before(page.published_intervals, self._timestamp)
                )
            }
            if page.published_child_count
            else _NO_POSITION
        )
        unpublished = trees.changes.update(
            page,
            **_unpublished_fields(page),
            **position_fields,
            last_published_position=self._published_path_and_position(page),
        )
        trees.mark_content_changed()
        if page.published_child_count:
            trees.published.slug_index.add(unpublished.published_position_item)
        else:
            self._remove_position_and_empty_ancestors(page)
        _clear_home_revision_if_home(trees, page)
        return unpublished

    def _remove_position_and_empty_ancestors(self, page: Page) -> None:
        """Remove the published position of the page, and those of unpublished ancestors without other descendants."""
        trees = self._trees
        trees.remove_published_position(page)
        parent = trees.find_page_with_changes(page.published_parent_id)
        if parent and parent.published_revision_id is None and parent.published_child_count == 0:
            self._remove_position_and_empty_ancestors(parent)
            trees.set_page_fields(parent.id, **_NO_POSITION)

    def _take_published_position_and_build_fields(self, page: Page, parent_id: str | None, slug: str) -> dict[str, Any]:
        """Give a page a published position, and return the changed fields; none if it has the position already.

        A parent without a published position gets one, too. Raises Problem if the page cannot have the position.
        """
        trees, had_position = self._trees, page.published_tree_version is not None
        breadcrumbs = self._ensure_published_breadcrumbs(parent_id)
        tree_version = trees.published.state.version
        if had_position and (page.published_parent_id, page.published_slug) == (parent_id, slug):
            return {}
        reject_cycle(page.id, breadcrumb_ids(breadcrumbs), _CYCLE)
        is_deeper = page.published_child_count > 0 and len(breadcrumbs) > len(
            self._ensure_published_breadcrumbs(page.published_parent_id)
        )
        trees.published.reject_excess_depth(page.id, len(breadcrumbs), has_children=is_deeper)
        trees.add_home_child_path_clash_condition(trees.published, page, parent_id, slug)
        if had_position or page.id in trees.published.state.moved:
            tree_version = trees.published.record_move_and_return_version(page.id)
        if had_position:
            trees.remove_published_position(page)
        trees.add_to_child_counts(parent_id, published_child_count=1)
        return {
            "published_parent_id": parent_id,
            "published_slug": slug,
            "published_ancestor_ids": breadcrumb_ids(breadcrumbs),
            "published_tree_version": tree_version,
            "published_position_since": self._timestamp,
            "published_intervals": [],
        }

    def _ensure_published_breadcrumbs(self, page_id: str | None) -> list[Item]:
        """Return the published breadcrumbs of a page. Without a published position, it gets that of its draft."""
        if page_id is None:
            return []
        if page_id not in self._breadcrumbs:
            self._reader.load_consistent_ancestors([page_id])
            self._breadcrumbs[page_id] = self._reader.nodes_from_root_or_none(
                page_id
            ) or self._create_published_breadcrumbs(page_id)
        return self._breadcrumbs[page_id]

    def _create_published_breadcrumbs(self, page_id: str) -> list[Item]:
        page = self._trees.find_page_with_changes(page_id)
        if page is None:
            raise Problem.create_with_field_error("/revisionId", "conflict", _PARENT_GONE)
        position_fields = self._take_published_position_and_build_fields(page, page.parent_id, page.slug)
        self._trees.set_page_fields(page.id, **position_fields)
        self._trees.published.slug_index.add(page.replace(**position_fields).published_position_item)
        return [
            *self._ensure_published_breadcrumbs(page.parent_id),
            page.replace(**position_fields).published_position_item,
        ]

    def _published_path_and_position(self, page: Page) -> dict[str, Any]:
        return {"path": self._published_path(page), "parent_id": page.published_parent_id, "slug": page.published_slug}

    def _published_path(self, page: Page) -> str:
        """Return the path of a page with a published position."""
        return path_of_breadcrumbs(
            [*self._ensure_published_breadcrumbs(page.published_parent_id), page.published_position_item],
            self._trees.published.state.home_page_id,
        )

    def _update_or_become_published_home(self, page: Page, revision_id: str) -> None:
        home_id = self._trees.published.state.home_page_id
        if home_id == page.id:
            self._trees.published.set_fields(home_revision_id=revision_id)
        elif self._trees.drafts.state.home_page_id == page.id:
            set_published_home(self._trees, page, revision_id)

    def _update_redirects(self, page: Page, previous: Mapping[str, Any] | None, path: str) -> None:
        """Create the redirect that lists the former path of a page, and remove a redirect at its new path."""
        changes, site_id, former_path = self._trees.changes, page.site_id, previous and previous["path"]
        keys = {each: redirect_by_path_key(site_id, each) for each in (former_path, path) if each}
        items = table.get_all(keys.values())
        redirects = {each: Redirect.from_item(items[key]) for each, key in keys.items() if key in items}
        removed_paths = [each for each, redirect in redirects.items() if each == path or redirect.origin == "page"]
        for each in removed_paths:
            changes.delete(redirects[each])
        if previous and former_path != "/" and (former_path in removed_paths or former_path not in redirects):
            changes.create(
                Redirect(
                    **new_id_and_time_fields(self._timestamp),
                    **page.organization_and_site_ids,
                    from_path=previous["path"],
                    to_path=None,
                    origin="page",
                    page_id=page.id,
                    former_parent_id=previous["parent_id"],
                    former_slug=previous["slug"],
                )
            )


def remove_from_published_tree_and_build_fields(trees: SiteTreesUnitOfWork, page: Page) -> dict[str, Any]:
    """Remove the published position of a page whose parent is deleted, and return the changed fields."""
    trees.remove_published_position(page)
    _clear_home_revision_if_home(trees, page)
    return {**_NO_POSITION, **_unpublished_fields(page)}


def _unpublished_fields(page: Page) -> dict[str, Any]:
    """Return the changed fields of a page that is unpublished, apart from those of its position."""
    status = page_status(page.replace(published_revision_id=None), page.publish_at)
    return {"published_revision_id": None, "published_at": None, "status": status}


def _clear_home_revision_if_home(trees: SiteTreesUnitOfWork, page: Page) -> None:
    """Show nothing at `/` if the page is the home page."""
    if trees.published.state.home_page_id == page.id:
        trees.published.set_fields(home_revision_id=None)


_NO_POSITION: Final[dict[str, Any]] = {
    "published_parent_id": None,
    "published_slug": None,
    "published_ancestor_ids": [],
    "published_tree_version": None,
    "published_position_since": None,
    "published_intervals": [],
}
