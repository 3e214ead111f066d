"""What becomes public, and where: a page gets a seat among what is published, moves there, or is taken back.

One transaction holds it all, however many pages are below: the page, its seat, the trails that lead to it, where it was
until now, the redirect that is listed for that, and one that would stand in its way and goes.
"""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.sites.entities.redirects import Redirect, path_key
from chalicelib.features.sites.entities.sites import DRAFT, LIVE
from chalicelib.features.sites.models.intervals import begun, ended, kept
from chalicelib.features.sites.pages.entities.pages import Page, Revision, status_of
from chalicelib.features.sites.pages.logic.page_changes import make_live_home
from chalicelib.features.sites.pages.logic.tree_positions import Trees, ids_of, refuse_cycle, refuse_depth, refuse_twin
from chalicelib.features.sites.pages.models.paths import path_along
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.trees import TreeReader

_PUBLISH_FIRST: Final = "The page that it is to be below is still published below it: publish that one first."
_PARENT_GONE: Final = "The page that it was below is gone. Restore the revision, then publish the draft."


class Publishing:
    """A page that is published or taken back, at a moment."""

    def __init__(self, trees: Trees, page: Page, moment: str) -> None:
        self._trees, self._page, self._moment = trees, page, moment
        self._reading = TreeReader.of(trees.tree(LIVE), trees.read)
        self._lines: dict[str, list[Item]] = {}

    def publish(self, revision: Revision | Page, since: str | None = None) -> Page:
        """Publish a revision of the page, or its draft; all below it moves with it.

        `since`: when it was to be, if that is not now; an `unpublishAt` before that is over. Raises Problem if
        another page is published where it would be, or if it can't be there.
        """
        trees, page = self._trees, self._page
        revision_id = revision.id if isinstance(revision, Revision) else revision.draft_revision_id
        if revision_id == page.published_revision_id:
            return page
        was = self._seen_at(page) if page.published_revision_id else page.last_seat
        seat = self._take_seat(page, revision.parent_id, revision.slug)
        shown = begun(page.replace(**seat).live_shown, self._moment)
        over = page.unpublish_at is not None and page.unpublish_at <= (since or self._moment)
        now = trees.changes.update(
            page,
            **{**seat, "live_shown": shown},
            published_revision_id=revision_id,
            published_at=self._moment,
            was_published=True,
            live_version=page.version + 1,
            last_seat=None,
            status="published",
            publish_at=None,
            unpublish_at=None if over else page.unpublish_at,
            indexable=not revision.seo["noindex"],
            canonical=revision.seo["canonical"],
        )
        trees.steps(LIVE).lead_to(now.live_seat)
        trees.show_other()
        self._let_be_home(now, revision_id)
        if (is_at := self._where(now)) != (was or {}).get("path"):
            self._redirect(now, was, is_at)
        return now

    def take_back(self) -> Page:
        """Let the page be published no more. Its place is free again, unless others are published below it."""
        trees, page = self._trees, self._page
        if page.published_revision_id is None:
            return page
        left = {"live_shown": kept(ended(page.live_shown, self._moment))} if page.live_count else _NOWHERE
        now = trees.changes.update(page, **_private(page), **left, last_seat=self._seen_at(page))
        trees.show_other()
        if page.live_count:
            trees.steps(LIVE).lead_to(now.live_seat)
        else:
            self._give_up(page)
        _show_no_home(trees, page)
        return now

    def _give_up(self, page: Page) -> None:
        """Let a page have no seat, nor those above it that are there for nothing else."""
        trees = self._trees
        trees.unseat(page, self._moment)
        above = trees.page(page.live_parent_id)
        if above and above.published_revision_id is None and above.live_count == 0:
            self._give_up(above)
            trees.let_page(above.id, **_NOWHERE)

    def _take_seat(self, page: Page, parent_id: str | None, slug: str) -> dict[str, Any]:
        """Return the fields of a page that gets a seat below another, which gets one too if it has none.

        Nothing, if it has that seat. Raises Problem if it can't be there.
        """
        trees, had_one = self._trees, page.live_placed is not None
        line = self._line_of(parent_id)
        placed = trees.state(LIVE).version
        if had_one and (page.live_parent_id, page.live_slug) == (parent_id, slug):
            return {}
        refuse_cycle(page.id, line, _PUBLISH_FIRST)
        deeper = page.live_count > 0 and len(line) > len(self._line_of(page.live_parent_id))
        refuse_depth(trees.site_id, trees.state(LIVE), page.id, len(line), has_children=deeper)
        refuse_twin(trees, LIVE, page, parent_id, slug)
        if had_one or page.id in trees.state(LIVE).moved:
            placed = trees.place_anew(LIVE, page.id)
        if had_one:
            trees.unseat(page, self._moment)
        trees.count(parent_id, live_count=1)
        seat = {"live_parent_id": parent_id, "live_slug": slug, "live_lineage": ids_of(line)}
        return {**seat, "live_placed": placed, "live_since": self._moment, "live_shown": []}

    def _line_of(self, page_id: str | None) -> list[Item]:
        """Return the seats from the root to a page; what has none yet gets one where its draft is."""
        if page_id is None:
            return []
        if page_id not in self._lines:
            self._reading.load_ancestors([page_id])
            self._lines[page_id] = self._reading.chain(page_id) or self._new_line_of(page_id)
        return self._lines[page_id]

    def _new_line_of(self, page_id: str) -> list[Item]:
        page = self._trees.page(page_id)
        if page is None:
            raise Problem.for_field("/revisionId", "conflict", _PARENT_GONE)
        seat = self._take_seat(page, page.parent_id, page.slug)
        self._trees.let_page(page.id, **seat)
        self._trees.steps(LIVE).lead_to(page.replace(**seat).live_seat)
        return [*self._line_of(page.parent_id), page.replace(**seat).live_seat]

    def _seen_at(self, page: Page) -> dict[str, Any]:
        return {"path": self._where(page), "parent_id": page.live_parent_id, "slug": page.live_slug}

    def _where(self, page: Page) -> str:
        """Return where a page that has a seat is."""
        return path_along([*self._line_of(page.live_parent_id), page.live_seat], self._trees.state(LIVE).home)

    def _let_be_home(self, page: Page, revision_id: str) -> None:
        home = self._trees.state(LIVE).home
        if home == page.id:
            self._trees.let(LIVE, home_revision_id=revision_id)
        elif self._trees.state(DRAFT).home == page.id:
            make_live_home(self._trees, page, revision_id)

    def _redirect(self, page: Page, was: Mapping[str, Any] | None, is_at: str) -> None:
        """Let where a page was lead to it, and let nothing stand where it is."""
        changes, site_id, was_at = self._trees.changes, page.site_id, was and was["path"]
        keys = {path: path_key(site_id, path) for path in (was_at, is_at) if path}
        found = table.get_all(keys.values())
        there = {path: Redirect.from_item(found[key]) for path, key in keys.items() if key in found}
        gone = [path for path, redirect in there.items() if path == is_at or redirect.origin == "page"]
        for path in gone:
            changes.delete(there[path])
        if was and was_at != "/" and (was_at in gone or was_at not in there):
            changes.create(
                Redirect(
                    **new_record_fields(self._moment),
                    **page.ids,
                    from_path=was["path"],
                    to_path=None,
                    origin="page",
                    page_id=page.id,
                    former_parent_id=was["parent_id"],
                    former_slug=was["slug"],
                )
            )


def orphan(trees: Trees, page: Page) -> dict[str, Any]:
    """Return the fields of a page that is taken back because the one above it is gone."""
    trees.unseat(page, trees.changes.now)
    _show_no_home(trees, page)
    return {**_NOWHERE, **_private(page)}


def _private(page: Page) -> dict[str, Any]:
    """Return the fields of a page that is published no more."""
    status = status_of(page.replace(published_revision_id=None), page.publish_at)
    return {"published_revision_id": None, "published_at": None, "status": status}


def _show_no_home(trees: Trees, page: Page) -> None:
    """Let nothing be shown at `/` if a page that is published no more is the home."""
    if trees.state(LIVE).home == page.id:
        trees.let(LIVE, home_revision_id=None)


_NOWHERE: Final[dict[str, Any]] = {
    "live_parent_id": None,
    "live_slug": None,
    "live_lineage": [],
    "live_placed": None,
    "live_since": None,
    "live_shown": [],
}
