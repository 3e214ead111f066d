"""Examples of the operations that show event types."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {"get_event_type": lambda _: example(event_type="organization.updated")}
