"""The invitation to a platform that waits for the caller's email address."""

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformInvitation
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.logic.invitation_rules import vouched
from chalicelib.features.tenancy.invitations.logic.token_resolution import Offer
from chalicelib.kernel.authorization.memberships import membership_view, membership_view_keys
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import Subject, log_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key


def address_held(request: Request, user: User) -> list[ItemKey]:
    """Return where it stands that the user's address was invited to the platform that the path names."""
    if not (user.email and user.email_verified):
        return []
    said = {"platform_id": request.parameters["platform_id"], "email": user.email}
    return [guard_key(PlatformInvitation.by_address, said)]


def find_by_address(ctx: Context, platform: Platform) -> Offer | None:
    """Return the invitation to a platform that waits for the caller, by what `address_held` led to, in one round trip.

    None if there is none that holds.
    """
    guard = next(
        (ctx.access.prefetched[key] for key in address_held(ctx.request, ctx.user) if key in ctx.access.prefetched),
        None,
    )
    if guard is None or table.is_expired(guard):
        return None
    key = Invitation.make_item_key(organization_id=platform.organization_id, id=guard["ref"])
    inviter_id = guard.get("invited_by", "")
    standing = membership_view_keys(inviter_id, platform.item_key, platform.ancestor_keys.values())
    items = table.get_all([key, *standing, *Subject(log_partition(platform.organization_id), inviter_id).keys])
    if key not in items:
        return None
    invitation = Invitation.from_item(items[key])
    inviter = membership_view(inviter_id, [*ctx.access.ancestors.values(), platform], items)
    holds = invitation.status == "pending" and vouched(invitation, inviter)
    if not holds:
        return None
    organization = ctx.access.ancestors[Organization]
    assert isinstance(organization, Organization)  # noqa: S101 - for types: it stands by its kind
    return Offer(
        invitation, organization, platform, inviter, ctx.access.memberships, None, {**ctx.access.prefetched, **items}
    )
