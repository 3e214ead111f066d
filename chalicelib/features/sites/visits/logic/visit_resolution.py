"""Coming to a site by a host and a path: what is there."""

from typing import Final

from chalicelib.features.sites.entities.sites import LIVE, Site, tree_of
from chalicelib.features.sites.models.redirect_targets import as_location
from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.models.url_paths import decoded, normalized, written
from chalicelib.features.sites.pages.logic.page_queries import Located, published, to_public
from chalicelib.features.sites.redirects.logic.resolution import Target, look_up, signposts
from chalicelib.features.sites.visits.logic.host_resolution import Host, keys_of, open_site
from chalicelib.features.sites.visits.models import RedirectedOut, VisitOut
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

_CANONICAL: Final = 308


def beside_host(request: Request) -> list[ItemKey]:
    """Return where all that stands which decides what is at the host and path that the query names."""
    host = Host.of(request.query.get("host", [""])[-1])
    path = normalized(request.query.get("path", ["/"])[-1])
    return _beside(host, path) if host else []


def _beside(host: Host, path: str | None) -> list[ItemKey]:
    site_id = host.site_id()
    return [host.guard, *keys_of(site_id), *signposts(site_id, path or "/")] if site_id else []


def arrive(host_given: str, path_given: str, read: dict[ItemKey, Item]) -> VisitOut | None:
    """Return what is at a host and path; None if no site that everybody may see has the host.

    `read`: what `beside_host` leads to. If the host was met as that of another site, it is read anew.
    """
    host, path = Host.of(host_given), normalized(path_given)
    site = _site(host, read) if host else None
    if host and site is None:
        read = table.get_all(_beside(host, path))
        site = _site(host, read)
    if host is None or site is None:
        return None
    found = look_up(site.id, path, read, written(path_given)) if path else None
    shown = _shown(site, host, read)
    if isinstance(found, Target):
        return _redirected(shown, found.to_path, found.status_code)
    if isinstance(found, Located) and (decoded(path_given) or "/") != path:
        return _redirected(shown, found.path, _CANONICAL)
    page = published(site.id, found) if found else None
    if page is None:
        return VisitOut(site=shown, match="none", page=None, redirect=None)
    return VisitOut(site=shown, match="page", page=to_public(page), redirect=None)


def _site(host: Host, read: dict[ItemKey, Item]) -> Site | None:
    site_id = host.site_id()
    site = open_site(site_id, read) if site_id else None
    return site if site and host.is_of(site, read) else None


def _shown(site: Site, host: Host, read: dict[ItemKey, Item]) -> SiteOut:
    """Return a site as everybody sees it: by the domain that it was come to by, and with a home that is published."""
    live = read.get(tree_of(site.id, LIVE).state_key, {})
    home = live.get("home") if live.get("home_revision_id") else None
    return SiteOut.of(site.replace(domain=host.name if host.slug is None else None, home_page_id=home))


def _redirected(site: SiteOut, to_path: str, status_code: int) -> VisitOut:
    sent = RedirectedOut.model_validate({"location": as_location(to_path), "status_code": status_code})
    return VisitOut(site=site, match="redirect", page=None, redirect=sent)
