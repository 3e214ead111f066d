"""Examples of the operations on taxonomies."""

from typing import Any, Final

from chalicelib.features.taxonomy.attachments.entities import TaxonomyAttachment
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, TaxonomyNode
from tests.catalogue.examples.example import Example, ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

_ENTITY: Final = {"entityType": "lesson", "entityId": "01939d3c-0000-7000-8000-0000000000aa"}


def _attachment_example(world: TenantFixture) -> Example:
    attachment = world.organization.attachment
    return example(taxonomy_node_id=attachment.node.id, attachment_id=attachment.id)


EXAMPLES: Final[ExampleFactories] = {
    "list_node_attachments": lambda world: example(taxonomy_node_id=world.organization.attachment.node.id),
    "attach_taxonomy_node": lambda world: example(_ENTITY, taxonomy_node_id=world.organization.attachment.node.id),
    "get_taxonomy_attachment": _attachment_example,
    "detach_taxonomy_node": _attachment_example,
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


def _platform_ids(world: TenantFixture) -> dict[str, Any]:
    return {"organization_id": world.id, "platform_id": world.platform.id}


def build_attachments(world: TenantFixture, _n: int) -> Neighbours:
    fields, node_id = new_fields(), world.organization.attachment.node.id
    yield TaxonomyAttachment(
        **fields, **_platform_ids(world), node_id=node_id, entity_type="lesson", entity_id=fields["id"]
    )


def build_nodes(world: TenantFixture, n: int) -> Neighbours:
    fields = new_fields() | {"listed": ALL_NODES_LIST, "sibling_list": ROOT_TERMS_LIST, "position": n + 1}
    yield TaxonomyNode(**fields, **_platform_ids(world), name=f"Neighbour {n}", slug=f"neighbour-{n}")
