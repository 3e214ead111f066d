"""What callers see of reference data, and how they search in it."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.fields import Moment, Timestamp, out_of_range, shape
from chalicelib.kernel.models import ListQuery, Output, Query

_CountryId = Annotated[
    str, StringConstraints(to_upper=True), *shape("^[A-Z]{2}$", "must be two letters, as in ISO 3166-1: DE"),
]  # fmt: skip
_FIRST: Final = "2000-01-01T00:00:00.000Z"
_END: Final = "2038-01-01T00:00:00.000Z"
_OFFSET: Final = r"^[+-][0-9]{2}:[0-9]{2}$"


def _within_the_data(moment: str) -> str:
    if not _FIRST <= moment < _END:
        raise out_of_range("must be within 2000 to 2037, UTC: nothing is known of other years")
    return moment


class Edition(Output):
    """Which data it is from, and whom it is owed to."""

    data_version: str = Field(description="The day that the data are of.", examples=["2026-11-22"])
    attribution: str = Field(
        description="To be named wherever the data are shown.",
        examples=["Cities: GeoNames (https://www.geonames.org/), CC-BY-4.0."],
    )


class _Record(Output):
    """What every record of reference data carries."""

    by_content = True

    id: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int = Field(description="The data are renewed as a whole: it is always 1.", examples=[1])


class CountryOut(Edition, _Record):
    """A country of ISO 3166-1."""

    id: str = Field(description="ISO 3166-1 alpha-2.", examples=["CH"])
    alpha3: str = Field(examples=["CHE"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Switzerland"])
    official_name: str = Field(examples=["Swiss Confederation"])
    flag: str = Field(description="An emoji.", examples=["🇨🇭"])
    currencies: list[str] = Field(description="What is legal tender: ids of currencies.", examples=[["CHF"]])
    languages: list[str] = Field(
        description="Those that are official in the whole country: ids, of the one that most speak first.",
        examples=[["deu", "gsw", "fra", "ita"]],
    )
    calling_code: str | None = Field(description="E.164.", examples=["+41"])


class CurrencyOut(Edition, _Record):
    """A currency of ISO 4217."""

    id: str = Field(description="ISO 4217 alphabetic.", examples=["CHF"])
    numeric: str = Field(description="Three digits.", examples=["756"])
    name: str = Field(examples=["Swiss Franc"])
    symbol: str = Field(description="In English.", examples=["CHF"])
    minor_units: int | None = Field(
        description="Decimals of an amount; null for what has none, such as gold.", examples=[2]
    )


class LanguageOut(Edition, _Record):
    """A language of ISO 639-3."""

    id: str = Field(description="ISO 639-3.", examples=["deu"])
    alpha2: str | None = Field(description="ISO 639-1, if it has one.", examples=["de"])
    name: str = Field(examples=["German"])
    native_name: str | None = Field(description="What those who speak it call it.", examples=["Deutsch"])


class TimezoneOut(Edition, _Record):
    """A time zone of IANA."""

    id: str = Field(description="The name with `.` for `/`.", examples=["Europe.Berlin"])
    name: str = Field(description="As IANA has it.", examples=["Europe/Berlin"])
    countries: list[str] = Field(description="Ids of countries.", examples=[["DE"]])
    utc_offset: str = Field(description="Its least offset of this year.", pattern=_OFFSET, examples=["+01:00"])
    dst_offset: str | None = Field(
        description="Its greatest offset of this year, if clocks change.", pattern=_OFFSET, examples=["+02:00"]
    )
    offset: str | None = Field(
        description="Its offset at the moment `at`; null if none was asked for.", pattern=_OFFSET, examples=[None]
    )


class CityOut(Edition, _Record):
    """A city of 15,000 inhabitants at least, or a capital."""

    id: str = Field(description="Its number at GeoNames.", examples=["2657896"])
    name: str = Field(examples=["Zürich"])
    ascii_name: str = Field(examples=["Zurich"])
    country_id: str | None = Field(
        description="The id of its country; null if that has no code in ISO 3166-1, as Kosovo.", examples=["CH"]
    )
    admin: str | None = Field(description="GeoNames' code of the part of the country it is in.", examples=["ZH"])
    latitude: float = Field(description="Degrees, WGS 84.", examples=[47.36667])
    longitude: float = Field(description="Degrees, WGS 84.", examples=[8.55])
    population: int = Field(examples=[436551])
    timezone: str = Field(description="The id of its time zone.", examples=["Europe.Zurich"])


class NamesQuery(ListQuery):
    """Which records, by their names."""

    q: str | None = Field(
        None, min_length=1, max_length=200, examples=[None],
        description="Those with a name or a code that begins so, whatever its case and accents.",
    )  # fmt: skip


class CountryQuery(NamesQuery):
    """Which records, by their names and countries."""

    country_id: _CountryId | None = Field(None, description="Those of a country (ISO 3166-1 alpha-2).", examples=[None])


class At(Query):
    """At which moment."""

    at: Annotated[Moment, AfterValidator(_within_the_data)] | None = Field(
        None, description="Tell the offset at this moment: RFC 3339 with an offset, of 2000 to 2037.", examples=[None]
    )


class TimezonesQuery(CountryQuery, At):
    """Which time zones, and at which moment."""
