"""An invitation's token, and what it may be told: pure decisions.

A token names its invitation and the sending it came with, and carries a tag by which the service knows that it made it.
So it is found in one read, and the link in a mail can be derived again, while the table holds only its SHA-256.
"""

import hashlib
import hmac
import re
from typing import Any, Final
from uuid import UUID

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation, InvitationMail
from chalicelib.features.tenancy.models.settings import TenancySettings
from chalicelib.kernel.authorization.memberships import MembershipView
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.crypto import signatures
from chalicelib.kernel.identity.email_hashes import keyed_hash
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitBucket, rate_limited
from chalicelib.kernel.storage.entity import ItemKey

ACCEPTANCE: Final = "/organizations/invitations/acceptance"
RESEND_SECONDS: Final = 60

INVITATION_BUDGETS: Final = (
    RateLimit("invitations", limit=120, seconds=3600, per="principal"),
    RateLimit("invitations-of-organization", limit=240, seconds=3600, per="organization"),
)
"""How often somebody may be invited, or be sent an invitation again; revoking gives nothing back."""

_MAILS_TO_RECIPIENT: Final = (
    RateLimit("mails-an-hour", limit=5, seconds=3600, per="recipient"),
    RateLimit("mails-a-day", limit=20, seconds=86_400, per="recipient"),
)
"""How many mails an address gets from all organizations together."""

_NEW_DAYS: Final = 1
"""For so long an organization counts as new, unless somebody accepts an invitation of its."""

_MOST_NAME_CHARACTERS: Final = 60
_LINK: Final = re.compile(r"://|@|www[.\u3002\uff0e\uff61]|\w[.\u3002\uff0e\uff61][^\W\d_]{2}", re.IGNORECASE)

_UUID_BYTES: Final = 16
_SENDING_BYTES: Final = 4
_NAMED_BYTES: Final = 2 * _UUID_BYTES + _SENDING_BYTES
_CONTEXT: Final = "invitation"


def issue(
    organization_id: str, invitation_id: str, sending: int, days: int, moment: str, *, mailed: bool = True
) -> dict[str, Any]:
    """Return the fields of an invitation that is sent, for that time, at a moment; `mailed`: whether its mail is."""
    secret = token_of(organization_id, invitation_id, sending)
    return {
        "sending": sending,
        "token_hash": _digest(secret),
        "issued_at": moment,
        "sent_at": moment if mailed else None,
        "expires_at": after(moment, days=days),
    }


def mails_to(address: str) -> list[RateLimitBucket]:
    """Return where it is counted how many invitations were mailed to an address, by whomever."""
    recipient = keyed_hash(address).hex()
    return [budget.bucket_for(recipient) for budget in _MAILS_TO_RECIPIENT]


def is_established(organization: Organization, moment: str) -> bool:
    """Return whether mails may carry what an organization's people wrote: anybody founds one, and nobody joined yet."""
    return bool(organization.invitation_accepted_at) or after(organization.created_at, days=_NEW_DAYS) <= moment


def plain_name(name: str | None) -> str | None:
    """Return a name if it is no more than that; None if it is as long as a message, or a mail program may link it."""
    return name if name and len(name) <= _MOST_NAME_CHARACTERS and not _LINK.search(name) else None


def token_of(organization_id: str, invitation_id: str, sending: int) -> str:
    """Return the token that a sending of an invitation brings."""
    return signatures.sign_token(_claim(organization_id, invitation_id, sending), _CONTEXT)


def token_sent(mail: InvitationMail) -> str | None:
    """Return the token that a mail is to bring: the one that was made for it; None if its key is listed no more."""
    claim = _claim(mail.organization_id, mail.invitation_id, mail.sending)
    return signatures.reissue_token(claim, _CONTEXT, mail.token_key)


def _claim(organization_id: str, invitation_id: str, sending: int) -> bytes:
    return UUID(organization_id).bytes + UUID(invitation_id).bytes + sending.to_bytes(_SENDING_BYTES, "big")


def accept_url(token: str) -> str:
    """Return the link that brings a token."""
    page = section(TenancySettings).invitation_url or settings().public_url + ACCEPTANCE
    return f"{page}{'&' if '?' in page else '?'}token={token}"


def named(token: str) -> ItemKey | None:
    """Return where the invitation that a token names is stored, or None if the service did not make the token."""
    claim = signatures.verify_token(token, _NAMED_BYTES, _CONTEXT)
    if claim is None:
        return None
    organization, invitation = UUID(bytes=claim[:_UUID_BYTES]), UUID(bytes=claim[_UUID_BYTES : 2 * _UUID_BYTES])
    return Invitation.make_item_key(organization_id=str(organization), id=str(invitation))


def vouched(invitation: Invitation, inviter: MembershipView) -> bool:
    """Return whether its inviter is a member still, by the same membership, and could grant its role today.

    What an API key invited is the organization's: it needs nobody to stand for it.
    """
    if invitation.invited_as is None:
        return True
    role = inviter.roles.get(invitation.container_type)
    if role is None or invitation.invited_as not in {held["id"] for held in inviter.memberships.values()}:
        return False
    return role.includes(Role(invitation.role))


def vouching(standing: MembershipView) -> str | None:
    """Return the id of the membership that lets somebody invite: the outermost that makes them an admin."""
    return next((m["id"] for m in standing.memberships.values() if Role(m["role"]).includes(Role.ADMIN)), None)


def refuse_dead(invitation: Invitation, token: str, inviter: MembershipView) -> None:
    """Raise Problem 410 if the token leads nowhere any more. `inviter`: what they are now."""
    if not hmac.compare_digest(_digest(token), invitation.token_hash):
        raise Problem("invitation_revoked", "The invitation was sent again since. Use the link of the latest mail.")
    if invitation.status == "revoked" or (invitation.status == "pending" and not vouched(invitation, inviter)):
        raise Problem("invitation_revoked", "The invitation holds no longer. Ask to be invited again.")
    if invitation.status == "expired":
        raise Problem("invitation_expired", f"It expired at {invitation.expires_at}. Ask to be invited again.")


def refuse_other(invitation: Invitation, user: User) -> None:
    """Raise Problem `email_mismatch` unless the user is seen to own the invited address."""
    if not (user.email and user.email_verified):
        detail = "Your credential has no verified e-mail address. Verify it where you sign in, then send a new one."
        raise Problem("email_mismatch", detail)
    if user.email != invitation.email:
        raise Problem("email_mismatch", "It was sent to another address. Sign in as the person who was invited.")


def path_of(invitation: Invitation) -> str:
    """Return the path of the place that an invitation invites to."""
    return f"/{invitation.container_type.kind}s/{invitation.container_ids[invitation.container_type.parameter]}"


def refuse_raise(invitation: Invitation, member: Joined) -> None:
    """Raise Problem `already_member` if the invitation's role is above the one that a member has: it changes none."""
    if not Role(member.role).includes(Role(invitation.role)):
        change = f"PATCH {path_of(invitation)}/members/{member.user_id}"
        detail = f"You are a member already, as {member.role!r}. An admin can change that: {change}."
        raise Problem("already_member", detail)


def refuse_early(invitation: Invitation, moment: str) -> None:
    """Raise Problem `rate_limited` if the invitation was sent within the last minute."""
    issued_at = invitation.issued_at or invitation.sent_at or invitation.created_at
    left = RESEND_SECONDS - (timestamp_ms(moment) - timestamp_ms(issued_at)) // 1000
    if left > 0:
        raise rate_limited("resend", 1, RESEND_SECONDS, left, f"It was sent {issued_at}. Send it again in {left} s.")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
