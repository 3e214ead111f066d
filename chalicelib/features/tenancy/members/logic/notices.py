"""Notices to people about changes of their membership."""

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from chalicelib.features.tenancy.members.entities import MembershipChange, MembershipNotice
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.work import jobs


def notify_member(
    ctx: Context, organization: Organization, member: Member, change: MembershipChange, role: str | None = None
) -> None:
    """Send a mail to a member after the commit, unless they made the change themselves or have no verified address.

    `member`: the membership before the change. Call it after the change was declared, which the log entry is about.
    """
    address = member.verified_email_or_none
    is_wanted = settings().mail_from and organization.notifications
    if address is None or not is_wanted or member.user_id == ctx.principal_or_anonymous.id:
        return
    notice = MembershipNotice(
        **ctx.new_id_and_time_fields(),
        organization_id=organization.id,
        change=change,
        user_id=member.user_id,
        email=address,
        role=role,
        former_role=member.role if role else None,
        recipient_hash=email_hmac_bytes(address).hex(),
        lease_until=ctx.now,
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, notice)
