"""Sitemaps as they were made last: kept in pieces, and used only while all that they were made of still holds.

A sitemap is made of the whole tree of what is published, and anybody may ask for it. So it is made once for each state
of that tree, and of where the site is; what it was made of stands in the head and in each piece as its `basis`. It is
made anew after a day in any case. A piece that is missing, or of another basis, is as if nothing was kept.
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

SITEMAPS: Final = "W#{site_id}#S"
MAX_PIECE_BYTES: Final = 350_000
"""Of a piece: an item of the table holds 400 KB."""

_MAX_PIECES_AT_ONCE: Final = 8
"""In one transaction, which holds 4 MB."""
_MAX_DAYS: Final = 1


@dataclass(frozen=True)
class Part:
    """One sitemap of a site. `changed_at`: when what it lists was published last; `pieces`: how many hold it."""

    changed_at: str
    pieces: int


def head_key(site_id: str) -> ItemKey:
    """Return where it stands which parts a site's sitemap has, and what they were made of."""
    return SITEMAPS.format(site_id=site_id), "#"


def piece_key(site_id: str, number: int, piece: int) -> ItemKey:
    """Return where a piece of a part stands; both are counted, parts from 1 and pieces from 0."""
    return SITEMAPS.format(site_id=site_id), f"{number:05d}#{piece:03d}"


def parts_of(site_id: str, basis: str, read: Mapping[ItemKey, Item]) -> list[Part] | None:
    """Return the parts that are kept of a site's sitemap; None if none hold. `read`: what stands at the head's key."""
    head = read.get(head_key(site_id))
    if head is None or head["basis"] != basis or head["made_at"] < after(now(), days=-_MAX_DAYS):
        return None
    return [Part(part["changed_at"], part["pieces"]) for part in head["parts"]]


def text_of(site_id: str, basis: str, number: int, part: Part, read: Mapping[ItemKey, Item]) -> str | None:
    """Return a part as it is kept, None if it does not hold. Pieces that were not `read` yet take one read."""
    keys = [piece_key(site_id, number, piece) for piece in range(part.pieces)]
    missing = [key for key in keys if key not in read]
    found = {**read, **(table.get_all(missing) if missing else {})}
    pieces = [found[key] for key in keys if key in found and found[key]["basis"] == basis]
    if len(pieces) < part.pieces:
        return None
    return zlib.decompress(b"".join(piece["bytes"] for piece in pieces)).decode()


def keep(site_id: str, basis: str, texts: Sequence[tuple[str, str]]) -> None:
    """Keep the parts of a sitemap: when what each lists was published last, and its text. The head comes last.

    If that fails, or somebody else does the same just now, the sitemap is made once more by whoever asks next.
    """
    writes: list[Write] = []
    parts: list[Item] = []
    for number, (changed_at, text) in enumerate(texts, 1):
        data = zlib.compress(text.encode())
        pieces = [data[start : start + MAX_PIECE_BYTES] for start in range(0, len(data), MAX_PIECE_BYTES)]
        parts.append({"changed_at": changed_at, "pieces": len(pieces)})
        writes += [
            _put(piece_key(site_id, number, place), {"basis": basis, "bytes": piece})
            for place, piece in enumerate(pieces)
        ]
    writes.append(_put(head_key(site_id), {"basis": basis, "made_at": now(), "parts": parts}))
    with suppress(Problem, TransactionCancelled):
        for start in range(0, len(writes), _MAX_PIECES_AT_ONCE):
            table.write_transaction(writes[start : start + _MAX_PIECES_AT_ONCE])


def _put(key: ItemKey, item: Item) -> Write:
    return Write("Put", key, item={"pk": key[0], "sk": key[1], **item})
