"""Count the outputs of a library that look like the same work. They are not merged."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from chalicelib.features.research.entities import COMPARISON_PARTITION, ResearchOutput
from chalicelib.features.research.logic import record_rules
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

_ATTRIBUTE_MARKER: Final = "lists_authors"
"""An attribute that only older items lack."""


def count_outputs_and_proposals(library_id: str) -> tuple[int, int]:
    """Return the number of outputs of a library, and the number of merges that would unite those that look alike.

    It takes one Query per megabyte of items.
    """
    output_count, works = 0, []
    for rows in table.iter_item_pages(COMPARISON_PARTITION.format(library_id=library_id)):
        output_count += len(rows)
        works += [
            _parse_comparison_row(row) for row in [*rows, *_replace_incomplete_rows(rows)] if _ATTRIBUTE_MARKER in row
        ]
    return output_count, record_rules.count_merges_uniting_similar_works(works)


def _parse_comparison_row(row: Item) -> record_rules.ComparedWork:
    digest, year, _ = str(row["sk"]).split("#")
    return record_rules.ComparedWork(
        id=row["id"],
        year=int(year),
        title_author_digest=None if digest == "-" else digest,
        title=row.get("title"),
        researcher_ids=row.get("researcher_ids", ()),
        lists_authors=row[_ATTRIBUTE_MARKER],
    )


def _replace_incomplete_rows(rows: Sequence[Item]) -> list[Item]:
    """Replace the items that lack attributes, and return the new ones.

    An item that changes concurrently is not replaced.
    """
    older_rows = [row for row in rows if _ATTRIBUTE_MARKER not in row]
    upgraded: list[Item] = []
    for start in range(0, len(older_rows), table.MAX_TRANSACT_ITEMS):
        batch = older_rows[start : start + table.MAX_TRANSACT_ITEMS]
        items = table.get_all(ResearchOutput.make_item_key(id=row["id"]) for row in batch)
        outputs = [ResearchOutput.from_item(item) for item in items.values()]
        if rows_to_store := [output.comparison_item for output in outputs if not output.merged_into]:
            with suppress(TransactionCancelled):
                table.write_transaction([_replace_incomplete_row_write(row) for row in rows_to_store])
        upgraded += rows_to_store
    return upgraded


def _replace_incomplete_row_write(row: Item) -> Write:
    """Return the write that replaces an item that lacks attributes."""
    condition = f"attribute_exists(#pk) AND attribute_not_exists(#{_ATTRIBUTE_MARKER})"
    return Write("Put", (row["pk"], row["sk"]), item=row, condition=condition, names=["pk", _ATTRIBUTE_MARKER])
