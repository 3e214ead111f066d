"""Redirects as they are shown: those of pages that moved with where these are now."""

from collections.abc import Sequence
from typing import Self

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import LIVE, tree_of
from chalicelib.features.sites.pages.logic.page_queries import on_show
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import TreeReader


class RedirectToShow(Redirect):
    """A redirect whose `to_path` is where it leads, whatever its origin: of a page that moved, where that is now."""

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:  # noqa: ARG002 - the seats of pages are read anew
        """Return it with where it leads: by a read or two, if it was made for a page that moved."""
        (shown,) = leading(self.site_id, [self])
        return self.replace(to_path=shown.to_path)


def leading(site_id: str, redirects: Sequence[Redirect]) -> list[Redirect]:
    """Return redirects with where they lead; those of pages that are nowhere lead nowhere.

    One read brings the seats of all the pages, and another those above them.
    """
    pages = [redirect.page_id for redirect in redirects if redirect.page_id]
    reading = TreeReader(tree_of(site_id, LIVE))
    if pages:
        reading.read(reading.tree.key(page_id) for page_id in pages)
        reading.load_ancestors([page_id for page_id in pages if reading.node(page_id)])
    return [redirect.replace(to_path=_where(reading, redirect)) for redirect in redirects]


def _where(reading: TreeReader, redirect: Redirect) -> str | None:
    if redirect.page_id is None:
        return redirect.to_path
    located = on_show(reading, redirect.page_id)
    return located.path if located else None
