"""List leads in alphabetical order, and search them by name."""

from chalicelib.features.leads.entities import Lead
from chalicelib.features.leads.models import LeadOut, LeadsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.name_lists import list_records_by_name
from chalicelib.kernel.operations.results import ListPage


def list_leads_by_name(ctx: Context, query: LeadsQuery) -> ListPage[LeadOut]:
    """Return a page of the leads that a query finds by name, without those that do not match its filters."""

    def to_output(lead: Lead) -> LeadOut | None:
        matches = query.status in (None, lead.status) and query.email in (None, lead.contact_email)
        return LeadOut.of(lead) if matches else None

    return list_records_by_name(ctx, Lead, query, to_output, Lead.name_indexes)
