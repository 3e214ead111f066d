"""Which merges the works of a library propose: found by comparing the rows of its outputs, and done by nobody."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from chalicelib.features.research.entities import SHELF, ResearchOutput
from chalicelib.features.research.logic import record_rules
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

_MARK: Final = "lists_authors"
"""The attribute that every row has, unless it was stored before rows had attributes."""


def proposals(library_id: str) -> tuple[int, int]:
    """Return how many outputs a library has, and how many merges they propose: a Query for each megabyte of rows."""
    outputs, listings = 0, []
    for rows in table.iter_pages(SHELF.format(library_id=library_id)):
        outputs += len(rows)
        listings += [_listing(row) for row in [*rows, *_completed(rows)] if _MARK in row]
    return outputs, record_rules.proposals(listings)


def _listing(row: Item) -> record_rules.Listing:
    common, year, _ = str(row["sk"]).split("#")
    return record_rules.Listing(
        id=row["id"],
        year=int(year),
        common=None if common == "-" else common,
        title=row.get("title"),
        researcher_ids=row.get("researcher_ids", ()),
        lists_authors=row[_MARK],
    )


def _completed(rows: Sequence[Item]) -> list[Item]:
    """Return the rows that have no attributes as their outputs would put them today, and store them for the next time.

    One that somebody changes meanwhile is left to them.
    """
    older = [row for row in rows if _MARK not in row]
    found: list[Item] = []
    for start in range(0, len(older), table.MAX_TRANSACT_ITEMS):
        lot = older[start : start + table.MAX_TRANSACT_ITEMS]
        read = table.get_all(ResearchOutput.make_item_key(id=row["id"]) for row in lot)
        outputs = [ResearchOutput.from_item(item) for item in read.values()]
        if marks := [output.shelf_mark for output in outputs if not output.merged_into]:
            with suppress(TransactionCancelled):
                table.write_transaction([_if_older(mark) for mark in marks])
        found += marks
    return found


def _if_older(mark: Item) -> Write:
    """Return the write that puts a row in the place of one that has no attributes."""
    condition = f"attribute_exists(#pk) AND attribute_not_exists(#{_MARK})"
    return Write("Put", (mark["pk"], mark["sk"]), item=mark, condition=condition, names=["pk", _MARK])
