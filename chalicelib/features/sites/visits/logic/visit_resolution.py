"""Find the content at a host and path: a page, a redirect, or nothing."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, Site, page_tree
from chalicelib.features.sites.models.redirect_targets import is_site_path, to_location
from chalicelib.features.sites.models.url_paths import (
    decode_path_without_query,
    to_comparable_path,
    to_decoded_clean_path,
)
from chalicelib.features.sites.pages.logic.page_queries import PageLocation
from chalicelib.features.sites.redirects.logic.resolution import (
    RedirectTarget,
    Resolution,
    resolution_keys,
    resolve_to_page_or_redirect,
)
from chalicelib.features.sites.visits.logic.host_resolution import (
    HostsOfSite,
    SiteHost,
    load_public_site_or_none,
    site_and_cached_owner_keys,
)
from chalicelib.features.sites.visits.logic.robots import ROBOTS_PATH
from chalicelib.features.sites.visits.logic.sitemaps import SITEMAP_PATH, sitemap_keys
from chalicelib.features.sites.visits.models import RedirectedOut, ResolveQuery
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_GENERATED_PATHS: Final = (ROBOTS_PATH, SITEMAP_PATH)
"""The paths of documents that the service generates. No page has one of them, because slugs contain no dots."""

_CANONICAL_REDIRECT_STATUS: Final = 308


@dataclass(frozen=True)
class Visit:
    """What a host and path of a public site lead to: a page, a redirect, or nothing.

    `site` has the domain of its platform, and as its home page the published one.
    """

    site: Site
    page: PageLocation | None = None
    redirect: RedirectedOut | None = None


class VisitedPlace(Prefetched):
    """What determines the content at the host and path in the query."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys that determine the content. The host of a site that is not cached takes a read."""
        query: ResolveQuery = values.query
        host = SiteHost.parse(query.host)
        return _visit_keys(host, to_comparable_path(query.path), query.page) if host else []


def _visit_keys(host: SiteHost, path: str | None, sitemap_part: int | None) -> list[ItemKey]:
    site_id = host.load_site_id_or_none()
    if site_id is None:
        return []
    return [
        host.reservation_key,
        *site_and_cached_owner_keys(site_id),
        *resolution_keys(site_id, path or "/"),
        *(sitemap_keys(site_id, sitemap_part) if path == SITEMAP_PATH else []),
    ]


def resolve_visit_or_none(
    query: ResolveQuery, prefetched: dict[ItemKey, Item], *, generates_documents: bool
) -> Visit | None:
    """Return what a host and path lead to, or None if no public site has the host.

    `prefetched` are those of `VisitedPlace`; there are none if the host is unknown. If the cached site of the host is
    outdated, everything is read again and replaces them. With `generates_documents`, redirects of the paths of
    generated documents have no effect.
    """
    host, path = SiteHost.parse(query.host), to_comparable_path(query.path)
    if host is None or not prefetched:
        return None
    site_id = host.verified_site_id_or_evict(prefetched)
    if site_id is None:
        prefetched.clear()
        prefetched |= table.get_all(_visit_keys(host, path, query.page))
        site_id = host.verified_site_id_or_evict(prefetched)
    site = load_public_site_or_none(site_id, prefetched) if site_id else None
    if site is None:
        return None
    state = prefetched.get(page_tree(site.id, PUBLISHED_TREE).state_key, {})
    site = site.replace(home_page_id=state.get("home") if state.get("home_revision_id") else None)
    resolved = (
        resolve_to_page_or_redirect(
            site.id, path, prefetched, to_decoded_clean_path(query.path), HostsOfSite(site, host.name)
        )
        if path and not (generates_documents and path in _GENERATED_PATHS)
        else None
    )
    redirect = _redirect_or_none(site, host, query, resolved)
    return Visit(site, resolved if isinstance(resolved, PageLocation) else None, redirect)


def _redirect_or_none(site: Site, host: SiteHost, query: ResolveQuery, resolved: Resolution) -> RedirectedOut | None:
    """Return the redirect of a visit, or None.

    In one step it leads to the host of the site, to the path in its usual spelling, and to the target of a redirect.
    """
    path, is_other_host = to_decoded_clean_path(query.path), host.name != site.host
    if isinstance(resolved, RedirectTarget):
        location, status_code = to_location(resolved.to_path), resolved.status_code
    elif resolved and (is_other_host or (decode_path_without_query(query.path) or "/") != resolved.path):
        location, status_code = to_location(resolved.path), _CANONICAL_REDIRECT_STATUS
    elif path and is_other_host:
        part = f"?page={query.page}" if path == SITEMAP_PATH and query.page else ""
        location, status_code = quote(path) + part, _CANONICAL_REDIRECT_STATUS
    else:
        return None
    origin = site.url if is_other_host and is_site_path(location) else ""
    return RedirectedOut.model_validate({"location": origin + location, "status_code": status_code})
