"""Store sitemaps in pieces that fit in items. A stored sitemap is valid while everything in it is unchanged.

Anybody can request a sitemap, and building it reads the whole tree of published pages. So it is built once for each
state of that tree, of the redirects, and of the site's host and robots.txt rules. The `basis`, stored in the head and
in each piece, identifies that state. A sitemap expires after a day in any case. If a piece is missing or has another
basis, the sitemap is built again.
"""

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

SITEMAP_PARTITION: Final = "W#{site_id}#S"
MAX_PIECE_BYTES: Final = 350_000
"""Maximum size of a piece. An item holds at most 400 KB."""

_MAX_PIECES_PER_TRANSACTION: Final = 8
"""A transaction holds at most 4 MB."""
_MAX_AGE_DAYS: Final = 1


@dataclass(frozen=True)
class SitemapPart:
    """A part of a sitemap. `changed_at` is the time of the last publication in it."""

    changed_at: str
    piece_count: int


def sitemap_head_key(site_id: str) -> ItemKey:
    """Return the item key of the head, which lists the parts of a site's sitemap and their basis."""
    return SITEMAP_PARTITION.format(site_id=site_id), "#"


def sitemap_piece_key(site_id: str, part_number: int, piece_number: int) -> ItemKey:
    """Return the item key of a piece. Parts are numbered from 1, pieces from 0."""
    return SITEMAP_PARTITION.format(site_id=site_id), f"{part_number:05d}#{piece_number:03d}"


def parse_valid_parts_or_none(site_id: str, basis: str, prefetched: Mapping[ItemKey, Item]) -> list[SitemapPart] | None:
    """Return the stored parts of the sitemap of a site, or None if they are not valid. `prefetched` holds the head."""
    head = prefetched.get(sitemap_head_key(site_id))
    if head is None or head["basis"] != basis or head["made_at"] < after(now(), days=-_MAX_AGE_DAYS):
        return None
    return [SitemapPart(part["changed_at"], part["pieces"]) for part in head["parts"]]


def load_part_xml_or_none(
    site_id: str, basis: str, part_number: int, part: SitemapPart, prefetched: Mapping[ItemKey, Item]
) -> str | None:
    """Return a stored part, or None if it is not valid. Pieces that are not in `prefetched` take one read."""
    keys = [sitemap_piece_key(site_id, part_number, piece_number) for piece_number in range(part.piece_count)]
    missing = [key for key in keys if key not in prefetched]
    loaded = {**prefetched, **(table.get_all(missing) if missing else {})}
    pieces = [loaded[key] for key in keys if key in loaded and loaded[key]["basis"] == basis]
    if len(pieces) < part.piece_count:
        return None
    return zlib.decompress(b"".join(piece["bytes"] for piece in pieces)).decode()


def store_parts(site_id: str, basis: str, times_and_xml: Sequence[tuple[str, str]]) -> None:
    """Store the parts of a sitemap, each a pair of the time of its last publication and its XML. Write the head last.

    If that fails, or another process does the same, the next request builds the sitemap again.
    """
    writes: list[Write] = []
    parts: list[Item] = []
    for number, (changed_at, text) in enumerate(times_and_xml, 1):
        data = zlib.compress(text.encode())
        pieces = [data[start : start + MAX_PIECE_BYTES] for start in range(0, len(data), MAX_PIECE_BYTES)]
        parts.append({"changed_at": changed_at, "pieces": len(pieces)})
        writes += [
            _put_write(sitemap_piece_key(site_id, number, piece_number), {"basis": basis, "bytes": piece})
            for piece_number, piece in enumerate(pieces)
        ]
    writes.append(_put_write(sitemap_head_key(site_id), {"basis": basis, "made_at": now(), "parts": parts}))
    with suppress(Problem, TransactionCancelled):
        for start in range(0, len(writes), _MAX_PIECES_PER_TRANSACTION):
            table.write_transaction(writes[start : start + _MAX_PIECES_PER_TRANSACTION])


def _put_write(key: ItemKey, item: Item) -> Write:
    return Write("Put", key, item={"pk": key[0], "sk": key[1], **item})
