"""Remove taxonomy attachments whose node or entity is deleted."""

import time
from collections.abc import Sequence
from typing import Final

from chalicelib.features.taxonomy.attachments.entities import TaxonomyAttachment, entity_item_discard_attachment_write
from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_BATCH_SIZE: Final = 25
_MAX_ATTEMPTS: Final = 5


def remove_attachments_and_return_node_or_none(node: TaxonomyNode, deadline: float) -> TaxonomyNode | None:
    """Remove the attachments of a node. Return the updated node, or None if time is up or the index lags."""
    while node.attachment_count:
        attachments = _load_some_attachments(node)
        if not attachments:
            return None
        node = delete_attachments_and_return_node(node, attachments)
        if time.monotonic() > deadline:
            return None
    return node


def _load_some_attachments(node: TaxonomyNode) -> list[TaxonomyAttachment]:
    """Return some attachments of a node: from the index or, if it has none, from a scan of the platform."""
    partition = TaxonomyAttachment.of_node.partition(platform_id=node.platform_id, node_id=node.id)
    if items := table.read_current(table.query(partition, limit=_BATCH_SIZE).items):
        return [*map(TaxonomyAttachment.from_item, items)]
    everything = TaxonomyAttachment.in_platform.partition(platform_id=node.platform_id)
    pages = table.iter_item_pages(everything, prefix=TaxonomyAttachment.sk.partition("{")[0])
    items = [item for page in pages for item in page if item["node_id"] == node.id]
    return [*map(TaxonomyAttachment.from_item, items[:_BATCH_SIZE])]


def delete_attachments_and_return_node(node: TaxonomyNode, attachments: Sequence[TaxonomyAttachment]) -> TaxonomyNode:
    """Delete some attachments of a node and return the updated node. Raises ConcurrentModification."""
    changes = UnitOfWork(now())
    for attachment in attachments:
        changes.delete(attachment)
        changes.add_write(entity_item_discard_attachment_write(attachment))
    attachment_count = node.attachment_count - len(attachments)
    changes.update_untracked(node, attachment_count=attachment_count)
    changes.commit()
    return node.replace(attachment_count=attachment_count)


def remove_entity_attachments(entity_type_and_id: tuple[str, str], deadline: float = float("inf")) -> bool:
    """Remove the attachments of a deleted entity, one node at a time. Return False if time is up."""
    for items in table.iter_item_pages(TaxonomyAttachment.of_entity.partition(entity_id=entity_type_and_id[1])):
        for attachment in map(TaxonomyAttachment.from_item, items):
            if time.monotonic() > deadline:
                return False
            if attachment.entity_type_and_id == entity_type_and_id:
                _delete_with_retries(attachment)
    return True


def _delete_with_retries(attachment: TaxonomyAttachment) -> None:
    node_key = TaxonomyNode.make_item_key(platform_id=attachment.platform_id, id=attachment.node_id)
    for _ in range(_MAX_ATTEMPTS):
        items = table.get_all([node_key, attachment.item_key])
        if node_key not in items or attachment.item_key not in items:
            return  # Removed together with its node or platform.
        try:
            delete_attachments_and_return_node(TaxonomyNode.from_item(items[node_key]), [attachment])
        except ConcurrentModification:
            continue
        return
    raise ConcurrentModification
