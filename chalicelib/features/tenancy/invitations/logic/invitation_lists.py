"""Lists of the invitations that a caller can see."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.models import InvitationOut, InvitationsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Facet, Item
from chalicelib.kernel.storage.record_types import get_record_type_of_base

_FILTERED_PAGE_SIZE: Final = 100


def list_visible_invitations(
    ctx: Context, organization: Organization, only_to_platforms: Sequence[Container], query: InvitationsQuery
) -> ListPage[InvitationOut]:
    """Return a page of an organization's invitations, in order of creation. With platforms, only invitations to them.

    Each platform takes a query of an index, all in parallel. The invitations' current state is then read from the
    table. A page that is filtered by address or status reads at least 100 invitations.
    """
    ids = [query.platform_id] if query.platform_id else [platform.id for platform in only_to_platforms]
    sources = [_invitations_by_platform_index().partition(platform_id=each) for each in ids]
    pk, prefix = Invitation.make_item_key(organization_id=organization.id, id="")
    is_filtered = query.email is not None or query.status is not None
    scanned_organization_ids: set[str] = set()

    def may_match(item: Item) -> bool:
        scanned_organization_ids.add(item["organization_id"])
        # An index may show a former status.
        return query.email in (None, item["email"]) if sources else _is_match(query, item)

    result = table.query_matching(
        sources or [pk],
        may_match,
        limit=query.limit,
        max_scanned=max(query.limit, _FILTERED_PAGE_SIZE) if is_filtered else query.limit,
        after=ctx.decode_cursor(query),
        since=prefix,
        until=f"{prefix}~",
        newest_first=False,
    )
    items = table.read_current(result.items) if sources else result.items
    own = [item for item in items if item["organization_id"] == organization.id and _is_match(query, item)]
    # The requested platform may belong to another organization.
    last = result.last_evaluated_key if organization.id in scanned_organization_ids else None
    return ctx.build_page([InvitationOut.of(Invitation.from_item(item)) for item in own], last, query)


def _is_match(query: InvitationsQuery, item: Item) -> bool:
    invitation = Invitation.from_item(item)
    return query.matches(invitation.email, invitation.status)


def _invitations_by_platform_index() -> Facet:
    return get_record_type_of_base("platform.invitation", Invitation).of_container
