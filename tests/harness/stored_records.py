"""Records as the service begins them, made below HTTP."""

from typing import Any

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox
from chalicelib.kernel.work.outbox import Origin


def beginning(moment: str) -> dict[str, Any]:
    """Return what a record begins with that is new at a moment."""
    return {"id": new_id(moment), "created_at": moment, "updated_at": moment}


def by_itself(*events: str) -> Origin:
    """Return the origin of what the service does by itself, in a task of the tests that emits these events."""
    return Origin({"type": "system", "id": None, "name": None}, "tests", events)


def join(organization_id: str, user: User, role: Role | str) -> Member:
    """Let a user join an organization as an accepted invitation does: membership and entry in one transaction."""
    changes = UnitOfWork(now())
    member = changes.create(Member.create_for_organization(beginning(changes.now), organization_id, user, Role(role)))
    event = "organization.invitation.accepted"
    outbox.commit(changes, event, Origin(user.actor, "accept_invitation", (event,)))
    return member
