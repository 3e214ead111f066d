"""Find the content at a host and path: a page, a redirect, or nothing."""

from typing import Final

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, Site, page_tree_partition
from chalicelib.features.sites.models.redirect_targets import to_location
from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.models.url_paths import (
    decode_path_without_query,
    to_comparable_path,
    to_decoded_clean_path,
)
from chalicelib.features.sites.pages.logic.page_queries import (
    PageLocation,
    load_published_page_or_none,
    page_to_public_output,
)
from chalicelib.features.sites.redirects.logic.resolution import (
    RedirectTarget,
    resolution_prefetch_keys,
    resolve_to_page_or_redirect,
)
from chalicelib.features.sites.visits.logic.host_resolution import (
    SiteHost,
    load_public_site_or_none,
    site_and_cached_organization_keys,
)
from chalicelib.features.sites.visits.models import RedirectedOut, VisitOut
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_CANONICAL_REDIRECT_STATUS: Final = 308


def visit_prefetch_keys(request: Request) -> list[ItemKey]:
    """Return the item keys that determine the content at the host and path in the query, for prefetching."""
    host = SiteHost.parse(request.query.get("host", [""])[-1])
    path = to_comparable_path(request.query.get("path", ["/"])[-1])
    return _prefetch_keys(host, path) if host else []


def _prefetch_keys(host: SiteHost, path: str | None) -> list[ItemKey]:
    site_id = host.load_site_id_or_none()
    return (
        [
            host.slug_or_domain_guard_key,
            *site_and_cached_organization_keys(site_id),
            *resolution_prefetch_keys(site_id, path or "/"),
        ]
        if site_id
        else []
    )


def resolve_visit_if_site_public(
    requested_host: str, requested_path: str, prefetched: dict[ItemKey, Item]
) -> VisitOut | None:
    """Return the content at a host and path, or None if no public site has the host.

    `prefetched` are at `visit_prefetch_keys`. If the cached site of the host is outdated, everything is read again.
    """
    host, path = SiteHost.parse(requested_host), to_comparable_path(requested_path)
    site = _load_public_site_of_host_or_none(host, prefetched) if host else None
    if host and site is None:
        prefetched = table.get_all(_prefetch_keys(host, path))
        site = _load_public_site_of_host_or_none(host, prefetched)
    if host is None or site is None:
        return None
    resolved = (
        resolve_to_page_or_redirect(site.id, path, prefetched, to_decoded_clean_path(requested_path)) if path else None
    )
    site_out = _public_site_output_with_host(site, host, prefetched)
    if isinstance(resolved, RedirectTarget):
        return _redirect_visit_output(site_out, resolved.to_path, resolved.status_code)
    if isinstance(resolved, PageLocation) and (decode_path_without_query(requested_path) or "/") != path:
        return _redirect_visit_output(site_out, resolved.path, _CANONICAL_REDIRECT_STATUS)
    page = load_published_page_or_none(site.id, resolved) if resolved else None
    if page is None:
        return VisitOut(site=site_out, match="none", page=None, redirect=None)
    return VisitOut(site=site_out, match="page", page=page_to_public_output(page), redirect=None)


def _load_public_site_of_host_or_none(host: SiteHost, prefetched: dict[ItemKey, Item]) -> Site | None:
    site_id = host.load_site_id_or_none()
    site = load_public_site_or_none(site_id, prefetched) if site_id else None
    return site if site and host.is_host_of_else_evict(site, prefetched) else None


def _public_site_output_with_host(site: Site, host: SiteHost, prefetched: dict[ItemKey, Item]) -> SiteOut:
    """Return a site as the public sees it, with the requested domain and the published home page."""
    state = prefetched.get(page_tree_partition(site.id, PUBLISHED_TREE).state_key, {})
    home_id = state.get("home") if state.get("home_revision_id") else None
    return SiteOut.of(site.replace(domain=host.name if host.slug is None else None, home_page_id=home_id))


def _redirect_visit_output(site: SiteOut, to_path: str, status_code: int) -> VisitOut:
    redirect = RedirectedOut.model_validate({"location": to_location(to_path), "status_code": status_code})
    return VisitOut(site=site, match="redirect", page=None, redirect=redirect)
