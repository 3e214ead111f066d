"""Sitemaps of sites, and the indexes of long ones (sitemaps.org, protocol 0.9).

They are made of the seats of what is published: a Query for each megabyte of these, and nothing of what pages say.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from chalicelib.features.pages.finding import seated
from chalicelib.features.sites.entities import LIVE, Site, tree_of
from chalicelib.kernel.trees import read_whole

MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 4_000_000
"""Of the addresses in one sitemap, so that an answer can hold it."""

_SCHEMA: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True)
class Entry:
    """What a sitemap lists: an address, and when what is there was published last."""

    address: str
    changed_at: str


def address_of(site: Site) -> str:
    """Return where crawlers find the sitemap of a site."""
    return f"{site.url}/sitemap.xml"


def sitemap_of(site: Site, version: int, number: int | None) -> str | None:
    """Return the sitemap of a site or, of a long one, the index of its parts; with a number that part, if there is one.

    `version`: the one that the tree of what is published has at least.
    """
    parts = [*_parts(sorted(_entries(site, version), key=lambda entry: entry.address))]
    if number is not None:
        return _written("urlset", "url", parts[number - 1]) if number <= len(parts) else None
    if len(parts) == 1:
        return _written("urlset", "url", parts[0])
    return _written("sitemapindex", "sitemap", (_entry_of(site, n, part) for n, part in enumerate(parts, 1)))


def _entries(site: Site, version: int) -> Iterator[Entry]:
    """Yield what is published, and is to be found by search engines there and nowhere else."""
    reading = read_whole(tree_of(site.id, LIVE), version)
    for seat in reading.items.values():
        if seat.get("revision_id") and seat.get("indexable") and (located := seated(reading, seat["id"])):
            address = site.url + located.path
            if _bare(seat.get("canonical") or address) == _bare(address):
                yield Entry(address, seat["published_at"])


def _bare(address: str) -> str:
    """Return an address without what makes no difference to where it leads on a site."""
    return address.rstrip("/").lower()


def _parts(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield lists of entries that a sitemap can hold; one at least, be it empty."""
    part: list[Entry] = []
    size = 0
    for entry in entries:
        size += len(entry.address)
        if len(part) == MOST_ENTRIES or size > MOST_BYTES:
            yield part
            part, size = [], len(entry.address)
        part.append(entry)
    yield part


def _entry_of(site: Site, number: int, part: list[Entry]) -> Entry:
    return Entry(f"{address_of(site)}?page={number}", max(entry.changed_at for entry in part))


def _written(whole: str, each: str, entries: Iterable[Entry]) -> str:
    from xml.etree import ElementTree as ET

    root = ET.Element(whole, xmlns=_SCHEMA)
    for entry in entries:
        element = ET.SubElement(root, each)
        ET.SubElement(element, "loc").text = entry.address
        ET.SubElement(element, "lastmod").text = entry.changed_at
    written: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return written.decode() + "\n"
