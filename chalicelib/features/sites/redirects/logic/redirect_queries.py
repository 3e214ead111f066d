"""Load the current destinations of redirects."""

from collections.abc import Mapping, Sequence
from typing import Self, TypeVar

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree
from chalicelib.features.sites.pages.logic.page_queries import locate_published_page_or_none
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads
from chalicelib.kernel.storage.item_reads import perform_reads
from chalicelib.kernel.trees.reading import TreeReader

R = TypeVar("R", bound=Redirect)


class ResolvedRedirect(Redirect):
    """A redirect whose `to_path` is its current destination, even if it is a redirect of a moved page."""

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self]:  # noqa: ARG002 - the positions of pages are read again
        """Request the positions of a moved page and its ancestors, and return the redirect with its destination."""
        (redirect,) = yield from _destination_reads(self.site_id, [self])
        return redirect


def load_with_current_destinations(site_id: str, redirects: Sequence[Redirect]) -> list[Redirect]:
    """Return redirects with their destinations, None for pages that are not published.

    One read loads the positions of all pages, and a second one their ancestors.
    """
    return perform_reads(_destination_reads(site_id, redirects), {})[1]


def _destination_reads(site_id: str, redirects: Sequence[R]) -> ItemReads[list[R]]:
    """Request the positions of the pages of redirects, and then those of their ancestors."""
    reader = TreeReader(page_tree(site_id, PUBLISHED_TREE))
    page_ids = [redirect.page_id for redirect in redirects if redirect.page_id]
    if page_ids:
        yield from reader.reads_with_state(reader.tree.node_key(page_id) for page_id in page_ids)
        existing_ids = [page_id for page_id in page_ids if reader.undeleted_read_node_or_none(page_id)]
        yield from reader.consistent_ancestor_reads(existing_ids)
    return [redirect.replace(to_path=_current_destination_path(reader, redirect)) for redirect in redirects]


def _current_destination_path(reader: TreeReader, redirect: Redirect) -> str | None:
    if redirect.page_id is None:
        return redirect.to_path
    location = locate_published_page_or_none(reader, redirect.page_id)
    return location.path if location else None
