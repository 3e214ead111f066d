"""Return one record or a page of records of reference data, from the cache of the process."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from chalicelib.features.reference.logic.cache import DatasetCache, RecordColumns, load_current_dataset_cache
from chalicelib.features.reference.logic.record_output import Row, dataset_info
from chalicelib.features.reference.models.schemas import CountryQuery, NamesQuery
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.operations.results import ListPage

R = TypeVar("R", bound=Output)
RecordFormatter = Callable[[Row, Mapping[str, Any]], R]

_COUNTRY_COLUMNS: Final = {"currencies": "currencies", "languages": "languages"}
"""Name of a set → the column of a country that lists the ids of its records."""


def get_record(set_name: str, record_id: str, format_record: RecordFormatter[R]) -> R:
    """Return a record of a set by its id. Raises Problem `not_found`."""
    cache = load_current_dataset_cache()
    columns = cache.get_or_load_set(set_name)
    index = columns.row_index_by_id.get(ascii_lower(record_id))
    if index is None:
        raise not_found()
    return format_record(columns.row(index), _common_fields(cache, set_name))


def list_records(ctx: Context, set_name: str, query: NamesQuery, format_record: RecordFormatter[R]) -> ListPage[R]:
    """Return a page of the records of a set that match a query, in order. Raises Problem `invalid_cursor`."""
    cache = load_current_dataset_cache()
    columns, start = cache.get_or_load_set(set_name), _start_position(ctx, cache, query)
    indexes = _matching_indexes(cache, set_name, columns, query)
    common_fields, end = _common_fields(cache, set_name), start + query.limit
    items = [format_record(columns.row(index), common_fields) for index in indexes[start:end]]
    position = {"after": end, "version": cache.data.id}
    cursor = ctx.encode_cursor(position, query) if end < len(indexes) else None
    return ListPage(items, cursor, dataset_info(cache, set_name))


def _common_fields(cache: DatasetCache, set_name: str) -> dict[str, Any]:
    """Return the fields that all records of a set have in common."""
    record_fields = {"created_at": cache.version_timestamp, "updated_at": cache.version_timestamp, "version": 1}
    return record_fields | dataset_info(cache, set_name).model_dump()


def _start_position(ctx: Context, cache: DatasetCache, query: NamesQuery) -> int:
    position = ctx.decode_cursor(query)
    if position is None:
        return 0
    if position["version"] != cache.data.id:
        detail = "The data were replaced since the previous page. Start again without a cursor."
        raise Problem.create_with_field_error("query/cursor", "invalid_cursor", detail)
    return int(position["after"])


def _matching_indexes(cache: DatasetCache, set_name: str, columns: RecordColumns, query: NamesQuery) -> Sequence[int]:
    """Return the indexes of the records that match a query, in order."""
    country_id = query.country_id if isinstance(query, CountryQuery) else None
    if query.q is None:
        return (
            range(len(columns.columns["id"])) if country_id is None else _country_indexes(cache, set_name, country_id)
        )
    indexes = columns.find_indexes_by_name_prefix(query.q)
    if country_id is None:
        return indexes
    country_indexes = {*_country_indexes(cache, set_name, country_id)}
    return [index for index in indexes if index in country_indexes]


def _country_indexes(cache: DatasetCache, set_name: str, country_id: str) -> Sequence[int]:
    """Return the indexes of the records of a set that belong to a country."""
    if set_name not in _COUNTRY_COLUMNS:
        return cache.get_or_load_set(set_name).indexes_by_country.get(country_id, [])
    countries = cache.get_or_load_set("countries")
    country_index = countries.row_index_by_id.get(ascii_lower(country_id))
    if country_index is None:
        return []
    record_ids = countries.columns[_COUNTRY_COLUMNS[set_name]][country_index].split()
    return sorted(cache.get_or_load_set(set_name).row_index_by_id[ascii_lower(record_id)] for record_id in record_ids)
