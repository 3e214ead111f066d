"""Leaving a container, with everything that depends on the membership."""

from typing import Final

from chalicelib.features.tenancy.api_keys.logic.key_revocation import KeyRevocationPlan
from chalicelib.features.tenancy.entities.memberships import ContainerMember, RevocationMarker
from chalicelib.features.tenancy.invitations.entities import Invitation, closing_fields
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity

_MAX_DEPENDENTS_PER_TRANSACTION: Final = 40
"""Dependent records that are removed in the transaction that ends a membership. A task removes the others."""

_MAX_WRITES: Final = table.MAX_TRANSACT_ITEMS - 14
"""Writes of a transaction, without those for the log entry, the caller's membership, the idempotent response and the
notice to the member."""


def delete_member_and_dependents(
    ctx: Context,
    member: ContainerMember,
    marker_type: type[RevocationMarker],
    *,
    key_revocation: KeyRevocationPlan | None = None,
    **container_ids: str,
) -> None:
    """End a membership, remove the memberships below the container and revoke the member's pending invitations.

    `key_revocation`: the API keys that end with it, which the log entry lists.

    The index may lag, and it may show more records than a transaction can hold. The revocation marker denies all of
    them access at once, and its task removes the rest.
    """
    ctx.changes.delete(member)
    ctx.changes.event(member)
    capacity = _MAX_DEPENDENTS_PER_TRANSACTION - (
        key_revocation.add_revocations_and_return_count(ctx.changes) if key_revocation else 0
    )
    record_fields = ctx.new_id_and_time_fields(later_than=max(member.created_at, member.descendant_joined_at or ""))
    marker = marker_type.create(record_fields, member.user_id, **container_ids)
    for record in ctx.query_index(Entity, marker.dependents_index, capacity, user_id=member.user_id):
        if ctx.changes.write_count_without_pipeline_writes > _MAX_WRITES:
            break
        if not isinstance(record, Invitation):
            ctx.changes.delete(record)
        elif record.status == "pending" and (
            record.inviter_membership_id == member.id or marker_type is RevocationMarker
        ):
            ctx.changes.update(record, **closing_fields("revoked"))
    ctx.changes.upsert(marker)
