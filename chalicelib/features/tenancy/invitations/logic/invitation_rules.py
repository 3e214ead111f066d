"""Tokens of invitations, and rules about them. No I/O.

A token contains the ids of its organization and invitation and the number of the sending, and is signed. One read finds
its invitation, and the link in a mail can be derived again, while the table stores only the SHA-256.
"""

import hashlib
import hmac
from typing import Any, Final
from uuid import UUID

from chalicelib.features.tenancy.entities.memberships import ContainerMember
from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail
from chalicelib.features.tenancy.models.settings import TenancySettings
from chalicelib.kernel.authorization.memberships import MembershipView
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import ItemKey

_INVITATION_PAGE_PATH: Final = "/invitation"
"""Path of the console's page on which an invited person answers."""

ACCEPTANCE_PATH: Final = "/organizations/invitations/acceptance"
MIN_RESEND_INTERVAL_SECONDS: Final = 60
"""Time after which an invitation can be sent again."""

INVITATION_RATE_LIMITS: Final = (
    RateLimit("invitations", limit=120, seconds=3600, per="principal"),
    RateLimit("invitations-of-organization", limit=240, seconds=3600, per="organization"),
)
"""How often callers can invite people or resend invitations. Revoking an invitation does not lower the count."""

_UUID_BYTES: Final = 16
_SEND_COUNT_BYTES: Final = 4
_CLAIM_BYTES: Final = 2 * _UUID_BYTES + _SEND_COUNT_BYTES
_CONTEXT: Final = "invitation"


def build_send_fields(
    organization_id: str, invitation_id: str, send_count: int, valid_days: int, timestamp: str, *, mailed: bool = True
) -> dict[str, Any]:
    """Return the fields of an invitation that is sent for a number of days. `mailed`: whether a mail is sent."""
    secret = create_token(organization_id, invitation_id, send_count)
    return {
        "send_count": send_count,
        "token_hash": _token_digest(secret),
        "issued_at": timestamp,
        "sent_at": timestamp if mailed else None,
        "expires_at": after(timestamp, days=valid_days),
    }


def create_token(organization_id: str, invitation_id: str, send_count: int) -> str:
    """Return the token for one sending of an invitation."""
    return symmetric.sign_token(_encode_token_claim(organization_id, invitation_id, send_count), _CONTEXT)


def reissue_token_or_none(invitation_mail: InvitationMail) -> str | None:
    """Return the token that a mail delivers, or None if the key that signed it is no longer configured."""
    claim = _encode_token_claim(
        invitation_mail.organization_id, invitation_mail.invitation_id, invitation_mail.send_count
    )
    return symmetric.reissue_token_or_none(claim, _CONTEXT, invitation_mail.token_key_id)


def _encode_token_claim(organization_id: str, invitation_id: str, send_count: int) -> bytes:
    return UUID(organization_id).bytes + UUID(invitation_id).bytes + send_count.to_bytes(_SEND_COUNT_BYTES, "big")


def build_acceptance_url(token: str) -> str:
    """Return the link that contains a token."""
    page = section(TenancySettings).invitation_url or settings().public_url + _INVITATION_PAGE_PATH
    return f"{page}{'&' if '?' in page else '?'}token={token}"


def invitation_key_from_token(token: str) -> ItemKey | None:
    """Return the item key of a token's invitation, or None if the service did not sign the token."""
    claim = symmetric.verified_payload_or_none(token, _CLAIM_BYTES, _CONTEXT)
    if claim is None:
        return None
    organization, invitation = UUID(bytes=claim[:_UUID_BYTES]), UUID(bytes=claim[_UUID_BYTES : 2 * _UUID_BYTES])
    return Invitation.make_item_key(organization_id=str(organization), id=str(invitation))


def is_inviter_valid(invitation: Invitation, inviter_memberships: MembershipView) -> bool:
    """Return whether the inviter still has the same membership, and could grant the invitation's role today.

    Invitations by an API key belong to the organization and need no inviter.
    """
    if invitation.inviter_membership_id is None:
        return True
    role = inviter_memberships.roles.get(invitation.container_type)
    if role is None or invitation.inviter_membership_id not in {
        membership["id"] for membership in inviter_memberships.memberships.values()
    }:
        return False
    return role.includes(Role(invitation.role))


def outermost_admin_membership_id(memberships: MembershipView) -> str | None:
    """Return the id of the outermost membership that makes a user an admin and thus lets them invite."""
    return next((m["id"] for m in memberships.memberships.values() if Role(m["role"]).includes(Role.ADMIN)), None)


def reject_replaced_token(invitation: Invitation, token: str) -> None:
    """Raise Problem 410 if a later mail has replaced the token."""
    if not hmac.compare_digest(_token_digest(token), invitation.token_hash):
        raise Problem("invitation_revoked", "The invitation was sent again. Use the link in the latest mail.")


def reject_revoked_or_expired(invitation: Invitation, inviter_memberships: MembershipView) -> None:
    """Raise Problem 410 if the invitation is not valid any more.

    `inviter_memberships`: the inviter's current memberships.
    """
    if invitation.status == "revoked" or (
        invitation.status == "pending" and not is_inviter_valid(invitation, inviter_memberships)
    ):
        raise Problem("invitation_revoked", "The invitation is no longer valid. Ask to be invited again.")
    if invitation.status == "expired":
        raise Problem("invitation_expired", f"It expired at {invitation.expires_at}. Ask to be invited again.")


def reject_other_user(invitation: Invitation, user: User) -> None:
    """Raise Problem `email_mismatch` unless the token's issuer says that the user owns the invited address."""
    if require_verified_email(user) != invitation.email:
        raise Problem("email_mismatch", "It was sent to another address. Sign in as the person who was invited.")


def require_verified_email(user: User) -> str:
    """Return the verified e-mail address of a user. Raises Problem `email_mismatch` if they have none."""
    if email := user.verified_email_or_none:
        return email
    raise Problem("email_mismatch", user.explain_unverified_email())


def container_url_path(invitation: Invitation) -> str:
    """Return the path of the container to which an invitation invites."""
    container_type = invitation.container_type
    return f"/{container_type.kind}s/{invitation.container_ids_by_parameter[container_type.parameter]}"


def reject_role_upgrade(invitation: Invitation, member: ContainerMember) -> None:
    """Raise Problem `already_member` if the invitation's role is above the member's. Invitations change no role."""
    if not Role(member.role).includes(Role(invitation.role)):
        change = f"PATCH {container_url_path(invitation)}/members/{member.user_id}"
        detail = f"You are a member already, as {member.role!r}. An admin can change that: {change}."
        raise Problem("already_member", detail)


def reject_resend_too_soon(invitation: Invitation, timestamp: str) -> None:
    """Raise Problem `rate_limited` if the invitation was sent within the last minute."""
    issued_at = invitation.issued_at or invitation.sent_at or invitation.created_at
    remaining_seconds = MIN_RESEND_INTERVAL_SECONDS - (timestamp_ms(timestamp) - timestamp_ms(issued_at)) // 1000
    if remaining_seconds > 0:
        rate_limit = RateLimit("resend", limit=1, seconds=MIN_RESEND_INTERVAL_SECONDS, per="recipient")
        detail = f"It was sent {issued_at}. Send it again in {remaining_seconds} s."
        raise rate_limit.exceeded_problem(remaining_seconds, detail)


def _token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
