"""Examples of the operations on the config of a platform."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {
    "resolve_platform_config": lambda world: example(
        {"host": "engines.example.com:443", "path": f"/spaces/{world.space.record['slug']}/events", "locale": "en-GB"}
    )
}
