"""Erasures of an organization: create, and get the progress."""

from collections.abc import Sequence

from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.features.privacy.erasures.logic.named_people import reject_api_key_or_member_with_other_email
from chalicelib.features.privacy.erasures.models import ErasureCreate, ErasureOut
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.logic.members_by_email import find_user_ids_with_emails
from chalicelib.features.tenancy.logic.membership_rules import reject_current_owner_role
from chalicelib.kernel.core.case_folding import email_spellings_by_domain_encoding
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.work import jobs

routes = RouteGroup("organizations")


@routes.post(
    "/organizations/{organization_id}/erasures",
    success=202,
    access=require_organization_role(Role.OWNER),
    scope=None,
    emits="organization.person_erased",
)
def erase_person(ctx: Context, organization: Organization, body: ErasureCreate) -> ErasureOut:
    """Erase a person from members, invitations and the entries of the log, permanently.

    The erasure runs in the background. Poll GET for the record that the 202 returns until it is `completed` or
    `failed`.

    - **What is removed.** The person's memberships, including those of platforms and spaces, and the invitations to
      them. Pending invitations that they sent are revoked. Each log entry that names them loses everything except its
      type, time, position and hash, so the tree and all checkpoints that you kept still verify. Other records and texts
      lose the person's id and address. The erasure's log entry stands for the ends of the memberships, which have no
      entries of their own.
    - **A person without an account.** `actor` names a person whom only your application knows, by the type and id with
      which its events name the person. The entries of these events are erased if the person is the actor, a target or
      the reporter, or if a field of `data` contains the id that the schema marks as `x-personal-data`.
    - **What stays.** API keys that the person created are revoked if they still depend on them. Keys that another admin
      kept continue to work, without a creator. Existing exports stay until they expire; an export whose filters name
      the person expires at once. Deliveries stay, without the parts of responses that name the person. A webhook or log
      stream whose URL names them is disabled.
    - **What is rejected.** The owner cannot be erased: transfer the ownership first (`owner_must_transfer`). The id of
      an API key is not a person's: delete the key instead. At most 10 erasures can be queued or running
      (`limit_exceeded`); completed ones do not count.
    """
    emails = email_spellings_by_domain_encoding(body.email) if body.email else []
    _reject_owner_or_ambiguous_person(ctx, organization, body, emails)
    erasure = Erasure(
        **ctx.new_id_and_time_fields(),
        organization_id=organization.id,
        lease_until=ctx.now,
        step="accounts" if body.email else "addresses" if body.user_id else "records",
        user_ids=[body.user_id] if body.user_id else [],
        emails=emails,
        actor=body.actor.model_dump() if body.actor else None,
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, erasure)
    ctx.changes.event(erasure)
    return ErasureOut.of(erasure)


@routes.get(
    "/organizations/{organization_id}/erasures",
    access=require_organization_role(Role.OWNER),
    scope=None,
    emits=None,
)
def list_erasures(ctx: Context, organization: Organization, query: ListQuery) -> ListPage[ErasureOut]:
    """List the erasures of an organization, newest first.

    Use it to show to an authority when people were erased, or to find an erasure that failed. No erasure says whom it
    erased.
    """
    return ctx.list_records(Erasure, Erasure.in_organization, query, ErasureOut.of, organization_id=organization.id)


@routes.get(
    "/organizations/{organization_id}/erasures/{erasure_id}",
    access=require_organization_role(Role.OWNER),
    scope=None,
    emits=None,
)
def get_erasure(_ctx: Context, erasure: Erasure) -> ErasureOut:
    """Get the progress of an erasure and the number of erased records and entries.

    Use it to answer the person, or to prove to an authority when the erasure was completed. A failed erasure has the
    reason in `error`.
    """
    return ErasureOut.of(erasure)


def _reject_owner_or_ambiguous_person(
    ctx: Context, organization: Organization, body: ErasureCreate, emails: Sequence[str]
) -> None:
    """Raise Problem if the body names nobody, two people, or the owner of the organization."""
    if body.email is None and body.user_id is None and body.actor is None:
        raise ValidationProblem([FieldError("", "required", "Give an email, a userId or an actor.")])
    member_ids = find_user_ids_with_emails(Member, emails, **ctx.container_ids_by_parameter)
    if body.user_id and body.user_id not in member_ids:
        container_ids = {"organization_id": organization.id}
        keys = (
            Member.make_item_key(**container_ids, user_id=body.user_id),
            ApiKey.make_item_key(**container_ids, id=body.user_id),
        )
        reject_api_key_or_member_with_other_email(
            ctx.find_container_records_by_keys(*keys), body.email if member_ids else None
        )
    user_id_of_actor = body.actor.id if body.actor and body.actor.type == "user" else None
    if organization.owner_id in {body.user_id, user_id_of_actor, *member_ids}:
        reject_current_owner_role(Role.OWNER)
