"""Lists of the members of a container."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from chalicelib.features.tenancy.entities.memberships import ContainerMember, Member
from chalicelib.features.tenancy.logic.membership_rules import can_see_all_emails, create_member_presenter
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.authorization.memberships import descendant_revocation_marker_key, has_unrevoked_membership
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.name_lists import list_records_by_name
from chalicelib.kernel.http.models import NamedListQuery, SortedListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection


def list_members(
    ctx: Context, membership_type: type[ContainerMember], collection: Collection, query: SortedListQuery
) -> ListPage[MemberOut]:
    """Return a page of the members of the current container.

    The index only determines which members to read; their current state is read from the table. A user who left an
    ancestor is no longer a member, so the revocation markers of the ancestors are read too. There are few of them, and
    they last for minutes.
    """
    ancestor_keys = [ancestor.item_key for ancestor in ctx.access.ancestors.values()]
    queries: list[Callable[[], Any]] = [
        partial(
            table.query,
            collection.partition(**ctx.container_ids_by_parameter),
            after=ctx.decode_cursor(query),
            limit=query.limit,
            newest_first=query.is_newest_first(),
            attributes=("pk", "sk"),
        ),
        *(partial(table.query_all, *descendant_revocation_marker_key(key, "")) for key in ancestor_keys),
    ]
    page, *markers = table.gather(lambda run: run(), queries)
    stored = table.read_current(page.items)
    items = {(item["pk"], item["sk"]): item for item in chain(stored, *markers)}
    current = [
        item for item in stored if has_unrevoked_membership(item["user_id"], (item["pk"], ""), ancestor_keys, items)
    ]
    return ctx.build_page(
        [*map(create_member_presenter(ctx), map(membership_type.from_item, current))], page.last_evaluated_key, query
    )


def list_members_by_name(ctx: Context, query: NamedListQuery) -> ListPage[MemberOut]:
    """Return a page of the current organization's members that a query finds by name, or of all in alphabetical order.

    The e-mail addresses count only for callers who see them all.
    """
    indexes = Member.name_indexes if can_see_all_emails(ctx) else [Member.names_for_all]
    present = create_member_presenter(ctx)
    return list_records_by_name(ctx, Member, query, present, indexes, **ctx.container_ids_by_parameter)
