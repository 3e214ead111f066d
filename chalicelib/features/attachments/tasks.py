"""Hooks that remove the attachments of purged containers and records."""

from chalicelib.features.attachments.clearing import clear_entity
from chalicelib.features.attachments.reach import KNOWN
from chalicelib.features.purges.clearing import elsewhere, with_record
from chalicelib.kernel.storage.entity import Container, Entity


@elsewhere
def clear_place(place: type[Container], place_id: str, until: float) -> bool:
    """Remove the attachments of a purged container, one node at a time. Return False if time is up."""
    return place.kind not in KNOWN or clear_entity((place.kind, place_id), until)


@with_record
def clear_record(record: Entity) -> None:
    """Remove the attachments of a record that is purged with its container."""
    if record.kind in KNOWN and not isinstance(record, Container):
        clear_entity((record.kind, record.id))
