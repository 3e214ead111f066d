"""HTTP operations on reference data. They are public, and responses may be cached for a day."""

from functools import partial
from typing import Final

from chalicelib.features.reference.logic import record_output
from chalicelib.features.reference.logic.record_queries import get_record, list_records
from chalicelib.features.reference.models.schemas import (
    AtQuery,
    CityOut,
    CountryOut,
    CountryQuery,
    CurrencyOut,
    DatasetInfo,
    LanguageOut,
    NamesQuery,
    ReferenceId,
    TimezoneOut,
    TimezonesQuery,
)
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("reference")

_CACHE_FOR_A_DAY: Final = "public, max-age=86400"


@routes.get(
    "/reference/countries",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_FOR_A_DAY,
    list_metadata=DatasetInfo,
)
def list_countries(ctx: Context, query: NamesQuery) -> ListPage[CountryOut]:
    """List the countries of ISO 3166-1 by id. `q` matches their names in their own languages too.

    Use it for address forms and for the `companyCountry` of organizations. Each country has its currencies, languages
    and calling code. The list changes only with a release, and can be cached.
    """
    return list_records(ctx, "countries", query, record_output.to_country)


@routes.get(
    "/reference/countries/{country_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_CACHE_FOR_A_DAY
)
def get_country(_ctx: Context, country_id: ReferenceId) -> CountryOut:
    """Get a country.

    Use it to show the name, flag, currencies and languages for a stored country code. The id is the alpha-2 code, such
    as `CH`.
    """
    return get_record("countries", country_id, record_output.to_country)


@routes.get(
    "/reference/currencies",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_FOR_A_DAY,
    list_metadata=DatasetInfo,
)
def list_currencies(ctx: Context, query: CountryQuery) -> ListPage[CurrencyOut]:
    """List the currencies of ISO 4217 by id. The currencies of a country are its legal tender.

    Use it to offer currencies, and to format amounts: `minorUnits` is the number of decimal places.
    """
    return list_records(ctx, "currencies", query, record_output.to_currency)


@routes.get(
    "/reference/currencies/{currency_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_CACHE_FOR_A_DAY
)
def get_currency(_ctx: Context, currency_id: ReferenceId) -> CurrencyOut:
    """Get a currency.

    Use it to format an amount in a stored currency. The id is the alphabetic code, such as `CHF`.
    """
    return get_record("currencies", currency_id, record_output.to_currency)


@routes.get(
    "/reference/languages",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_FOR_A_DAY,
    list_metadata=DatasetInfo,
)
def list_languages(ctx: Context, query: CountryQuery) -> ListPage[LanguageOut]:
    """List the languages of ISO 639-3 by id. The languages of a country are those spoken there.

    Use it to let people choose a language. Each has its name in English and, where it is known, in the language itself.
    """
    return list_records(ctx, "languages", query, record_output.to_language)


@routes.get(
    "/reference/languages/{language_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_CACHE_FOR_A_DAY
)
def get_language(_ctx: Context, language_id: ReferenceId) -> LanguageOut:
    """Get a language.

    The id is the three-letter code of ISO 639-3, such as `deu`. The response has the two-letter code, too, if there is
    one.
    """
    return get_record("languages", language_id, record_output.to_language)


@routes.get(
    "/reference/timezones",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_FOR_A_DAY,
    list_metadata=DatasetInfo,
)
def list_timezones(ctx: Context, query: TimezonesQuery) -> ListPage[TimezoneOut]:
    """List the IANA time zones by id, including former names. `at` adds their offsets at a given time.

    Use it to let people choose a time zone by name, country and current offset from UTC.
    """
    return list_records(ctx, "timezones", query, partial(record_output.to_timezone, now=ctx.now, requested_at=query.at))


@routes.get(
    "/reference/timezones/{timezone_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_CACHE_FOR_A_DAY
)
def get_timezone(ctx: Context, timezone_id: ReferenceId, query: AtQuery) -> TimezoneOut:
    """Get a time zone by its id, or by its name with `/` as `%2F`. `at` adds its offset at a given time.

    Use it to show the offset from UTC of a stored time zone, with and without daylight saving time.
    """
    name = timezone_id.replace("/", ".")
    return get_record("timezones", name, partial(record_output.to_timezone, now=ctx.now, requested_at=query.at))


@routes.get(
    "/reference/cities",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_FOR_A_DAY,
    list_metadata=DatasetInfo,
)
def list_cities(ctx: Context, query: CountryQuery) -> ListPage[CityOut]:
    """List the cities of the world, the largest first. `q` matches their names in other languages too.

    The list contains the cities in GeoNames with at least 15,000 inhabitants, and capitals. Names are matched in Latin
    script: `q=mun` finds Munich, and so do `münchen`, `Muenchen` and `monaco di b`.
    """
    return list_records(ctx, "cities", query, record_output.to_city)


@routes.get("/reference/cities/{city_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_CACHE_FOR_A_DAY)
def get_city(_ctx: Context, city_id: ReferenceId) -> CityOut:
    """Get a city by its GeoNames id.

    The response has the coordinates, the population, the country and the time zone of the city.
    """
    return get_record("cities", city_id, record_output.to_city)
