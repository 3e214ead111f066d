"""Hooks that remove the attachments of purged containers and records."""

from chalicelib.features.taxonomy.attachments.logic.attachment_removal import remove_entity_attachments
from chalicelib.features.taxonomy.attachments.logic.entity_visibility import SERVICE_ENTITY_KEYS
from chalicelib.features.tenancy.purges.logic import on_container_purge, on_record_purge
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.storage.record_types import get_record_type


@on_container_purge
def remove_container_attachments(container_type: type[Container], container_id: str, deadline: float) -> bool:
    """Remove the attachments of a purged container, one node at a time. Return False if time is up."""
    return container_type.kind not in SERVICE_ENTITY_KEYS or remove_entity_attachments(
        (container_type.kind, container_id), deadline
    )


@on_record_purge
def remove_record_attachments(kind: str, record_id: str, deadline: float) -> bool:
    """Remove the attachments of a purged record that is not a container. Return False if time is up."""
    if kind not in SERVICE_ENTITY_KEYS or issubclass(get_record_type(kind), Container):
        return True
    return remove_entity_attachments((kind, record_id), deadline)
