"""Examples of the operations on previews of pages."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example

EXAMPLES: Final[ExampleFactories] = {
    "preview_page": lambda world: example(query={"expiresIn": 3600, "revisionId": world.organization.revision_id}),
    "preview_page_publicly": lambda world: example(query={"token": world.organization.preview_token}),
}
