"""Results of queries of the table."""

from dataclasses import dataclass

from chalicelib.kernel.storage.entity import Item


@dataclass(frozen=True)
class QueryResult:
    """A page of query results. `last_evaluated_key`: where the next page starts, or None on the last page."""

    items: list[Item]
    last_evaluated_key: Item | None


@dataclass(frozen=True)
class ItemCount:
    """A number of items. `is_complete`: whether all were counted, so there are no further ones."""

    number: int
    is_complete: bool
