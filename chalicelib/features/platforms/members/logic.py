"""Search for a pending invitation to a platform by the caller's e-mail address."""

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformInvitation, username_guard_key
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.logic.invitation_resolution import ResolvedInvitation
from chalicelib.features.tenancy.invitations.logic.invitation_rules import is_inviter_valid
from chalicelib.kernel.authorization.memberships import membership_view, membership_view_keys
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.permissions.access_epochs import EpochSubject, organization_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key


class InvitationGuard(Prefetched):
    """The item that reserves the caller's address among the platform's pending invitations."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the item, if the caller has a verified address."""
        email = values.user.verified_email_or_none if values.user else None
        if email is None:
            return []
        fields = {"platform_id": values.parameters["platform_id"], "email": email}
        return [guard_key(PlatformInvitation.by_address, fields)]


class UsernameGuard(Prefetched):
    """The item that reserves the username in the path on the platform."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the item."""
        return [username_guard_key(values.parameters["platform_id"], values.parameters["username"])]


def find_invitation_by_email(
    ctx: Context, platform: Platform, invitation_guard: InvitationGuard
) -> ResolvedInvitation | None:
    """Return the pending invitation to a platform for the caller's address, or None, in one round trip."""
    guard = invitation_guard.first_item_or_none
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
        invitation, organization, platform, inviter, ctx.access.memberships, None, {**ctx.access.items, **items}
    )
