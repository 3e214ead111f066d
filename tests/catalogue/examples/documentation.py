"""Examples of the operations that document the service."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {"get_docs_asset": lambda _: example(asset="concepts")}
