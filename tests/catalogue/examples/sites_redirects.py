"""Examples of the operations on redirects."""

from collections.abc import Iterator
from typing import Final

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.kernel.storage.entity import Item
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_items

EXAMPLES: Final[ExampleFactories] = {
    "create_redirect": lambda _: example(
        {"fromPath": "/spindles", "toPath": "https://example.com/spindles", "statusCode": 308}
    ),
    "update_redirect": lambda _: example({"fromPath": "/former-looms", "toPath": "/mills", "statusCode": 302}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add redirects to the site, some of which target the paths of others."""
    put_items(item for n in range(count) for item in _redirect(world, n))


def _redirect(world: TenantFixture, n: int) -> Iterator[Item]:
    (common_fields,) = new_records_fields(1)
    made = Redirect(
        **common_fields,
        organization_id=world.id,
        site_id=world.site.id,
        from_path=f"/neighbours/{n}",
        to_path=f"/neighbours/{n // 10}-of-them",
    )
    yield made.item()
    yield from made.derived_items
