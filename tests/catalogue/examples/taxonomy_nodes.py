"""Examples of the operations on taxonomies."""

from typing import Final

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, TaxonomyNode
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "resolve_taxonomy_path": lambda world: example(query={"path": world.organization.node.record["path"]}),
    "create_system_tags": lambda world: example(
        {"tags": ["featured", "archived"]}, subject_path=f"{world.platform.path}/taxonomy-nodes?kind=system"
    ),
    "create_taxonomy_node": lambda world: example(
        {
            "platformId": world.platform.id,
            "name": "Spindles",
            "parentId": world.organization.node.id,
            "altLabels": ["Bobbins"],
        }
    ),
    "update_taxonomy_node": lambda _: example({"name": "Jacquard looms", "slug": "jacquard-looms", "position": 3}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add root nodes to the platform."""
    put_records(
        TaxonomyNode(
            **common_fields,
            organization_id=world.id,
            platform_id=world.platform.id,
            name=f"Neighbour {n}",
            slug=f"neighbour-{n}",
            position=n + 1,
            listed=ALL_NODES_LIST,
            sibling_list=ROOT_TERMS_LIST,
        )
        for n, common_fields in enumerate(new_records_fields(count))
    )
