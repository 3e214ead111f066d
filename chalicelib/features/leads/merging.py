"""Where what somebody sends goes: into the lead of their address, while that is open, or into one of its own."""

from chalicelib.features.leads.entities import Lead, Sent, Submission
from chalicelib.features.leads.models import LeadCreate
from chalicelib.features.leads.rules import MERGED_HOURS, merged, takes_more
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.case_folding import email_from_claim
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage.entity import ItemKey, system_log
from chalicelib.kernel.transactions.unique_items import guard_key


def address_said(request: Request) -> list[ItemKey]:
    """Return where it stands which lead is open for the address that a body says, if it could be one."""
    said = request.unvalidated_body.get("contactEmail")
    address = email_from_claim(said.strip()) if isinstance(said, str) else None
    return [_guard(address)] if address else []


def kept(ctx: Context, body: LeadCreate) -> Submission:
    """Keep what somebody sends: in the lead that is open for the address, if it takes more, else in one of its own.

    Two at once get in each other's way, and the later is done again.
    """
    present = _open(ctx, body.contact_email)
    sent = _sent(ctx, body, behind=present.updated_at if present else "")
    if present and takes_more(present, sent):
        lead = ctx.changes.update(present, **merged(present, sent))
    else:
        lead = _begun(ctx, _lead(sent, body, None), present)
    return ctx.changes.create(Submission.within(lead, sent["id"]))


def unkept(ctx: Context, body: LeadCreate) -> Submission:
    """Return what would be kept. A program filled the trap: it is told what everybody is told."""
    sent = _sent(ctx, body)
    return Submission.within(_lead(sent, body, None), sent["id"])


def noted_down(ctx: Context, body: LeadCreate) -> Lead:
    """Keep what an operator notes, in a lead of its own."""
    lead = _lead(_sent(ctx, body), body, ctx.user.id)
    return _begun(ctx, lead, _open(ctx, body.contact_email))


def _open(ctx: Context, address: str) -> Lead | None:
    """Return the lead that is open for an address, if there is one: one read then."""
    guard = ctx.access.prefetched.get(_guard(address))
    if guard is None or guard["until"] <= ctx.now:
        return None
    key = Lead.make_item_key(id=guard["ref"])
    ctx.changes.chains, items = Chains.read_beside(system_log(guard["ref"]), [key])
    return Lead.from_item(items[key]) if key in items else None


def _sent(ctx: Context, body: LeadCreate, behind: str = "") -> Sent:
    """Return what a body says, as it is kept: sent now, but later than a moment."""
    new = ctx.new_record_fields(later_than=behind)
    at = new["created_at"]
    fields = body.model_dump(include={"contact_name", "company_name", "message", "source", "consent"})
    if consent := fields["consent"]:
        consent["given_at"] = consent["given_at"] or at
    return {"id": new["id"], "submitted_at": at, **fields, "status": "new", "history": [{"status": "new", "at": at}]}


def _lead(sent: Sent, body: LeadCreate, by: str | None) -> Lead:
    """Return the lead that begins with what was sent."""
    at = sent["submitted_at"]
    return Lead(
        id=sent["id"],
        created_at=at,
        updated_at=at,
        contact_email=body.contact_email,
        submissions=[sent],
        history=[{"status": "new", "at": at, "by": by}],
        open_until=after(at, hours=MERGED_HOURS),
    )


def _begun(ctx: Context, lead: Lead, instead_of: Lead | None) -> Lead:
    """Let a lead be there, and be the one that is open for its address, instead of another if there is one."""
    if instead_of:
        ctx.changes.update_untracked(instead_of, open_until=None)
    return ctx.changes.create(lead)


def _guard(address: str) -> ItemKey:
    return guard_key(Lead.by_address, {"contact_email": address})
