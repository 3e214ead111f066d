"""Examples of the operations on platforms."""

from typing import Final

from chalicelib.features.platforms.entities import Platform
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "create_platform": lambda world: example(
        {"organizationId": world.id, "name": "Analytical Engines", "slug": "analytical-platform"}
    ),
    "update_platform": lambda _: example({"name": "Difference Engines", "slug": "difference-engines"}),
    "publish_platform": lambda world: example({}, subject_path=world.platform.path),
    "update_platform_home": lambda world: example(
        {"layout": "wide", "blocks": [{"id": "hello", "type": "hero"}]}, subject_path=world.platform.path
    ),
    "update_platform_navigation": lambda world: example(
        {"items": [{"id": "start", "label": "Start", "type": "url", "target": "/"}]}, subject_path=world.platform.path
    ),
    "update_platform_theme": lambda world: example(
        {"colors": {"text": "#222222", "background": "#ffffff"}}, subject_path=world.platform.path
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add platforms to the organization."""
    put_records(
        Platform(**common_fields, organization_id=world.id, name=f"Neighbour {n}", slug=f"neighbouring-{n}")
        for n, common_fields in enumerate(new_records_fields(count))
    )
