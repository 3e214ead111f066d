"""The removal of attachments whose node or entity is gone."""

import time
from collections.abc import Sequence
from typing import Final

from chalicelib.features.attachments.entities import Attachment, detach
from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_AT_ONCE: Final = 25
_TRIES: Final = 5


def clear_node(node: TaxonomyNode, until: float) -> TaxonomyNode | None:
    """Remove a node's attachments; return it without them, or None if the time is over, or the index late."""
    while node.attachment_count:
        found = _attached(node)
        if not found:
            return None
        node = take_off(node, found)
        if time.monotonic() > until:
            return None
    return node


def _attached(node: TaxonomyNode) -> list[Attachment]:
    """Return some attachments of a node: of those that the index shows or, if none is there, of all the platform's."""
    listed = Attachment.of_node.partition(platform_id=node.platform_id, node_id=node.id)
    if found := table.read_current(table.query(listed, limit=_AT_ONCE).items):
        return [*map(Attachment.from_item, found)]
    everything = Attachment.in_platform.partition(platform_id=node.platform_id)
    found = [
        item
        for page in table.iter_pages(everything, prefix=Attachment.sk.partition("{")[0])
        for item in page
        if item["node_id"] == node.id
    ]
    return [*map(Attachment.from_item, found[:_AT_ONCE])]


def take_off(node: TaxonomyNode, attachments: Sequence[Attachment]) -> TaxonomyNode:
    """Remove some attachments of a node, and return it as it is then. Raises ConcurrentModification."""
    changes = UnitOfWork(now())
    for attachment in attachments:
        changes.delete(attachment)
        changes.add_write(detach(attachment))
    changes.update_untracked(node, attachment_count=node.attachment_count - len(attachments))
    changes.commit()
    return node.replace(attachment_count=node.attachment_count - len(attachments))


def clear_entity(entity: tuple[str, str], until: float = float("inf")) -> bool:
    """Remove the attachments of an entity that is gone, those of a node at a time; False if the time is over."""
    for items in table.iter_pages(Attachment.of_entity.partition(entity_id=entity[1])):
        for attachment in map(Attachment.from_item, items):
            if time.monotonic() > until:
                return False
            if attachment.entity == entity:
                _take_off(attachment)
    return True


def _take_off(attachment: Attachment) -> None:
    for _ in range(_TRIES):
        key = TaxonomyNode.make_item_key(platform_id=attachment.platform_id, id=attachment.node_id)
        read = table.get_all([key, attachment.item_key])
        if key not in read or attachment.item_key not in read:
            return  # It went with its node, or its platform.
        try:
            take_off(TaxonomyNode.from_item(read[key]), [attachment])
        except ConcurrentModification:
            continue
        return
    raise ConcurrentModification
