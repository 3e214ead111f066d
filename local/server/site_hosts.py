"""Serve sites at their own hosts, as a CDN in front of the service does: map host and path to `GET /sites/resolve`."""

import re
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from chalicelib.features.platforms.models.domain_names import is_same_or_subdomain
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.features.sites.visits.logic.host_resolution import SiteHost
from chalicelib.features.sites.visits.logic.sitemaps import SITEMAP_PATH
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.outbound.domain_names import host_name_from_header

_PART_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")


def is_site_host(host: str) -> bool:
    """Return whether the value of a `Host` header names a site: a name below PLATFORMS_DOMAIN, or a verified domain.

    Every other host is the service's own, such as that of a tunnel. The first request of an unknown host takes a read.
    """
    name = host_name_from_header(host) or ""
    if "." not in name or name == urlsplit(settings().public_url).hostname:
        return False
    if is_same_or_subdomain(name, section(PlatformSettings).platforms_domain):
        return True
    site_host = SiteHost.parse(name)
    return site_host is not None and site_host.load_site_id_or_none() is not None


def resolve_url(host: str, url: str) -> str:
    """Return the URL of the service that returns what a host has to send for a URL of its own."""
    path, _, query = url.partition("?")
    parts = [number for number in parse_qs(query).get("page", []) if _PART_NUMBER.fullmatch(number)]
    page = {"page": parts[-1]} if path == SITEMAP_PATH and parts else {}
    return f"/sites/resolve?{urlencode({'host': host, 'path': path, **page})}"
