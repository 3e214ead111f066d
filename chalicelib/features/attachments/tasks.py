"""The removal of what a deleted place was attached to."""

import time
from typing import Final

from chalicelib.features.attachments.clearing import take_off
from chalicelib.features.attachments.entities import Attachment
from chalicelib.features.attachments.reach import KNOWN
from chalicelib.features.purges.clearing import elsewhere
from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.kernel import table
from chalicelib.kernel.changes import Contended
from chalicelib.kernel.entity import Place

_TRIES: Final = 5


@elsewhere
def clear_place(place: type[Place], place_id: str, until: float) -> bool:
    """Remove the attachments of a place that is gone; those of a node at a time."""
    if place.kind not in KNOWN:
        return True
    for items in table.pages(Attachment.of_entity.partition(entity_id=place_id)):
        for attachment in map(Attachment.from_item, items):
            if time.monotonic() > until:
                return False
            if attachment.entity == (place.kind, place_id):
                _take_off(attachment)
    return True


def _take_off(attachment: Attachment) -> None:
    for _ in range(_TRIES):
        key = TaxonomyNode.key_of(platform_id=attachment.platform_id, id=attachment.node_id)
        read = table.get_all([key, attachment.stored_at])
        if key not in read or attachment.stored_at not in read:
            return  # It went with its node, or its platform.
        try:
            take_off(TaxonomyNode.from_item(read[key]), [attachment])
        except Contended:
            continue
        return
    raise Contended
