"""Operations on reference data: everybody may read them, and keep them for a day."""

from functools import partial
from typing import Final

from chalicelib.features.reference import showing
from chalicelib.features.reference.finding import one, page
from chalicelib.features.reference.models import (
    At,
    CityOut,
    CountryOut,
    CountryQuery,
    CurrencyOut,
    Edition,
    LanguageOut,
    NamesQuery,
    ReferenceId,
    TimezoneOut,
    TimezonesQuery,
)
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.operation import Caller, ListPage, RouteGroup

routes = RouteGroup("reference")

_A_DAY: Final = "public, max-age=86400"


@routes.get(
    "/reference/countries",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_A_DAY,
    list_metadata=Edition,
    has_etag=True,
)
def list_countries(ctx: Context, query: NamesQuery) -> ListPage[CountryOut]:
    """List the countries of ISO 3166-1 by id; they are found by their names in their own languages too."""
    return page(ctx, "countries", query, showing.country)


@routes.get("/reference/countries/{country_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_A_DAY)
def get_country(_ctx: Context, country_id: ReferenceId) -> CountryOut:
    """Return a country."""
    return one("countries", country_id, showing.country)


@routes.get(
    "/reference/currencies",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_A_DAY,
    list_metadata=Edition,
    has_etag=True,
)
def list_currencies(ctx: Context, query: CountryQuery) -> ListPage[CurrencyOut]:
    """List the currencies of ISO 4217 by id; those of a country are what is legal tender there."""
    return page(ctx, "currencies", query, showing.currency)


@routes.get("/reference/currencies/{currency_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_A_DAY)
def get_currency(_ctx: Context, currency_id: ReferenceId) -> CurrencyOut:
    """Return a currency."""
    return one("currencies", currency_id, showing.currency)


@routes.get(
    "/reference/languages",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_A_DAY,
    list_metadata=Edition,
    has_etag=True,
)
def list_languages(ctx: Context, query: CountryQuery) -> ListPage[LanguageOut]:
    """List the languages of ISO 639-3 by id; those of a country are spoken there."""
    return page(ctx, "languages", query, showing.language)


@routes.get("/reference/languages/{language_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_A_DAY)
def get_language(_ctx: Context, language_id: ReferenceId) -> LanguageOut:
    """Return a language."""
    return one("languages", language_id, showing.language)


@routes.get(
    "/reference/timezones",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_A_DAY,
    list_metadata=Edition,
    has_etag=True,
)
def list_timezones(ctx: Context, query: TimezonesQuery) -> ListPage[TimezoneOut]:
    """List the time zones of IANA by id, former names included; `at` tells their offsets as of a moment."""
    return page(ctx, "timezones", query, partial(showing.timezone, now=ctx.now, at=query.at))


@routes.get("/reference/timezones/{timezone_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_A_DAY)
def get_timezone(ctx: Context, timezone_id: ReferenceId, query: At) -> TimezoneOut:
    """Return a time zone by its id, or by its name with `/` sent as `%2F`; `at` tells its offsets as of a moment."""
    name = timezone_id.replace("/", ".")
    return one("timezones", name, partial(showing.timezone, now=ctx.now, at=query.at))


@routes.get(
    "/reference/cities",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_A_DAY,
    list_metadata=Edition,
    has_etag=True,
)
def list_cities(ctx: Context, query: CountryQuery) -> ListPage[CityOut]:
    """List the cities of the world, the largest first; they are found by their names in other languages too.

    They are those of 15,000 inhabitants or more, and capitals, as GeoNames has them. They are found by what is written
    in Latin letters: `q=mun` finds Munich, and so do `münchen`, `Muenchen` and `monaco di b`.
    """
    return page(ctx, "cities", query, showing.city)


@routes.get("/reference/cities/{city_id}", access=Caller.PUBLIC, scope=None, emits=None, cache_control=_A_DAY)
def get_city(_ctx: Context, city_id: ReferenceId) -> CityOut:
    """Return a city by its number at GeoNames."""
    return one("cities", city_id, showing.city)
