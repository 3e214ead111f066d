"""Examples of the operations that serve the console."""

from typing import Final

from chalicelib.entrypoints.console import asset_names
from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {"get_console_asset": lambda _: example(asset=min(asset_names()))}
