"""Store submissions: in the open lead of the email address if there is one, otherwise in a new lead."""

from chalicelib.features.leads.entities import Lead, LeadSubmission, StoredSubmission
from chalicelib.features.leads.logic.lead_status import (
    MERGE_WINDOW_HOURS,
    has_room_for_submission,
    merged_submission_fields,
)
from chalicelib.features.leads.models import LeadCreate
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.log_ids import system_log_id
from chalicelib.kernel.transactions.unique_items import guard_key


class OpenLeadReference(Prefetched):
    """The item that maps the email address in the body to its open lead."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the item."""
        email_address = values.body_field_or_none("contact_email")
        return [_open_lead_reference_key(email_address)] if email_address else []


def store_submission(ctx: Context, body: LeadCreate, reference: OpenLeadReference) -> LeadSubmission:
    """Store a submission: in the open lead of the email address if it has room, otherwise in a new lead.

    Concurrent submissions from one address conflict, and the later one is retried.
    """
    open_lead = _load_open_lead_or_none(ctx, reference)
    submission = _build_submission(ctx, body, after_timestamp=open_lead.updated_at if open_lead else "")
    if open_lead and has_room_for_submission(open_lead, submission):
        ctx.changes.event(open_lead)
        lead = ctx.changes.update(open_lead, **merged_submission_fields(open_lead, submission))
    else:
        lead = _create_lead_replacing_open(ctx, _new_lead(submission, body, None), open_lead)
    return ctx.changes.create(LeadSubmission.of_lead(lead, submission["id"]))


def build_unstored_submission(ctx: Context, body: LeadCreate) -> LeadSubmission:
    """Return a submission that is not stored, so that a bot in the honeypot gets the usual response."""
    submission = _build_submission(ctx, body)
    return LeadSubmission.of_lead(_new_lead(submission, body, None), submission["id"])


def create_operator_lead_replacing_open(ctx: Context, body: LeadCreate, reference: OpenLeadReference) -> Lead:
    """Create a lead on behalf of an operator. It replaces the open lead of the email address."""
    lead = _new_lead(_build_submission(ctx, body), body, ctx.user.id)
    return _create_lead_replacing_open(ctx, lead, _load_open_lead_or_none(ctx, reference))


def _load_open_lead_or_none(ctx: Context, reference: OpenLeadReference) -> Lead | None:
    """Return the open lead of an email address, or None. Also loads the log chains of the lead."""
    email_item = reference.first_item_or_none
    if email_item is None or email_item["until"] <= ctx.now:
        return None
    lead_id = email_item["ref"]
    key = Lead.make_item_key(id=lead_id)
    ctx.changes.chains, items = Chains.read_with(system_log_id(lead_id), [key])
    return Lead.from_item(items[key]) if key in items else None


def _build_submission(ctx: Context, body: LeadCreate, after_timestamp: str = "") -> StoredSubmission:
    """Return the submission in a body, received now but later than `after_timestamp`."""
    record_fields = ctx.new_id_and_time_fields(later_than=after_timestamp)
    submitted_at = record_fields["created_at"]
    fields = body.model_dump(include={"contact_name", "company_name", "message", "source", "consent"})
    if consent := fields["consent"]:
        consent["given_at"] = consent["given_at"] or submitted_at
    history = [{"status": "new", "at": submitted_at}]
    return {"id": record_fields["id"], "submitted_at": submitted_at, **fields, "status": "new", "history": history}


def _new_lead(submission: StoredSubmission, body: LeadCreate, operator_id: str | None) -> Lead:
    """Return a new lead with its first submission."""
    submitted_at = submission["submitted_at"]
    return Lead(
        id=submission["id"],
        created_at=submitted_at,
        updated_at=submitted_at,
        contact_email=body.contact_email,
        submissions=[submission],
        history=[{"status": "new", "at": submitted_at, "by": operator_id}],
        open_until=after(submitted_at, hours=MERGE_WINDOW_HOURS),
    )


def _create_lead_replacing_open(ctx: Context, lead: Lead, open_lead: Lead | None) -> Lead:
    """Create a lead that becomes the open lead of its email address. Close the lead that was open, if any."""
    if open_lead:
        ctx.changes.update_untracked(open_lead, open_until=None)
    return ctx.changes.event(ctx.changes.create(lead))


def _open_lead_reference_key(email_address: str) -> ItemKey:
    return guard_key(Lead.open_by_email, {"contact_email": email_address})
