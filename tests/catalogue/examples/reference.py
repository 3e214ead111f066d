"""Examples of the operations on reference data."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.reference_data import deployed_columns

EXAMPLES: Final[ExampleFactories] = {
    "list_countries": lambda _: example(),
    "get_country": lambda _: example(country_id="AD"),
    "list_currencies": lambda _: example(),
    "get_currency": lambda _: example(currency_id="AED"),
    "list_languages": lambda _: example(),
    "get_language": lambda _: example(language_id="aaa"),
    "list_timezones": lambda _: example(),
    "get_timezone": lambda _: example(timezone_id="Africa/Abidjan", query={"at": "2026-07-01T12:00:00Z"}),
    "list_cities": lambda _: example(),
    "get_city": lambda _: example(city_id=deployed_columns("cities")["id"][0]),
}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the count of countries is fixed."""
