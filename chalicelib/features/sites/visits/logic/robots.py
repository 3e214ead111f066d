"""The robots.txt of a site (RFC 9309)."""

from typing import Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.visits.logic.robots_rules import robots_rule_lines
from chalicelib.features.sites.visits.logic.sitemaps import sitemap_url

ROBOTS_PATH: Final = "/robots.txt"

_DISALLOW_ALL: Final = ("User-agent: *", "Disallow: /")


def build_robots_txt(site: Site | None) -> str:
    """Return the robots.txt of a site, or of a host without one. Without a published site it disallows everything."""
    lines = (
        [*robots_rule_lines(site), "", f"Sitemap: {sitemap_url(site)}"] if site and site.is_published else _DISALLOW_ALL
    )
    return "\n".join(lines) + "\n"
