"""Erasures of an organization: start one, and see how far it is."""

from collections.abc import Sequence

from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.features.privacy.erasures.logic import refuse_other
from chalicelib.features.privacy.erasures.models import ErasureCreate, ErasureOut
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization, at_organization
from chalicelib.features.tenancy.logic.members_by_email import users_with_address
from chalicelib.features.tenancy.logic.membership_rules import refuse_owner
from chalicelib.kernel.core.case_folding import address_spellings
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")


@routes.post(
    "/organizations/{organization_id}/erasures",
    success=202,
    access=at_organization(Role.OWNER),
    scope=None,
    emits="organization.person_erased",
)
def erase_person(ctx: Context, organization: Organization, body: ErasureCreate) -> ErasureOut:
    """Erase a person: their data leaves members, invitations and the log's entries, for good.

    It is done in the background: ask GET for the record that the 202 answers until it is `completed` or `failed`.

    - **What goes.** Their memberships, also of platforms and spaces, and the invitations to them; what they invited and
      nobody accepted is revoked. Every entry of the log that names them loses all but its type, time, place and hash,
      so the tree and every checkpoint you kept still verify. Other records and texts lose their id and address. That a
      membership ended has no entry of its own: the erasure's entry stands for it.
    - **What stays.** API keys that they made are revoked if they rest on them still; those that another admin kept work
      on, without a creator. Exports made before keep what they hold until
      they expire; only one whose filters name the person expires at once. Deliveries stay, without what an answer said
      of the person; a webhook whose URL names them is disabled.
    - **What is refused.** The owner can't be erased: transfer the ownership first (`owner_must_transfer`). The id
      of an API key is no person's: delete the key instead. At most 10 erasures are queued or running
      (`limit_exceeded`); a completed one doesn't count.
    """
    emails = address_spellings(body.email) if body.email else []
    _refuse(ctx, organization, body, emails)
    erasure = Erasure(
        **ctx.new_record_fields(),
        organization_id=organization.id,
        turn_at=ctx.now,
        step="accounts" if body.email else "addresses",
        user_ids=[body.user_id] if body.user_id else [],
        emails=emails,
    )
    ctx.changes.enqueue_after_commit(Erasure.task, ctx.changes.create(erasure))
    return ErasureOut.of(erasure)


@routes.get(
    "/organizations/{organization_id}/erasures/{erasure_id}",
    access=at_organization(Role.OWNER),
    scope=None,
    emits=None,
)
def get_erasure(_ctx: Context, erasure: Erasure) -> ErasureOut:
    """Get an erasure: how far it is, and how much it erased."""
    return ErasureOut.of(erasure)


def _refuse(ctx: Context, organization: Organization, body: ErasureCreate, emails: Sequence[str]) -> None:
    """Raise Problem if nobody is named, or who is not one person, or who owns the organization."""
    if body.email is None and body.user_id is None:
        raise ValidationProblem([FieldError("", "required", "Say who: give an email or a userId.")])
    named = users_with_address(Member, emails, **ctx.ids)
    if body.user_id and body.user_id not in named:
        here = {"organization_id": organization.id}
        keys = Member.make_item_key(**here, user_id=body.user_id), ApiKey.make_item_key(**here, id=body.user_id)
        refuse_other(ctx.find_all(*keys), body.email if named else None)
    if organization.owner_id in {body.user_id, *named}:
        refuse_owner(Role.OWNER)
