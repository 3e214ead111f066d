"""Creates records below HTTP as the service does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox
from chalicelib.kernel.work.outbox import Origin
from tests.harness import memory_aws


def new_id_and_time_fields(timestamp: str) -> dict[str, Any]:
    """Return the fields that all new records have."""
    return {"id": new_id(timestamp), "created_at": timestamp, "updated_at": timestamp}


def system_origin(*event_types: str) -> Origin:
    """Return the origin of changes by a task that emits these events."""
    return Origin({"type": "system", "id": None, "name": None}, "tests", event_types)


def load_item(key: ItemKey) -> Item:
    """Return an item, which must exist."""
    item = table.get(key)
    assert item is not None, key
    return item


@contextmanager
def committed_changes() -> Iterator[UnitOfWork]:
    """Commit the changes of the block at its end, in one transaction without a log entry."""
    changes = UnitOfWork(now())
    yield changes
    changes.commit()


def create_membership(organization_id: str, user: User, role: Role | str) -> Member:
    """Add a user to an organization as an accepted invitation does: membership and entry in one transaction."""
    changes = UnitOfWork(now())
    member = changes.create(
        Member.create_for_organization(new_id_and_time_fields(changes.now), organization_id, user, Role(role))
    )
    changes.event(member)
    outbox.commit(changes, Origin(user.actor, "accept_invitation", ("organization.invitation.accepted",)))
    return member


def set_quota_count(record_type: type[Entity], partition_key: str, count: int) -> None:
    """Count some records toward the quota of a partition, as if they had been created. The counter has to exist."""
    assert record_type.quota
    counter = memory_aws.get_item(partition_key, f"COUNT#{record_type.quota.name}")
    assert counter
    memory_aws.put_item({**counter, "n": count})
