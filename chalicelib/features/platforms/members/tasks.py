"""Removal of the invitations to a purged platform."""

import time
from typing import Final

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformInvitation
from chalicelib.features.tenancy.purges.logic import on_container_purge
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_BATCH_SIZE: Final = 25


@on_container_purge
def remove_platform_invitations(container_type: type[Container], container_id: str, deadline: float) -> bool:
    """Remove the invitations to a platform, which are stored with its organization. Return False if time is up."""
    if container_type is not Platform:
        return True
    invitations = PlatformInvitation.of_container.partition(platform_id=container_id)
    for items in table.iter_item_pages(invitations, limit=_BATCH_SIZE):
        if time.monotonic() > deadline:
            return False
        changes = UnitOfWork(now())
        for item in table.read_current(items):
            changes.delete(PlatformInvitation.from_item(item))
        if not changes.is_empty:
            changes.commit()
    return True
