"""Search for a pending invitation to a platform by the caller's e-mail address."""

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformInvitation
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.logic.invitation_rules import is_inviter_valid
from chalicelib.features.tenancy.invitations.logic.token_resolution import ResolvedInvitation
from chalicelib.kernel.authorization.memberships import membership_view, membership_view_keys
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import EpochSubject, organization_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key


def invitation_guard_prefetch_keys(request: Request, user: User) -> list[ItemKey]:
    """Return the key of the item that reserves the caller's address among the platform's pending invitations."""
    email = user.verified_email_or_none
    if email is None:
        return []
    values = {"platform_id": request.parameters["platform_id"], "email": email}
    return [guard_key(PlatformInvitation.by_address, values)]


def find_invitation_by_email(ctx: Context, platform: Platform) -> ResolvedInvitation | None:
    """Return the pending invitation to a platform for the caller's address, or None, in one round trip.

    The items at `invitation_guard_prefetch_keys` must be prefetched.
    """
    guard = next(
        (
            ctx.access.prefetched[key]
            for key in invitation_guard_prefetch_keys(ctx.request, ctx.user)
            if key in ctx.access.prefetched
        ),
        None,
    )
    if guard is None or table.is_expired(guard):
        return None
    key = Invitation.make_item_key(organization_id=platform.organization_id, id=guard["ref"])
    inviter_id = guard.get("invited_by", "")
    membership_keys = membership_view_keys(inviter_id, platform.item_key, platform.ancestor_keys_by_type.values())
    items = table.get_all(
        [
            key,
            *membership_keys,
            *EpochSubject(
                organization_partition(platform.organization_id), inviter_id
            ).random_shard_and_closing_mark_keys,
        ]
    )
    if key not in items:
        return None
    invitation = Invitation.from_item(items[key])
    inviter = membership_view(inviter_id, [*ctx.access.ancestors.values(), platform], items)
    is_valid = invitation.status == "pending" and is_inviter_valid(invitation, inviter)
    if not is_valid:
        return None
    organization = ctx.access.ancestors[Organization]
    assert isinstance(organization, Organization)  # noqa: S101 - for type checkers: the key is its type
    return ResolvedInvitation(
        invitation, organization, platform, inviter, ctx.access.memberships, None, {**ctx.access.prefetched, **items}
    )
