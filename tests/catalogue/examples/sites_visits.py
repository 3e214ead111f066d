"""Examples of the operations for visitors of a site."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {
    "resolve_site": lambda world: example(query={"host": world.site.record["host"], "path": "/looms"}),
    "get_page_by_path": lambda _: example(query={"path": "/looms"}),
}
