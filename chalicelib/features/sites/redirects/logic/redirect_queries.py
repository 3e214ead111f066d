"""Load the current destinations of redirects."""

from collections.abc import Sequence
from typing import Self

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree_partition
from chalicelib.features.sites.pages.logic.page_queries import locate_published_page_or_none
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import TreeReader


class ResolvedRedirect(Redirect):
    """A redirect whose `to_path` is its current destination, even if it is a redirect of a moved page."""

    def with_computed_fields_or_none(self, prefetched: dict[ItemKey, Item]) -> Self | None:  # noqa: ARG002 - the positions of pages are read again
        """Return the redirect with its destination, which takes one or two reads for a moved page."""
        (resolved,) = load_with_current_destinations(self.site_id, [self])
        return self.replace(to_path=resolved.to_path)


def load_with_current_destinations(site_id: str, redirects: Sequence[Redirect]) -> list[Redirect]:
    """Return redirects with their destinations, None for pages that are not published.

    One read loads the positions of all pages, and a second one their ancestors.
    """
    page_ids = [redirect.page_id for redirect in redirects if redirect.page_id]
    reader = TreeReader(page_tree_partition(site_id, PUBLISHED_TREE))
    if page_ids:
        reader.load_with_state(reader.tree.node_key(page_id) for page_id in page_ids)
        reader.load_consistent_ancestors(
            [page_id for page_id in page_ids if reader.undeleted_read_node_or_none(page_id)]
        )
    return [redirect.replace(to_path=_current_destination_path(reader, redirect)) for redirect in redirects]


def _current_destination_path(reader: TreeReader, redirect: Redirect) -> str | None:
    if redirect.page_id is None:
        return redirect.to_path
    location = locate_published_page_or_none(reader, redirect.page_id)
    return location.path if location else None
