"""Find the published pages that visitors do not see, because a redirect at the same path takes precedence."""

from collections.abc import Mapping, Sequence
from typing import Final

from chalicelib.features.sites.entities.redirects import redirect_by_path_key
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.pages.logic.page_queries import PageLocation
from chalicelib.features.sites.redirects.logic.resolution import (
    RedirectTarget,
    leads_back_to_path,
    redirect_before_page_or_none,
)
from chalicelib.features.sites.visits.logic.host_resolution import HostsOfSite
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

MAX_FOLLOWED_REDIRECTS: Final = 200
"""Maximum number of redirects that are followed to find out whether they lead back, and so have no effect."""


def load_ids_of_redirected_pages(site: Site, pages: Sequence[PageLocation]) -> set[str]:
    """Return the ids of the pages at whose paths visitors are redirected.

    It takes one Query for all redirects if they fit in a megabyte, and else a read for each 100 pages. Redirects at
    these paths are followed. Beyond the maximum, none is assumed to lead back.
    """
    site_id, own_hosts = site.id, HostsOfSite(site)
    items = _load_redirect_items(site_id, pages)
    targets = [(page, redirect_before_page_or_none(items.get(_key(site_id, page)), page, own_hosts)) for page in pages]
    redirected = [(page, target) for page, target in targets if target]
    following, others = redirected[:MAX_FOLLOWED_REDIRECTS], redirected[MAX_FOLLOWED_REDIRECTS:]

    def leads_elsewhere(page_and_target: tuple[PageLocation, RedirectTarget]) -> bool:
        page, target = page_and_target
        return not leads_back_to_path(site_id, page.path, target, own_hosts)

    has_effect = table.gather(leads_elsewhere, following)
    effective = [page for (page, _), is_effective in zip(following, has_effect, strict=True) if is_effective]
    return {page.page_id for page in [*effective, *(page for page, _ in others)]}


def _load_redirect_items(site_id: str, pages: Sequence[PageLocation]) -> Mapping[ItemKey, Item]:
    """Return the items of the redirects at the paths of pages, by key, and perhaps others."""
    if not pages:
        return {}
    partition, prefix = redirect_by_path_key(site_id, "")
    first = table.query(partition, prefix=prefix)
    if first.last_evaluated_key is None:
        return {(item["pk"], item["sk"]): item for item in first.items}
    return table.get_all(_key(site_id, page) for page in pages)


def _key(site_id: str, page: PageLocation) -> ItemKey:
    return redirect_by_path_key(site_id, page.path)
