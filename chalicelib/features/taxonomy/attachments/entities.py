"""The stored taxonomy attachments, and the items that list the attached nodes of an entity."""

from typing import Final

from chalicelib.features.taxonomy.attachments.models import AttachmentOut
from chalicelib.features.taxonomy.entities.slug_index import TAXONOMY_PARTITION
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.log_rules import LogRules, Removal, removal_below_parent
from chalicelib.kernel.storage.writes import ItemUpdate, Write

MAX_ATTACHMENTS_PER_ENTITY: Final = 50
"""Maximum number of taxonomy nodes per entity."""


class TaxonomyAttachment(Entity):
    """The assignment of a taxonomy node to an entity, which is identified by its type and id.

    Attachments are listed by platform, node, entity and entity type.
    """

    kind, parameter = "taxonomy.attachment", "attachment_id"
    log_rules = LogRules(
        ended_by=("taxonomy.attachment.deleted",),
        removed_by={
            "taxonomy.node.deleted": removal_below_parent,
            # An attachment names neither the ancestors of a page nor the container of its entity.
            "page.deleted": lambda _entry: Removal(fields={"entity_type": "page"}),
            **dict.fromkeys(("site.deleted", "space.deleted", "platform.deleted"), lambda _entry: Removal()),
        },
        depends_on=lambda entry: [
            (TAXONOMY_PARTITION.format(platform_id=entry["data"]["platformId"]), f"N#{entry['data']['nodeId']}")
        ],
    )
    pk, sk = TAXONOMY_PARTITION, "A#{id}"
    in_platform = Collection(TAXONOMY_PARTITION, "A#{id}")
    of_entity = Collection("E#{entity_id}", "{platform_id}#{id}", index="index1")
    of_node = Facet("P#{platform_id}#T#N#{node_id}", "facet1")
    of_type = Facet("P#{platform_id}#T#Y#{entity_type}", "facet2")
    output_model = AttachmentOut

    organization_id: str
    platform_id: str
    node_id: str
    entity_type: str
    entity_id: str

    @property
    def audit_log_label(self) -> str:
        """The type and id of the entity."""
        return f"{self.entity_type} {self.entity_id}"

    @property
    def entity_type_and_id(self) -> tuple[str, str]:
        """The type and id of the entity."""
        return self.entity_type, self.entity_id


def entity_attachments_key(platform_id: str, entity_type: str, entity_id: str) -> ItemKey:
    """Return the key of the item that lists the attachments of an entity in `nodes`, a set of strings."""
    return TAXONOMY_PARTITION.format(platform_id=platform_id), f"E#{entity_type}#{entity_id}"


def attachment_ids_by_node(entity_item: Item | None) -> dict[str, str]:
    """Return the ids of the attachments of an entity by node id."""
    return dict(attachment_ref.split("/") for attachment_ref in _joined_node_and_attachment_ids(entity_item))


def entity_item_add_attachment_if_unchanged_write(attachment: TaxonomyAttachment, entity_item: Item | None) -> Write:
    """Return the write that adds an attachment to the item of its entity. Fails if the item changed since the read."""
    attachment_refs = _joined_node_and_attachment_ids(entity_item)
    update = ItemUpdate(
        _entity_item_key(attachment), add={"nodes": frozenset({_joined_node_and_attachment_id(attachment)})}
    )
    if attachment_refs:
        return update.to_write("#nodes = :was", was=attachment_refs)
    return update.to_write("attribute_not_exists(#nodes)")


def entity_item_discard_attachment_write(attachment: TaxonomyAttachment) -> Write:
    """Return the write that removes an attachment from the item of its entity."""
    return ItemUpdate(
        _entity_item_key(attachment), discard={"nodes": frozenset({_joined_node_and_attachment_id(attachment)})}
    ).to_write()


def _entity_item_key(attachment: TaxonomyAttachment) -> ItemKey:
    return entity_attachments_key(attachment.platform_id, *attachment.entity_type_and_id)


def _joined_node_and_attachment_ids(entity_item: Item | None) -> frozenset[str]:
    attachment_refs: frozenset[str] = (entity_item or {}).get("nodes", frozenset())
    return attachment_refs


def _joined_node_and_attachment_id(attachment: TaxonomyAttachment) -> str:
    return f"{attachment.node_id}/{attachment.id}"
