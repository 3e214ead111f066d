"""The invitations to the verified e-mail address of a user which they can accept now."""

from collections.abc import Iterable, Sequence
from typing import Final

from chalicelib.features.tenancy.invitations.entities import Invitation, address_partition
from chalicelib.features.tenancy.invitations.logic.invitation_resolution import (
    ResolvedInvitation,
    deciding_item_keys,
    resolved_invitation_or_none,
)
from chalicelib.features.tenancy.invitations.logic.invitation_rules import is_inviter_valid
from chalicelib.features.tenancy.invitations.models import PlaceOffered
from chalicelib.features.tenancy.me.models import InvitationOfCaller
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

MAX_INVITATIONS: Final = 10
"""Invitations in the overview of a user."""

INVITATIONS_PER_READ: Final = 20
"""Invitations that are read and checked together. With what decides about them, they fit in one BatchGetItem."""


def list_acceptable_invitations(ctx: Context, query: ListQuery) -> ListPage[InvitationOfCaller]:
    """Return a page of the invitations to the caller's verified address that they can accept now, newest first.

    One Query finds the invitations to the address. Batches of them are read in parallel, each with one read of the
    invitations and one of what decides about them.
    """
    # The position is no key of the table, because the caller's address can change between two pages.
    position, email = ctx.decode_cursor(query), ctx.user.verified_email_or_none
    if email is None:
        return ctx.build_page([], None, query)
    page = table.query_merged([address_partition(email)], limit=query.limit, after=position)
    keys = list_invitation_keys(page.items)
    batches = [keys[start : start + INVITATIONS_PER_READ] for start in range(0, len(keys), INVITATIONS_PER_READ)]
    invitations = [each for batch in table.gather(_load_acceptable_batch, batches) for each in batch]
    return ctx.build_page(invitations, page.last_evaluated_key, query)


def list_invitation_keys(pointers: Iterable[Item]) -> list[ItemKey]:
    """Return the keys of the invitations to which items in the partition of an address refer, without expired ones."""
    return [
        Invitation.make_item_key(organization_id=pointer["organization_id"], id=pointer["sk"])
        for pointer in pointers
        if not table.is_expired(pointer)
    ]


def load_first_acceptable_invitations(
    items: Iterable[Item], next_keys: Sequence[ItemKey]
) -> tuple[list[InvitationOfCaller], bool]:
    """Return the first invitations that can be accepted now, and whether there may be more of them.

    `items`: the first invitations; `next_keys`: the keys of the others, which are read only if they are needed.
    """
    found = _describe_acceptable_invitations(items)
    while next_keys and len(found) < MAX_INVITATIONS:
        batch, next_keys = next_keys[:INVITATIONS_PER_READ], next_keys[INVITATIONS_PER_READ:]
        found += _load_acceptable_batch(batch)
    return found[:MAX_INVITATIONS], bool(next_keys or found[MAX_INVITATIONS:])


def _load_acceptable_batch(keys: Sequence[ItemKey]) -> list[InvitationOfCaller]:
    items_by_key = table.get_all(keys)
    return _describe_acceptable_invitations(items_by_key[key] for key in keys if key in items_by_key)


def _describe_acceptable_invitations(items: Iterable[Item]) -> list[InvitationOfCaller]:
    """Return the pending ones of some invitations whose inviters are still able to grant the role. Takes one read."""
    pending = [each for each in map(Invitation.from_item, items) if each.status == "pending"]
    deciding_items = table.get_all(key for each in pending for key in deciding_item_keys(each)) if pending else {}
    resolved = [(each, resolved_invitation_or_none(each, deciding_items)) for each in pending]
    return [
        _describe_invitation(each)
        for invitation, each in resolved
        if each and is_inviter_valid(invitation, each.inviter_memberships)
    ]


def _describe_invitation(resolved: ResolvedInvitation) -> InvitationOfCaller:
    invitation = resolved.invitation
    return InvitationOfCaller(
        id=invitation.id,
        organization=PlaceOffered.of(resolved.organization),
        platform=PlaceOffered.of(resolved.container) if invitation.platform_id else None,
        role=invitation.role,
        invited_by=invitation.invited_by,
        inviter_name=resolved.inviter_name,
        expires_at=invitation.expires_at,
    )
