"""Examples of the operations on pages."""

from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from chalicelib.kernel.storage.entity import Item
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_items

EXAMPLES: Final[ExampleFactories] = {
    "create_page": lambda world: example(
        {
            "title": "Spindles",
            "parentId": world.page.id,
            "blocks": [{"id": "intro", "type": "text", "text": "They **turn**."}],
        }
    ),
    "update_page": lambda _: example({"title": "Mills", "slug": "mills", "seo": {"description": "Where looms stand."}}),
    "publish_page": lambda _: example({}),
    "restore_page_revision": lambda world: example(target_path=world.page.path),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add published pages to the site, and revisions to the page."""
    put_items(item for n in range(count) for item in (*_page(world, n), *_revision(world, n)))


def _page(world: TenantFixture, n: int) -> Iterator[Item]:
    (common_fields,) = new_records_fields(1)
    place: dict[str, Any] = {"organization_id": world.id, "site_id": world.site.id}
    page = Page(
        **common_fields,
        **place,
        title=f"Neighbour {n}",
        slug=f"neighbour-{n}",
        draft_revision_id=common_fields["id"],
        published_slug=f"neighbour-{n}",
        published_tree_version=1,
        published_revision_id=common_fields["id"],
        published_at=common_fields["created_at"],
        status="published",
    )
    yield page.item()
    yield from page.derived_items


def _revision(world: TenantFixture, n: int) -> Iterator[Item]:
    (common_fields,) = new_records_fields(1)
    place: dict[str, Any] = {"organization_id": world.id, "page_id": world.page.id}
    yield Revision(**common_fields, **place, site_id=world.site.id, title=f"Draft {n}", slug="looms").item()
    yield Content(**common_fields, **place, text=b"[]").item()
