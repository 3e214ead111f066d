"""Hooks that remove the attachments of purged containers and records."""

from chalicelib.features.attachments.clearing import remove_entity_attachments
from chalicelib.features.attachments.reach import SERVICE_ENTITY_KEYS
from chalicelib.features.purges.clearing import elsewhere, with_record
from chalicelib.kernel.storage.entity import Container, Entity


@elsewhere
def remove_container_attachments(container_type: type[Container], container_id: str, deadline: float) -> bool:
    """Remove the attachments of a purged container, one node at a time. Return False if time is up."""
    return container_type.kind not in SERVICE_ENTITY_KEYS or remove_entity_attachments(
        (container_type.kind, container_id), deadline
    )


@with_record
def remove_record_attachments(record: Entity) -> None:
    """Remove the attachments of a record that is purged with its container."""
    if record.kind in SERVICE_ENTITY_KEYS and not isinstance(record, Container):
        remove_entity_attachments((record.kind, record.id))
