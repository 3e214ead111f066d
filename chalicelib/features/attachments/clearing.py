"""The removal of attachments whose node or entity is gone."""

import time
from collections.abc import Sequence
from typing import Final

from chalicelib.features.attachments.entities import Attachment, detach
from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.kernel import table
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now

_AT_ONCE: Final = 25


def clear_node(node: TaxonomyNode, until: float) -> TaxonomyNode | None:
    """Remove a node's attachments; return it without them, or None if the time is over, or the index late."""
    while node.attachment_count:
        listed = Attachment.of_node.partition(platform_id=node.platform_id, node_id=node.id)
        found = table.query(listed, limit=_AT_ONCE).items
        if not found:
            return None
        node = take_off(node, [Attachment.from_item(item) for item in found])
        if time.monotonic() > until:
            return None
    return node


def take_off(node: TaxonomyNode, attachments: Sequence[Attachment]) -> TaxonomyNode:
    """Remove some attachments of a node, and return it as it is then. Raises Contended."""
    changes = Changes(now())
    for attachment in attachments:
        changes.delete(attachment)
        changes.also(detach(attachment))
    changes.settle(node, attachment_count=node.attachment_count - len(attachments))
    changes.commit()
    return node.but(attachment_count=node.attachment_count - len(attachments))
