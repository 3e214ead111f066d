"""Ceasing to be a member of a place, and what goes with that."""

from typing import Final

from chalicelib.features.invitations.entities import Invitation, ended
from chalicelib.features.members.entities import Departure, Joined
from chalicelib.kernel.context import Context
from chalicelib.kernel.entity import Entity

_AT_ONCE: Final = 40
"""What ends with a membership in the same transaction: each is two writes of it."""


def depart(ctx: Context, member: Joined, kind: type[Departure], **place: str) -> None:
    """End a membership, and with it what the member is below the place and had invited: the entry stands for it all.

    The index may be late, and may hold more than a transaction does: none of it is in force any more all the same, and
    the departure removes the rest.
    """
    ctx.changes.delete(member)
    new = ctx.new(behind=max(member.created_at, member.below_at or ""))
    departure = kind.made(new, member.user_id, **place)
    for record in ctx.among(Entity, departure.below, _AT_ONCE, user_id=member.user_id):
        if not isinstance(record, Invitation):
            ctx.changes.delete(record)
        elif record.status == "pending" and (record.invited_as == member.id or kind is Departure):
            ctx.changes.update(record, **ended("revoked"))
    ctx.changes.put(departure)
