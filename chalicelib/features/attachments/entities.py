"""What is stored of attachments, and of what they put nodes on."""

from typing import Final

from chalicelib.features.attachments.models import AttachmentOut
from chalicelib.features.taxonomy.trails import PARTITION
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.table import Write

MOST_ATTACHMENTS: Final = 50
"""Of one entity."""


class Attachment(Entity):
    """A node's being put on something: an entity, which its type and id name.

    It is listed with its platform, and by its node, its entity, its entity's type.
    """

    kind, parameter = "taxonomy.attachment", "attachment_id"
    pk, sk = PARTITION, "A#{id}"
    in_platform = Collection(PARTITION, "A#{id}")
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
    def log_label(self) -> str:
        """What the node is put on."""
        return f"{self.entity_type} {self.entity_id}"

    @property
    def entity(self) -> tuple[str, str]:
        """What the node is put on, by type and id."""
        return self.entity_type, self.entity_id


def entity_key(platform_id: str, entity_type: str, entity_id: str) -> ItemKey:
    """Return where it stands which nodes of a platform are put on an entity: it is in `nodes`, as a set of texts."""
    return PARTITION.format(platform_id=platform_id), f"E#{entity_type}#{entity_id}"


def attached(entity: Item | None) -> dict[str, str]:
    """Return the attachments of an entity: their ids by those of their nodes."""
    return dict(text.split("/") for text in _texts(entity))


def attach(attachment: Attachment, entity: Item | None) -> Write:
    """Return the write that notes an attachment with its entity, on condition that this has the same as when read."""
    texts = _texts(entity)
    return Write(
        "Update",
        _entity_of(attachment),
        update="ADD #nodes :one",
        names=["nodes"],
        condition="#nodes = :was" if texts else "attribute_not_exists(#nodes)",
        values={"one": frozenset({_text(attachment)}), **({"was": texts} if texts else {})},
    )


def detach(attachment: Attachment) -> Write:
    """Return the write that takes an attachment off its entity."""
    values = {"one": frozenset({_text(attachment)})}
    return Write("Update", _entity_of(attachment), update="DELETE #nodes :one", names=["nodes"], values=values)


def _entity_of(attachment: Attachment) -> ItemKey:
    return entity_key(attachment.platform_id, *attachment.entity)


def _texts(entity: Item | None) -> frozenset[str]:
    texts: frozenset[str] = (entity or {}).get("nodes", frozenset())
    return texts


def _text(attachment: Attachment) -> str:
    return f"{attachment.node_id}/{attachment.id}"
