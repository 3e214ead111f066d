"""Examples of the operations on platforms."""

from typing import Final

from chalicelib.features.platforms.entities import Platform
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "list_platforms": lambda _: example(),
    "create_platform": lambda world: example(
        {"organizationId": world.id, "name": "Analytical Engines", "slug": "analytical-platform"}
    ),
    "get_platform": lambda world: example(platform_id=world.platform.id),
    "update_platform": lambda world: example(
        {"name": "Difference Engines", "slug": "difference-engines"}, platform_id=world.platform.id
    ),
    "delete_platform": lambda world: example(platform_id=world.platform.id),
    "publish_platform": lambda world: example({}, platform_id=world.platform.id, subject_path=world.platform.path),
    "update_platform_home": lambda world: example(
        {"layout": "wide", "blocks": [{"id": "hello", "type": "hero"}]},
        platform_id=world.platform.id,
        subject_path=world.platform.path,
    ),
    "update_platform_navigation": lambda world: example(
        {"items": [{"id": "start", "label": "Start", "type": "url", "target": "/"}]},
        platform_id=world.platform.id,
        subject_path=world.platform.path,
    ),
    "update_platform_theme": lambda world: example(
        {"colors": {"text": "#222222", "background": "#ffffff"}},
        platform_id=world.platform.id,
        subject_path=world.platform.path,
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add platforms to the organization."""
    put_records(
        Platform(**common_fields, organization_id=world.id, name=f"Neighbour {n}", slug=f"neighbouring-{n}")
        for n, common_fields in enumerate(new_records_fields(count))
    )
