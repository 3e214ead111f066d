"""The robots.txt of a site (RFC 9309)."""

from typing import Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.visits.logic.sitemaps import sitemap_url

_DISALLOW_ALL: Final = ("User-agent: *", "Disallow: /")


def build_robots_txt(site: Site) -> str:
    """Return the robots.txt of a site. It disallows everything until the site is published."""
    lines = (
        [*_DISALLOW_ALL] if not site.is_published else [*_robots_txt_lines(site), "", f"Sitemap: {sitemap_url(site)}"]
    )
    return "\n".join(lines) + "\n"


def _robots_txt_lines(site: Site) -> list[str]:
    disallowed = site.robots.get("disallow") or [""]
    extra_lines = (site.robots.get("extra") or "").splitlines()
    return ["User-agent: *", *(f"Disallow: {path}".rstrip() for path in disallowed), *extra_lines]
