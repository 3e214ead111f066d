"""What a site asks of crawlers: its robots.txt (RFC 9309)."""

from typing import Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.visits.logic.sitemaps import address_of

_NOTHING_TO_SEE: Final = ("User-agent: *", "Disallow: /")


def robots_of(site: Site) -> str:
    """Return the text of a site's robots.txt; until the site is published that keeps crawlers away from all of it."""
    lines = [*_NOTHING_TO_SEE] if not site.is_published else [*_rules(site), "", f"Sitemap: {address_of(site)}"]
    return "\n".join(lines) + "\n"


def _rules(site: Site) -> list[str]:
    closed = site.robots.get("disallow") or [""]
    further = (site.robots.get("extra") or "").splitlines()
    return ["User-agent: *", *(f"Disallow: {path}".rstrip() for path in closed), *further]
