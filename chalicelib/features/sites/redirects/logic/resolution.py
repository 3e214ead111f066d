"""Resolve a path of a site to a page or a redirect, and follow chains of redirects."""

from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from chalicelib.features.sites.entities.redirects import Redirect, possible_redirect_keys, redirect_by_path_key
from chalicelib.features.sites.models.redirect_targets import expand_splat, is_site_path, without_own_host
from chalicelib.features.sites.models.url_paths import to_comparable_path
from chalicelib.features.sites.pages.logic import page_queries
from chalicelib.features.sites.pages.logic.page_queries import PageLocation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

MAX_HOPS: Final = 5
"""Redirects that are followed in a chain of redirects."""

_MOVED_STATUS: Final = 301
_WILDCARD: Final = "*"
_NO_HOSTS: Final[Container[str]] = ()


@dataclass(frozen=True)
class RedirectTarget:
    """The target of a redirect: a path of the site or a web address. `redirect` is None if a page has moved."""

    to_path: str
    status_code: int
    redirect: Redirect | None = None

    @property
    def site_path(self) -> str | None:
        """The target as a normalized path of the site, or None if it is a web address."""
        return to_comparable_path(self.to_path) if is_site_path(self.to_path) else None


Resolution = PageLocation | RedirectTarget | None


def resolution_keys(site_id: str, path: str) -> list[ItemKey]:
    """Return the item keys that `resolve_to_page_or_redirect` needs for a path."""
    return [*page_queries.path_keys(site_id, path), *possible_redirect_keys(site_id, path)]


def resolve_to_page_or_redirect(
    site_id: str,
    path: str,
    prefetched: dict[ItemKey, Item],
    original_path: str | None = None,
    own_hosts: Container[str] = _NO_HOSTS,
) -> Resolution:
    """Return what a path resolves to: a page, the target of a redirect, or None.

    In order of precedence: a redirect of the path itself, unless the page there is newer; the page; a page that was
    there before; wildcard redirects, the longest first. A redirect that would return to the path is ignored.
    `original_path` is the path before conversion to lower case, which provides the part that a wildcard matches. A
    target on one of `own_hosts` is a path of the site, although it may have been a web address when it was stored.
    """
    candidates = _iter_possible_resolutions(site_id, path, prefetched, original_path, own_hosts)
    return next((each for each in candidates if not leads_back_to_path(site_id, path, each, own_hosts)), None)


def redirect_before_page_or_none(
    redirect_item: Item | None, page: PageLocation, own_hosts: Container[str]
) -> RedirectTarget | None:
    """Return the target of the redirect at a page's path if it takes precedence over the page, or None."""
    target = _manual_target(redirect_item, page.path, own_hosts)
    return target if target and not _is_older_than_page_position(target, page) else None


def _iter_possible_resolutions(
    site_id: str, path: str, prefetched: dict[ItemKey, Item], original_path: str | None, own_hosts: Container[str]
) -> Iterator[PageLocation | RedirectTarget]:
    """Yield everything that a path can resolve to, in order of precedence."""
    own_key = redirect_by_path_key(site_id, path)
    own_target, page = (
        _manual_target(prefetched.get(own_key), original_path or path, own_hosts),
        page_queries.locate_by_path_or_none(site_id, path, prefetched),
    )
    if own_target and not _is_older_than_page_position(own_target, page):
        yield own_target
    if page:
        yield page
    if location := page_queries.locate_by_former_path_or_none(site_id, path, prefetched):
        yield RedirectTarget(location.path, _MOVED_STATUS)
    wildcard_items = (prefetched.get(key) for key in possible_redirect_keys(site_id, path) if key != own_key)
    yield from filter(None, (_manual_target(item, original_path or path, own_hosts) for item in wildcard_items))


def _manual_target(item: Item | None, path: str, own_hosts: Container[str]) -> RedirectTarget | None:
    """Return the target of the redirect in an item, or None if there is none that is enabled and manual."""
    redirect = Redirect.from_item(item) if item else None
    is_active = redirect and redirect.enabled and redirect.origin == "manual"
    return build_redirect_target_for_path(redirect, path, own_hosts) if redirect and is_active else None


def build_redirect_target_for_path(
    redirect: Redirect, path: str, own_hosts: Container[str] = _NO_HOSTS
) -> RedirectTarget:
    """Return the target of a manual redirect for a path that it matches."""
    to_path = redirect.to_path or "/"
    with suppress(ValueError):  # A path that is not valid matches no redirect, so no loop contains it.
        to_path = without_own_host(to_path, own_hosts)
    segment_count = redirect.from_path.count("/")
    splat = "/".join(path.split("/")[segment_count:]) if redirect.from_path.endswith(_WILDCARD) else ""
    return RedirectTarget(expand_splat(to_path, splat), redirect.status_code, redirect)


def _is_older_than_page_position(target: RedirectTarget, page: PageLocation | None) -> bool:
    """Return whether a redirect was last changed before the page at its path got that path."""
    return bool(page and target.redirect and target.redirect.updated_at <= page.path_acquired_at)


def iter_following_targets(site_id: str, target: RedirectTarget, own_hosts: Container[str]) -> Iterator[RedirectTarget]:
    """Yield the targets that follow a target in a chain of redirects, up to the limit. Takes one read for each."""
    hop: RedirectTarget | None = target
    for _ in range(MAX_HOPS):
        path = hop.site_path if hop else None
        items = table.get_all(resolution_keys(site_id, path)) if path else {}
        hop = next_hop(site_id, path, items, own_hosts) if path else None
        if hop is None:
            return
        yield hop


def next_hop(
    site_id: str, path: str, prefetched: dict[ItemKey, Item], own_hosts: Container[str] = _NO_HOSTS
) -> RedirectTarget | None:
    """Return the next target from a path, or None if the chain ends at a page or at nothing."""
    first = next(_iter_possible_resolutions(site_id, path, prefetched, None, own_hosts), None)
    return first if isinstance(first, RedirectTarget) else None


def leads_back_to_path(
    site_id: str, path: str, candidate: PageLocation | RedirectTarget, own_hosts: Container[str]
) -> bool:
    """Return whether a redirect leads to its own path, directly or through others. Takes one read for each hop."""
    if isinstance(candidate, PageLocation) or candidate.redirect is None:
        return False
    return candidate.site_path == path or any(
        each.site_path == path for each in iter_following_targets(site_id, candidate, own_hosts)
    )
