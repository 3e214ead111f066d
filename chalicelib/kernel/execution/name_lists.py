"""Lists of records in alphabetical order, and searches by name."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import NamedListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.name_index import (
    FoundByName,
    NameIndex,
    key_prefix_of_search,
    key_values_of_row,
    stands_for_record,
)
from chalicelib.kernel.storage.query_results import QueryResult
from chalicelib.kernel.storage.search_keys import last_key_with_prefix

T = TypeVar("T")
F = TypeVar("F", bound=FoundByName)


def list_records_by_name(
    ctx: Context,
    entity: type[F],
    query: NamedListQuery,
    to_output: Callable[[F], T | None],
    indexes: Sequence[NameIndex],
    **names: str,
) -> ListPage[T]:
    """Return a page of the records that a query finds by name, or of all, in alphabetical order.

    One Query for each partition of `indexes` reads rows, in parallel, and one BatchGetItem reads their records. `names`
    are the values of the partitions' key templates. `to_output` returns None for records to omit. A page can be short.
    """
    partitions = [partition for index in indexes for partition in index.partitions(**names)]
    result = table.query_merged(
        partitions, limit=query.limit, after=ctx.decode_cursor(query), **options_of_name_query(query)
    )
    records = _load_records(entity, result.items, query, indexes)
    outputs = [output for record in records if (output := to_output(record)) is not None]
    return ctx.build_page(outputs, result.last_evaluated_key, query)


def options_of_name_query(query: NamedListQuery) -> dict[str, Any]:
    """Return the range and the direction of a Query that reads the rows which a query of a list asks for."""
    prefix = key_prefix_of_search(query.q)
    return {"since": prefix, "until": last_key_with_prefix(prefix), "newest_first": query.is_descending}


def add_rows(result: QueryResult, rows: Sequence[Item], query: NamedListQuery, position: Item | None) -> QueryResult:
    """Return the rows of a page together with others that no index contains, such as those of a few loaded records.

    `position`: where the page starts. The other rows that belong on earlier or later pages are left out.
    """
    prefix, sign = key_prefix_of_search(query.q), -1 if query.is_descending else 1
    start, end = (position or {}).get("at"), (result.last_evaluated_key or {}).get("at")
    added = [
        row
        for row in rows
        if row["sk"].startswith(prefix)
        and (start is None or _compare(row["sk"], start) == sign)
        and (end is None or _compare(row["sk"], end) != sign)
    ]
    items = sorted([*result.items, *added], key=lambda row: str(row["sk"]), reverse=query.is_descending)
    if len(items) <= query.limit:
        return QueryResult(items, result.last_evaluated_key)
    page = items[: query.limit]
    return QueryResult(page, {"at": page[-1]["sk"]})


def _compare(key: str, other: str) -> int:
    return (key > other) - (key < other)


def _load_records(
    entity: type[F], rows: Sequence[Item], query: NamedListQuery, indexes: Sequence[NameIndex]
) -> list[F]:
    """Return the records of some rows, without those that another row stands for."""
    keys = [entity.make_item_key(**key_values_of_row(row)) for row in rows]
    items = table.get_all(keys, entity.listed_attributes() if entity.fields_omitted_from_lists else ())
    found = [(row, entity.from_item(items[key])) for row, key in zip(rows, keys, strict=True) if key in items]
    prefix = key_prefix_of_search(query.q)
    return [record for row, record in found if stands_for_record(row, record, indexes, prefix)]
