"""Ceasing to be a member of a place, and what goes with that."""

from typing import Final

from chalicelib.features.tenancy.api_keys.logic.key_revocation import Ending
from chalicelib.features.tenancy.entities.memberships import Departure, Joined
from chalicelib.features.tenancy.invitations.entities import Invitation, ended
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity

_AT_ONCE: Final = 40
"""What ends with a membership in the same transaction, if that holds it."""

_MOST_WRITES: Final = table.MAX_TRANSACT_ITEMS - 12
"""What is left of a transaction beside the writes of the entry, the caller's standing and the answer."""


def depart(ctx: Context, member: Joined, kind: type[Departure], *, ending: Ending | None = None, **place: str) -> None:
    """End a membership, and with it what the member is below the place and had invited: the entry stands for it all.

    `ending`: the API keys that end with it, which the entry names.

    The index may be late, and may hold more than a transaction does: none of it is in force any more all the same, and
    the departure removes the rest.
    """
    ctx.changes.delete(member)
    room = _AT_ONCE - (ending.revoke(ctx.changes) if ending else 0)
    new = ctx.new_record_fields(later_than=max(member.created_at, member.below_at or ""))
    departure = kind.made(new, member.user_id, **place)
    for record in ctx.query_index(Entity, departure.below, room, user_id=member.user_id):
        if ctx.changes.size > _MOST_WRITES:
            break
        if not isinstance(record, Invitation):
            ctx.changes.delete(record)
        elif record.status == "pending" and (record.invited_as == member.id or kind is Departure):
            ctx.changes.update(record, **ended("revoked"))
    ctx.changes.upsert(departure)
