"""Examples of the operations on taxonomies."""

from typing import Any, Final

from chalicelib.features.taxonomy.attachments.entities import TaxonomyAttachment
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, TaxonomyNode
from tests.catalogue.examples.example import Example, ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

_ENTITY: Final = {"entityType": "lesson", "entityId": "01939d3c-0000-7000-8000-0000000000aa"}


def _attachment_example(tenant: TenantFixture) -> Example:
    attachment = tenant.organization.attachment
    return example(taxonomy_node_id=attachment.node.id, attachment_id=attachment.id)


EXAMPLES: Final[ExampleFactories] = {
    "list_node_attachments": lambda tenant: example(taxonomy_node_id=tenant.organization.attachment.node.id),
    "attach_taxonomy_node": lambda tenant: example(_ENTITY, taxonomy_node_id=tenant.organization.attachment.node.id),
    "get_taxonomy_attachment": _attachment_example,
    "detach_taxonomy_node": _attachment_example,
    "resolve_taxonomy_path": lambda tenant: example(query={"path": tenant.organization.node.record["path"]}),
    "create_system_tags": lambda tenant: example(
        {"tags": ["featured", "archived"]}, subject_path=f"{tenant.platform.path}/taxonomy-nodes?kind=system"
    ),
    "create_taxonomy_node": lambda tenant: example(
        {
            "platformId": tenant.platform.id,
            "name": "Spindles",
            "parentId": tenant.organization.node.id,
            "altLabels": ["Bobbins"],
        }
    ),
    "update_taxonomy_node": lambda _: example({"name": "Jacquard looms", "slug": "jacquard-looms", "position": 3}),
}


def _platform_ids(tenant: TenantFixture) -> dict[str, Any]:
    return {"organization_id": tenant.id, "platform_id": tenant.platform.id}


def build_attachments(tenant: TenantFixture, _n: int) -> Neighbours:
    fields, node_id = new_fields(), tenant.organization.attachment.node.id
    yield TaxonomyAttachment(
        **fields, **_platform_ids(tenant), node_id=node_id, entity_type="lesson", entity_id=fields["id"]
    )


def build_nodes(tenant: TenantFixture, n: int) -> Neighbours:
    fields = new_fields() | {"listed": ALL_NODES_LIST, "sibling_list": ROOT_TERMS_LIST, "position": n + 1}
    yield TaxonomyNode(**fields, **_platform_ids(tenant), name=f"Neighbour {n}", slug=f"neighbour-{n}")
