"""Leads: as operators see them, and as each who sent one sees theirs."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.leads.entities import Lead, Submission
from chalicelib.features.leads.finding import submission_of
from chalicelib.features.leads.merging import address_said, kept, noted_down, unkept
from chalicelib.features.leads.models import (
    LeadCreate,
    LeadOut,
    LeadsQuery,
    LeadStatusOut,
    LeadStatusPatch,
    PublicLeadCreate,
    PublicLeadOut,
    PublicLeadStatusPatch,
)
from chalicelib.features.leads.rules import NEXT, changed, changed_by_sender, noted, refuse_excess
from chalicelib.features.leads.signing import HEADER, named_by, token_of
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import Caller, ListPage, RequireRecordToken, RouteGroup
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("leads")

_SENDER: Final = RequireRecordToken("lead-token", HEADER, named_by)
_CREATIONS: Final = RateLimit("public-leads", limit=10, seconds=60, per="network")
_CHANGES: Final = RateLimit("public-lead-changes", limit=30, seconds=60, per="network")
_STATUSES: Final[Sequence[LeadStatusOut]] = [
    LeadStatusOut(status=status, label=status.capitalize(), terminal=not following, next=[*following])
    for status, following in NEXT.items()
]


def submission_named(request: Request) -> list[ItemKey]:
    """Return where it stands that the path's id is of something that was sent."""
    return [Submission.make_item_key(id=request.parameters["lead_id"])]


def lead_named(request: Request) -> list[ItemKey]:
    """Return where the lead stands that begins with what the path names."""
    return [Lead.make_item_key(id=request.parameters["lead_id"])]


@routes.get("/marketing-leads", access=Caller.OPERATOR, scope=None, emits=None)
def list_marketing_leads(ctx: Context, query: LeadsQuery) -> ListPage[LeadOut]:
    """List all leads, newest first; or those with a status, of an address, or both."""
    of_address = Lead.by_both if query.status else Lead.by_email
    filtered = of_address if query.email is not None else Lead.by_status if query.status else None
    names = {"status": query.status, "contact_email": query.email}
    return ctx.list_records(Lead, filtered or Lead.listed, query, LeadOut.of, **names)


@routes.post("/marketing-leads", access=Caller.OPERATOR, scope=None, emits="lead.created", prefetch=address_said)
def create_marketing_lead(ctx: Context, body: LeadCreate) -> LeadOut:
    """Note a lead. It is one of its own, and what the same address sends within 24 hours is merged into it."""
    return LeadOut.of(noted_down(ctx, body))


@routes.get("/marketing-leads/statuses", access=Caller.OPERATOR, scope=None, emits=None)
def list_marketing_lead_statuses(ctx: Context, query: SmallListQuery) -> ListPage[LeadStatusOut]:
    """List the statuses that a lead can have, and which can follow which."""
    return ctx.slice_page(_STATUSES, query)


@routes.get("/marketing-leads/{lead_id}", access=Caller.OPERATOR, scope=None, emits=None, prefetch=submission_named)
def get_marketing_lead(_ctx: Context, lead: Lead) -> LeadOut:
    """Get a lead; by the id of something that was merged into one, that one."""
    return LeadOut.of(lead)


@routes.patch(
    "/marketing-leads/{lead_id}/status",
    access=Caller.OPERATOR,
    scope=None,
    emits="lead.status_changed",
    prefetch=submission_named,
)
def change_marketing_lead_status(ctx: Context, lead: Lead, body: LeadStatusPatch) -> LeadOut:
    """Give a lead another status, and add a note. What can't follow the present one is `invalid_transition`.

    A lead keeps up to 128 KB with its notes and history: more is `limit_exceeded`.
    """
    at, by = _moment(ctx, lead), ctx.user.id
    fields = noted(lead, body.note, at, by) if body.note else {}
    if body.status != lead.status:
        fields |= changed(lead, body.status, at, by)
    lead = ctx.changes.update(lead, **fields)
    refuse_excess(lead)
    return LeadOut.of(lead)


@routes.get("/public/leads", access=_SENDER, scope=None, emits=None)
def list_public_leads(ctx: Context, query: SmallListQuery) -> ListPage[PublicLeadOut]:
    """List what the header `Lead-Token` opens; without one that is nothing.

    A token that has ended is `token_expired`.
    """
    found = submission_of(ctx.access.token_subject) if ctx.access.token_subject else None
    return ctx.slice_page([PublicLeadOut.of(found)] if found else [], query)


@routes.post(
    "/public/leads",
    access=Caller.PUBLIC,
    scope=None,
    emits="lead.created",
    prefetch=address_said,
    rate_limits=(_CREATIONS,),
)
def create_public_lead(ctx: Context, body: PublicLeadCreate) -> PublicLeadOut:
    """Send what one is interested in; the answer holds the token to come back to it, once.

    What the same address sends within 24 hours is one lead for operators, and each time a lead of its own here.
    """
    submission = unkept(ctx, body) if body.website else kept(ctx, body)
    return PublicLeadOut.of(submission, lead_token=token_of(submission.id, submission.created_at))


@routes.get("/public/leads/statuses", access=Caller.PUBLIC, scope=None, emits=None)
def list_public_lead_statuses(ctx: Context, query: SmallListQuery) -> ListPage[LeadStatusOut]:
    """List the statuses that a lead can have, and which can follow which."""
    return ctx.slice_page(_STATUSES, query)


@routes.get("/public/leads/{lead_id}", access=_SENDER, scope=None, emits=None, prefetch=lead_named)
def get_public_lead(_ctx: Context, submission: Submission) -> PublicLeadOut:
    """Get what one sent, and what has become of it, with the header `Lead-Token`.

    A token that has ended is `token_expired`; to that of something else it is not there.
    """
    return PublicLeadOut.of(submission)


@routes.patch(
    "/public/leads/{lead_id}/status",
    access=_SENDER,
    scope=None,
    emits="lead.status_changed",
    prefetch=lead_named,
    rate_limits=(_CHANGES,),
)
def change_public_lead_status(ctx: Context, submission: Submission, body: PublicLeadStatusPatch) -> PublicLeadOut:
    """Withdraw what one sent, with the header `Lead-Token`; or bring it back, which makes it `new`.

    Anything else is `invalid_transition`; so is withdrawing what is converted, unqualified or spam. After 20 changes it
    stays as it is: `limit_exceeded`. A token that has ended is `token_expired`.
    """
    lead = submission.lead
    if body.status != submission.status:
        fields = changed_by_sender(lead, submission.id, body.status, _moment(ctx, lead))
        lead = ctx.changes.update(lead, **fields)
    return PublicLeadOut.of(Submission.within(lead, submission.id))


def _moment(ctx: Context, lead: Lead) -> str:
    return max(ctx.now, after(lead.updated_at, seconds=0.001))
