"""Examples of the operations on the attachments of a taxonomy's nodes."""

from typing import Final

from chalicelib.features.taxonomy.attachments.entities import TaxonomyAttachment
from tests.catalogue.examples.example import Example, ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

ENTITY: Final = {"entityType": "lesson", "entityId": "01939d3c-0000-7000-8000-0000000000aa"}


def _attachment_example(world: TenantFixture) -> Example:
    attachment = world.organization.attachment
    return example(taxonomy_node_id=attachment.node.id, attachment_id=attachment.id)


EXAMPLES: Final[ExampleFactories] = {
    "list_node_attachments": lambda world: example(taxonomy_node_id=world.organization.attachment.node.id),
    "attach_taxonomy_node": lambda world: example(ENTITY, taxonomy_node_id=world.organization.attachment.node.id),
    "get_taxonomy_attachment": _attachment_example,
    "detach_taxonomy_node": _attachment_example,
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add attachments to the node."""
    attachment = world.organization.attachment
    put_records(
        TaxonomyAttachment(
            **common_fields,
            organization_id=world.id,
            platform_id=world.platform.id,
            node_id=attachment.node.id,
            entity_type="lesson",
            entity_id=common_fields["id"],
        )
        for common_fields in new_records_fields(count)
    )
