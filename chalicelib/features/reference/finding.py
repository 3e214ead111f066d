"""One record of reference data, or a page of them: from memory, once the process has read them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from chalicelib.features.reference.memory import Library, RecordSet, library
from chalicelib.features.reference.models import CountryQuery, NamesQuery
from chalicelib.features.reference.showing import Row, edition
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.operations.operation import ListPage

R = TypeVar("R", bound=Output)
Show = Callable[[Row, Mapping[str, Any]], R]

_USED_IN: Final = {"currencies": "currencies", "languages": "languages"}
"""Set → what of a country names those of its records that are used there."""


def one(name: str, record_id: str, show: Show[R]) -> R:
    """Return a record by its id. Raises Problem `not_found`."""
    known = library()
    records = known.of(name)
    place = records.places.get(ascii_lower(record_id))
    if place is None:
        raise not_found()
    return show(records.row(place), _common(known, name))


def page(ctx: Context, name: str, query: NamesQuery, show: Show[R]) -> ListPage[R]:
    """Return a page of the records that a query names, in order. Raises Problem `invalid_cursor`."""
    known = library()
    records, begin = known.of(name), _begin(ctx, known, query)
    found = _found(known, name, records, query)
    common, end = _common(known, name), begin + query.limit
    items = [show(records.row(place), common) for place in found[begin:end]]
    position = {"after": end, "version": known.data.id}
    cursor = ctx.encode_cursor(position, query) if end < len(found) else None
    return ListPage(items, cursor, edition(known, name))


def _common(known: Library, name: str) -> dict[str, Any]:
    """Return what all records of a set say alike."""
    times = {"created_at": known.moment, "updated_at": known.moment, "version": 1}
    return times | edition(known, name).model_dump()


def _begin(ctx: Context, known: Library, query: NamesQuery) -> int:
    position = ctx.decode_cursor(query)
    if position is None:
        return 0
    if position["version"] != known.data.id:
        detail = "The data have been renewed since the page before. Start without a cursor."
        raise Problem.for_field("query/cursor", "invalid_cursor", detail)
    return int(position["after"])


def _found(known: Library, name: str, records: RecordSet, query: NamesQuery) -> Sequence[int]:
    """Return the places of the records that a query names."""
    country_id = query.country_id if isinstance(query, CountryQuery) else None
    if query.q is None:
        return range(len(records.columns["id"])) if country_id is None else _of_country(known, name, country_id)
    called = records.called(query.q)
    if country_id is None:
        return called
    there = {*_of_country(known, name, country_id)}
    return [place for place in called if place in there]


def _of_country(known: Library, name: str, country_id: str) -> Sequence[int]:
    """Return the places of the records that are a country's."""
    if name not in _USED_IN:
        return known.of(name).of_country.get(country_id, [])
    countries = known.of("countries")
    place = countries.places.get(ascii_lower(country_id))
    used = countries.columns[_USED_IN[name]][place].split() if place is not None else []
    return sorted(known.of(name).places[ascii_lower(each)] for each in used)
