"""The members of a place, of whatever kind, as they are listed."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.logic.membership_rules import shown_to
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.authorization.memberships import departure_key, is_current_membership
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection


def list_joined(ctx: Context, kind: type[Joined], listed: Collection, query: ListQuery) -> ListPage[MemberOut]:
    """Return a page of the members of the place at hand, as the table has them.

    The list is an index's, which says only who is looked at: what they are, and whether they are it still, the table
    says. Who has left a place above is none any more, and so those departures are read too, beside the list: they are
    few, and go within minutes.
    """
    above = [place.item_key for place in ctx.access.ancestors.values()]
    asks: list[Callable[[], Any]] = [
        partial(
            table.query,
            listed.partition(**ctx.ids),
            after=ctx.decode_cursor(query),
            limit=query.limit,
            attributes=("pk", "sk"),
        ),
        *(partial(table.query_all, *departure_key(key, "")) for key in above),
    ]
    found, *left = table.gather(lambda ask: ask(), asks)
    stored = table.read_current(found.items)
    items = {(item["pk"], item["sk"]): item for item in chain(stored, *left)}
    present = [item for item in stored if is_current_membership(item["user_id"], (item["pk"], ""), above, items)]
    return ctx.build_page([*map(shown_to(ctx), map(kind.from_item, present))], found.last_evaluated_key, query)
