"""HTTP operations on leads, for operators and for the senders of submissions."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.leads.entities import Lead, LeadSubmission
from chalicelib.features.leads.logic.lead_names import list_leads_by_name
from chalicelib.features.leads.logic.lead_status import (
    NEXT_STATUSES,
    note_fields,
    reject_oversized,
    validated_operator_change_fields,
    validated_sender_change_fields,
)
from chalicelib.features.leads.logic.lead_token import LEAD_TOKEN_HEADER, sign_lead_token, verify_lead_token
from chalicelib.features.leads.logic.submission_queries import load_submission_or_none
from chalicelib.features.leads.logic.submission_storage import (
    OpenLeadReference,
    build_unstored_submission,
    create_operator_lead_replacing_open,
    store_submission,
)
from chalicelib.features.leads.models import (
    LeadCreate,
    LeadOut,
    LeadsQuery,
    LeadStatusOptionOut,
    LeadStatusPatch,
    PublicLeadCreate,
    PublicLeadOut,
    PublicLeadStatusPatch,
)
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import Collection, Facet

routes = RouteGroup("leads")

_SENDER_ACCESS: Final = RequireRecordToken("lead-token", LEAD_TOKEN_HEADER, verify_lead_token)
_SUBMISSION_LIMIT: Final = RateLimit("public-leads", limit=10, seconds=60, per="network")
_CHANGE_LIMIT: Final = RateLimit("public-lead-changes", limit=30, seconds=60, per="network")
_STATUS_LIST: Final[Sequence[LeadStatusOptionOut]] = [
    LeadStatusOptionOut(status=status, label=status.capitalize(), terminal=not following, next=[*following])
    for status, following in NEXT_STATUSES.items()
]


@routes.get("/marketing-leads", access=Caller.OPERATOR, scope=None, emits=None)
def list_marketing_leads(ctx: Context, query: LeadsQuery) -> ListPage[LeadOut]:
    """List the leads, newest first, optionally with a status, an email address, or both.

    Use it to work through the people who submitted a form on your website. Leads belong to the operators of the
    service, not to an organization. `q` searches the names of contacts and companies, and e-mail addresses. With `q` or
    `sort=name` a page with filters may be short or empty; the list ends when `nextCursor` is null.
    """
    if query.is_by_name:
        return list_leads_by_name(ctx, query)
    collection: Collection | Facet = Lead.all_leads
    if query.email is not None:
        collection = Lead.by_email_and_status if query.status else Lead.by_email
    elif query.status:
        collection = Lead.by_status
    return ctx.list_records(Lead, collection, query, LeadOut.of, status=query.status, contact_email=query.email)


@routes.post("/marketing-leads", access=Caller.OPERATOR, scope=None, emits="lead.created")
def create_marketing_lead(ctx: Context, body: LeadCreate, open_lead: OpenLeadReference) -> LeadOut:
    """Create a lead. Submissions from the same email address within 24 hours are merged into it.

    Use it for people who contacted you by telephone or in person. The lead then has the same statuses and notes as one
    that was submitted through the public form.
    """
    return LeadOut.of(create_operator_lead_replacing_open(ctx, body, open_lead))


@routes.get("/marketing-leads/statuses", access=Caller.OPERATOR, scope=None, emits=None)
def list_marketing_lead_statuses(ctx: Context, query: SmallListQuery) -> ListPage[LeadStatusOptionOut]:
    """List the statuses that a lead can have, and which can follow which.

    Use it to offer an operator only the changes that are possible. A `terminal` status has no following one.
    """
    return ctx.slice_page(_STATUS_LIST, query)


@routes.get("/marketing-leads/{lead_id}", access=Caller.OPERATOR, scope=None, emits=None)
def get_marketing_lead(_ctx: Context, lead: Lead) -> LeadOut:
    """Get a lead by its id, or by the id of a submission that was merged into it.

    The lead contains the submissions of the address, the notes of operators, and the history of its status.
    """
    return LeadOut.of(lead)


@routes.patch(
    "/marketing-leads/{lead_id}/status",
    access=Caller.OPERATOR,
    scope=None,
    emits="lead.status_changed",
)
def change_marketing_lead_status(ctx: Context, lead: Lead, body: LeadStatusPatch) -> LeadOut:
    """Change the status of a lead and add a note. A status that can't follow the current one is `invalid_transition`.

    A change after which the lead would be larger than 128 KB, with its notes and history, is `limit_exceeded`.
    """
    changed_at, operator_id = _timestamp_after_last_update(ctx, lead), ctx.user.id
    fields = note_fields(lead, body.note, changed_at, operator_id) if body.note else {}
    if body.status != lead.status:
        fields |= validated_operator_change_fields(lead, body.status, changed_at, operator_id)
    lead = ctx.changes.event(ctx.changes.update(lead, **fields))
    reject_oversized(lead)
    return LeadOut.of(lead)


@routes.get("/public/leads", access=_SENDER_ACCESS, scope=None, emits=None)
def list_public_leads(ctx: Context, query: SmallListQuery) -> ListPage[PublicLeadOut]:
    """List the submission to which the header `Lead-Token` gives access. Without the header the list is empty.

    An expired token is `token_expired`.
    """
    submission = load_submission_or_none(ctx.access.token_subject) if ctx.access.token_subject else None
    return ctx.slice_page([PublicLeadOut.of(submission)] if submission else [], query)


@routes.post(
    "/public/leads",
    access=Caller.PUBLIC,
    scope=None,
    emits="lead.created",
    rate_limits=(_SUBMISSION_LIMIT,),
)
def create_public_lead(ctx: Context, body: PublicLeadCreate, open_lead: OpenLeadReference) -> PublicLeadOut:
    """Submit a lead. The response contains the token that gives access to it later, only this once.

    Submissions from one email address within 24 hours form one lead for operators, and separate leads for the sender.
    """
    submission = build_unstored_submission(ctx, body) if body.website else store_submission(ctx, body, open_lead)
    return PublicLeadOut.of(submission, lead_token=sign_lead_token(submission.id, submission.created_at))


@routes.get("/public/leads/statuses", access=Caller.PUBLIC, scope=None, emits=None)
def list_public_lead_statuses(ctx: Context, query: SmallListQuery) -> ListPage[LeadStatusOptionOut]:
    """List the statuses that a lead can have, and which can follow which.

    Use it to show the sender of a submission what its status means. Senders themselves can only withdraw a submission,
    and undo that.
    """
    return ctx.slice_page(_STATUS_LIST, query)


@routes.get("/public/leads/{lead_id}", access=_SENDER_ACCESS, scope=None, emits=None)
def get_public_lead(_ctx: Context, submission: LeadSubmission) -> PublicLeadOut:
    """Get a submission and its status, with the header `Lead-Token`.

    An expired token is `token_expired`. With the token of another submission, the lead is not found.
    """
    return PublicLeadOut.of(submission)


@routes.patch(
    "/public/leads/{lead_id}/status",
    access=_SENDER_ACCESS,
    scope=None,
    emits="lead.status_changed",
    rate_limits=(_CHANGE_LIMIT,),
)
def change_public_lead_status(ctx: Context, submission: LeadSubmission, body: PublicLeadStatusPatch) -> PublicLeadOut:
    """Withdraw a submission, or undo the withdrawal, which makes it `new`. Requires the header `Lead-Token`.

    Any other change is `invalid_transition`, including the withdrawal of a converted, unqualified or spam lead. More
    than 20 changes are `limit_exceeded`. An expired token is `token_expired`.
    """
    lead = submission.lead
    if body.status != submission.status:
        fields = validated_sender_change_fields(
            lead, submission.id, body.status, _timestamp_after_last_update(ctx, lead)
        )
        lead = ctx.changes.event(ctx.changes.update(lead, **fields))
    return PublicLeadOut.of(LeadSubmission.of_lead(lead, submission.id))


def _timestamp_after_last_update(ctx: Context, lead: Lead) -> str:
    """Return the current time, or a later time if the lead was changed at this time or later."""
    return max(ctx.now, after(lead.updated_at, seconds=0.001))
