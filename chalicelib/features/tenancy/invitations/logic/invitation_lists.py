"""The invitations that a caller sees of an organization."""

from collections.abc import Sequence

from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.models import InvitationOut, InvitationsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Facet
from chalicelib.kernel.storage.record_types import record_subtype


def list_invited(
    ctx: Context, organization: Organization, platforms: Sequence[Container], query: InvitationsQuery
) -> ListPage[InvitationOut]:
    """Return a page of an organization's invitations, in the order they were made; with platforms only those to them.

    Each platform takes a Query of an index, all at the same time; what that shows is read from the table, which says
    what has become of it.
    """
    ids = [query.platform_id] if query.platform_id else [platform.id for platform in platforms]
    sources = [_platform_invitations().partition(platform_id=each) for each in ids]
    pk, begins = Invitation.make_item_key(organization_id=organization.id, id="")
    found = table.query_merged(
        sources or [pk],
        limit=query.limit,
        after=ctx.decode_cursor(query),
        since=begins,
        until=f"{begins}~",
        newest_first=False,
    )
    items = table.read_current(found.items) if sources else found.items
    own = [item for item in items if item["organization_id"] == organization.id]
    last = found.last_evaluated_key if own else None  # A platform that was asked for may be another's.
    return ctx.build_page([InvitationOut.of(Invitation.from_item(item)) for item in own], last, query)


def _platform_invitations() -> Facet:
    return record_subtype("platform.invitation", Invitation).of_container
