"""Lists of the invitations that a caller can see."""

from collections.abc import Sequence

from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.models import InvitationOut, InvitationsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Facet
from chalicelib.kernel.storage.record_types import get_record_type_of_base


def list_visible_invitations(
    ctx: Context, organization: Organization, only_to_platforms: Sequence[Container], query: InvitationsQuery
) -> ListPage[InvitationOut]:
    """Return a page of an organization's invitations, in order of creation. With platforms, only invitations to them.

    Each platform takes a query of an index, all in parallel. The invitations' current state is then read from the
    table.
    """
    ids = [query.platform_id] if query.platform_id else [platform.id for platform in only_to_platforms]
    sources = [_invitations_by_platform_index().partition(platform_id=each) for each in ids]
    pk, prefix = Invitation.make_item_key(organization_id=organization.id, id="")
    result = table.query_merged(
        sources or [pk],
        limit=query.limit,
        after=ctx.decode_cursor(query),
        since=prefix,
        until=f"{prefix}~",
        newest_first=False,
    )
    items = table.read_current(result.items) if sources else result.items
    own = [item for item in items if item["organization_id"] == organization.id]
    last = result.last_evaluated_key if own else None  # The requested platform may belong to another organization.
    return ctx.build_page([InvitationOut.of(Invitation.from_item(item)) for item in own], last, query)


def _invitations_by_platform_index() -> Facet:
    return get_record_type_of_base("platform.invitation", Invitation).of_container
