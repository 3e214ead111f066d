"""Sitemaps of sites, and sitemap indexes of large sites (sitemaps.org, protocol 0.9).

They are built from the positions of published pages, with one Query for each megabyte and without reading revisions,
from the redirects at their paths, and from the robots.txt rules of the site. The result is stored
(`stored_sitemaps.py`), so a sitemap is built once for each state of a site.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, Site, page_tree
from chalicelib.features.sites.pages.logic.page_queries import locate_page_in_tree_or_none
from chalicelib.features.sites.visits.logic import stored_sitemaps as stored
from chalicelib.features.sites.visits.logic.redirected_pages import load_ids_of_redirected_pages
from chalicelib.features.sites.visits.logic.robots_rules import build_disallowed_test, robots_rule_lines
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.reading import read_consistent_tree

SITEMAP_PATH: Final = "/sitemap.xml"
MAX_ENTRIES: Final = 10_000
"""URLs in one sitemap."""

MAX_URL_BYTES: Final = 4_000_000
"""Maximum total size of the URLs in one sitemap, so that the sitemap fits in a response."""

_FORMAT_VERSION: Final = 2
"""Version of the stored form. A stored sitemap of another version is not used."""
_SCHEMA: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True)
class SitemapEntry:
    """An entry of a sitemap: a URL, and when the page was last published."""

    url: str
    changed_at: str


def sitemap_url(site: Site) -> str:
    """Return the URL of a site's sitemap."""
    return site.url + SITEMAP_PATH


def sitemap_keys(site_id: str, part_number: int | None) -> list[ItemKey]:
    """Return the item keys of the state of a site's pages, its stored sitemap, and a part of that, by default 1."""
    return [
        page_tree(site_id, PUBLISHED_TREE).state_key,
        stored.sitemap_head_key(site_id),
        stored.sitemap_piece_key(site_id, part_number or 1, 0),
    ]


def load_or_build_sitemap_xml_or_none(
    site: Site, part_number: int | None, prefetched: Mapping[ItemKey, Item]
) -> str | None:
    """Return the part of a site's sitemap with a number, or None. Without a number, return the sitemap or its index.

    `prefetched` are at `sitemap_keys`. The stored sitemap is used while the site is unchanged.
    """
    state = prefetched.get(page_tree(site.id, PUBLISHED_TREE).state_key, {})
    basis = f"{_FORMAT_VERSION}|{state.get('version', 0)}|{state.get('mark', '')}|{site.url}|{_digest_rules(site)}"
    parts = stored.parse_valid_parts_or_none(site.id, basis, prefetched)
    if parts is not None:
        if part_number is None and len(parts) > 1:
            return _build_sitemap_index_xml(site, [part.changed_at for part in parts])
        if (part_number or 1) > len(parts):
            return None
        text = stored.load_part_xml_or_none(site.id, basis, part_number or 1, parts[(part_number or 1) - 1], prefetched)
        if text is not None:
            return text
    return _build_and_store_sitemap_or_none(site, basis, state.get("version", 0), part_number)


def _digest_rules(site: Site) -> str:
    """Return a digest of the robots.txt rules, which a site can change without changing its pages."""
    return sha256("\n".join(robots_rule_lines(site)).encode()).hexdigest()


def _build_and_store_sitemap_or_none(site: Site, basis: str, version: int, part_number: int | None) -> str | None:
    parts = [*_split_into_parts(sorted(_iter_indexable_entries(site, version), key=lambda entry: entry.url))]
    texts = [(max((entry.changed_at for entry in part), default=""), _to_xml("urlset", "url", part)) for part in parts]
    stored.store_parts(site.id, basis, texts)
    if part_number is None and len(parts) > 1:
        return _build_sitemap_index_xml(site, [changed_at for changed_at, _ in texts])
    return texts[(part_number or 1) - 1][1] if (part_number or 1) <= len(texts) else None


def _build_sitemap_index_xml(site: Site, parts_changed_at: Sequence[str]) -> str:
    """Return the index of the parts of a sitemap. `parts_changed_at`: the last publication in each part."""
    parts = (SitemapEntry(f"{sitemap_url(site)}?page={number}", at) for number, at in enumerate(parts_changed_at, 1))
    return _to_xml("sitemapindex", "sitemap", parts)


def _iter_indexable_entries(site: Site, version: int) -> Iterator[SitemapEntry]:
    """Yield the published pages that search engines should index at their own URL, and that no redirect hides.

    Pages that the robots.txt of the site disallows for all crawlers are omitted.
    """
    reader, site_url = read_consistent_tree(page_tree(site.id, PUBLISHED_TREE), version), site.url
    is_disallowed = build_disallowed_test(site)
    indexable_pages = [
        (location, position)
        for position in reader.items.values()
        if position.get("revision_id")
        and position.get("indexable")
        and (location := locate_page_in_tree_or_none(reader, position["id"]))
        and _comparable_url(position.get("canonical") or site_url + location.path)
        == _comparable_url(site_url + location.path)
        and not is_disallowed(location.path)
    ]
    redirected_ids = load_ids_of_redirected_pages(site, [location for location, _ in indexable_pages])
    for location, position in indexable_pages:
        if location.page_id not in redirected_ids:
            yield SitemapEntry(site_url + location.path, position["published_at"])


def _comparable_url(url: str) -> str:
    """Return a URL in lower case and without a trailing slash, for comparison."""
    return ascii_lower(url.rstrip("/"))


def _split_into_parts(entries: Iterable[SitemapEntry]) -> Iterator[list[SitemapEntry]]:
    """Yield lists of entries that fit in a sitemap: at least one list, possibly empty."""
    part: list[SitemapEntry] = []
    size = 0
    for entry in entries:
        size += len(entry.url)
        if len(part) == MAX_ENTRIES or size > MAX_URL_BYTES:
            yield part
            part, size = [], len(entry.url)
        part.append(entry)
    yield part


def _to_xml(root_name: str, entry_name: str, entries: Iterable[SitemapEntry]) -> str:
    from xml.etree import ElementTree as ET

    root = ET.Element(root_name, xmlns=_SCHEMA)
    for entry in entries:
        element = ET.SubElement(root, entry_name)
        ET.SubElement(element, "loc").text = entry.url
        ET.SubElement(element, "lastmod").text = entry.changed_at
    xml: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return xml.decode() + "\n"
