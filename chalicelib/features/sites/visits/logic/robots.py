"""The robots.txt of a site (RFC 9309)."""

from typing import Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.visits.logic.sitemaps import sitemap_url

ROBOTS_PATH: Final = "/robots.txt"

_DISALLOW_ALL: Final = ("User-agent: *", "Disallow: /")


def build_robots_txt(site: Site | None) -> str:
    """Return the robots.txt of a site, or of a host without one. Without a published site it disallows everything."""
    lines = (
        [*_robots_txt_lines(site), "", f"Sitemap: {sitemap_url(site)}"] if site and site.is_published else _DISALLOW_ALL
    )
    return "\n".join(lines) + "\n"


def _robots_txt_lines(site: Site) -> list[str]:
    disallowed = site.robots.get("disallow") or [""]
    extra_lines = (site.robots.get("extra") or "").splitlines()
    return ["User-agent: *", *(f"Disallow: {path}".rstrip() for path in disallowed), *extra_lines]
