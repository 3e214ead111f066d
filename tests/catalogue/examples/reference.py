"""Examples of the operations on reference data."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.harness.reference_data import deployed_columns

EXAMPLES: Final[ExampleFactories] = {
    "get_country": lambda _: example(country_id="AD"),
    "get_currency": lambda _: example(currency_id="AED"),
    "get_language": lambda _: example(language_id="aaa"),
    "get_timezone": lambda _: example(timezone_id="Africa/Abidjan", query={"at": "2026-07-01T12:00:00Z"}),
    "get_city": lambda _: example(city_id=deployed_columns("cities")["id"][0]),
}
