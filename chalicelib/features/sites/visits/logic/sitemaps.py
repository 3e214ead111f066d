"""Sitemaps of sites, and the indexes of long ones (sitemaps.org, protocol 0.9).

They are made of the seats of what is published: a Query for each megabyte of these, and nothing of what pages say. What
was made is kept (`stored_sitemaps.py`), so that crawlers have it made once for each state of the site.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.features.sites.entities.sites import LIVE, Site, tree_of
from chalicelib.features.sites.pages.logic.page_queries import seated
from chalicelib.features.sites.visits.logic import stored_sitemaps as stored
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import read_tree

MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 4_000_000
"""Of the addresses in one sitemap, so that an answer can hold it."""

_FORMAT: Final = 1
"""Of what is kept; with another one it is made anew."""
_SCHEMA: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True)
class Entry:
    """What a sitemap lists: an address, and when what is there was published last."""

    address: str
    changed_at: str


def address_of(site: Site) -> str:
    """Return where crawlers find the sitemap of a site."""
    return f"{site.url}/sitemap.xml"


def beside_sitemap(request: Request) -> list[ItemKey]:
    """Return where it stands which state the tree has of what is published, and what is kept of the sitemap."""
    site_id, page = request.parameters["site_id"], request.query.get("page", ["1"])[-1]
    number = int(page) if re.fullmatch("[0-9]{1,4}", page) else 1
    return [tree_of(site_id, LIVE).state_key, stored.head_key(site_id), stored.piece_key(site_id, number, 0)]


def sitemap_of(site: Site, number: int | None, read: Mapping[ItemKey, Item]) -> str | None:
    """Return the sitemap of a site or, of a long one, the index of its parts; with a number that part, if there is one.

    `read`: what `beside_sitemap` leads to. What is kept is used as long as it is what would be made.
    """
    state = read.get(tree_of(site.id, LIVE).state_key, {})
    basis = f"{_FORMAT}|{state.get('version', 0)}|{state.get('mark', '')}|{site.url}"
    kept = stored.parts_of(site.id, basis, read)
    if kept is not None:
        if number is None and len(kept) > 1:
            return _index(site, [part.changed_at for part in kept])
        if (number or 1) > len(kept):
            return None
        text = stored.text_of(site.id, basis, number or 1, kept[(number or 1) - 1], read)
        if text is not None:
            return text
    return _made(site, basis, state.get("version", 0), number)


def _made(site: Site, basis: str, version: int, number: int | None) -> str | None:
    parts = [*_parts(sorted(_entries(site, version), key=lambda entry: entry.address))]
    texts = [(max((entry.changed_at for entry in part), default=""), _written("urlset", "url", part)) for part in parts]
    stored.keep(site.id, basis, texts)
    if number is None and len(parts) > 1:
        return _index(site, [changed_at for changed_at, _ in texts])
    return texts[(number or 1) - 1][1] if (number or 1) <= len(texts) else None


def _index(site: Site, changed: Sequence[str]) -> str:
    """Return the index of the parts of a sitemap. `changed`: when what each lists was published last."""
    parts = (Entry(f"{address_of(site)}?page={number}", at) for number, at in enumerate(changed, 1))
    return _written("sitemapindex", "sitemap", parts)


def _entries(site: Site, version: int) -> Iterator[Entry]:
    """Yield what is published, and is to be found by search engines there and nowhere else."""
    reading = read_tree(tree_of(site.id, LIVE), version)
    for seat in reading.items.values():
        if seat.get("revision_id") and seat.get("indexable") and (located := seated(reading, seat["id"])):
            address = site.url + located.path
            if _bare(seat.get("canonical") or address) == _bare(address):
                yield Entry(address, seat["published_at"])


def _bare(address: str) -> str:
    """Return an address without what makes no difference to where it leads on a site."""
    return ascii_lower(address.rstrip("/"))


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


def _written(whole: str, each: str, entries: Iterable[Entry]) -> str:
    from xml.etree import ElementTree as ET

    root = ET.Element(whole, xmlns=_SCHEMA)
    for entry in entries:
        element = ET.SubElement(root, each)
        ET.SubElement(element, "loc").text = entry.address
        ET.SubElement(element, "lastmod").text = entry.changed_at
    written: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return written.decode() + "\n"
