"""Erasures of an organization: start one, and see how far it is."""

from chalicelib.features.erasures.entities import Erasure
from chalicelib.features.erasures.models import ErasureCreate, ErasureOut
from chalicelib.features.members.entities import Member
from chalicelib.features.members.rules import refuse_owner
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.context import Context
from chalicelib.kernel.operation import RouteGroup
from chalicelib.kernel.problems import FieldError, Invalid
from chalicelib.kernel.roles import Role

routes = RouteGroup("organizations")


@routes.post(
    "/organizations/{organization_id}/erasures",
    success=202, needs=at_organization(Role.OWNER), scope=None, emits="organization.person_erased",
)  # fmt: skip
def erase_person(ctx: Context, organization: Organization, body: ErasureCreate) -> ErasureOut:
    """Erase a person: their data leaves members, invitations and the log's entries, for good.

    An email means every user who was seen to own it here; to a user belong all addresses they were seen to own. What
    names one of them is erased: membership and invitations go, texts lose the address, API keys their creator. An
    erased entry keeps its place and its leaf's hash, so the tree still verifies, and so does every checkpoint kept. The
    owner can't be erased: transfer the ownership first. Exports made before keep what they hold until they expire.
    """
    if body.email is None and body.user_id is None:
        raise Invalid([FieldError("", "required", "Say who: give an email or a userId.")])
    named = ctx.among(Member, Member.by_email, 10, email=body.email) if body.email else []
    if organization.owner_id in {body.user_id, *(member.user_id for member in named)}:
        refuse_owner(Role.OWNER)
    erasure = Erasure(
        **ctx.new(), organization_id=organization.id, turn_at=ctx.now, step="accounts" if body.email else "addresses",
        user_ids=[body.user_id] if body.user_id else [], emails=[body.email] if body.email else [],
    )  # fmt: skip
    ctx.changes.start(Erasure.task, ctx.changes.create(erasure))
    return ErasureOut.of(erasure)


@routes.get(
    "/organizations/{organization_id}/erasures/{erasure_id}",
    needs=at_organization(Role.OWNER), scope=None, emits=None,
)  # fmt: skip
def get_erasure(_ctx: Context, erasure: Erasure) -> ErasureOut:
    """Get an erasure: how far it is, and how much it erased."""
    return ErasureOut.of(erasure)
