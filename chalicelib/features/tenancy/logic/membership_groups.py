"""Lists over all organizations of a caller, which read a bounded number of memberships at a time.

The records of an organization are listed in its own partition, so a list over many organizations takes a query for
each. A request reads one group of at most 25 successive memberships. The cursor names the group and the position in its
list. After the end of a group the next one starts. So items are ordered within a group, and groups are in the order of
the memberships.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, Partition
from chalicelib.kernel.storage.query_results import QueryResult

MAX_MEMBERSHIPS: Final = 25
"""Memberships in one group. A request queries all of them in parallel."""


@dataclass(frozen=True)
class MembershipGroup:
    """Successive memberships whose lists one request reads.

    They are sorted by organization. `after`: the organization of the last membership before the group, "" for the first
    group. `until`: that of its last membership, "" for the last group. `position`: where the group's list continues,
    None at its beginning.
    """

    memberships: Sequence[Item] = ()
    after: str = ""
    until: str = ""
    position: Item | None = None

    @property
    def is_first_group(self) -> bool:
        """Return whether it is the first group, which includes records outside of organizations."""
        return not self.after

    def belongs_to_later_group(self, organization_id: str) -> bool:
        """Return whether a membership of this organization is in a later group."""
        return bool(self.until) and organization_id > self.until

    def query_page_with_next_position(
        self, partitions: Sequence[str | Partition], *, limit: int, newest_first: bool = False, **options: Any
    ) -> QueryResult:
        """Return a page of the group's lists, merged into one.

        `last_evaluated_key` is the position where the list continues, in this group or the next one.
        """
        order: dict[str, Any] = {"after": self.position, "newest_first": newest_first}
        return self.with_next_position(table.query_merged(partitions, limit=limit, **order, **options))

    def with_next_position(self, result: QueryResult) -> QueryResult:
        """Return a page of the group's list with the position where it continues, in this group or the next one."""
        if result.last_evaluated_key:
            return QueryResult(result.items, self._with_group_bounds(result.last_evaluated_key))
        next_position = {"after": self.until} if self.until else None
        return QueryResult(result.items, next_position)

    def _with_group_bounds(self, position: Item) -> Item:
        return {name: key for name, key in (("after", self.after), ("until", self.until)) if key} | position


def read_membership_group_at_position(memberships_partition: Partition, position: Item | None) -> MembershipGroup:
    """Return the group at a position of a list, with one query. `memberships_partition`: the caller's, in an index.

    A position contains the end of its group. So if the caller leaves an organization between two pages, the group still
    ends at the same membership. If the caller joins more organizations than fit into the group, its last memberships
    move to the next group.
    """
    state = position or {}
    after, until = state.get("after", ""), state.get("until", "")
    result = table.query(
        memberships_partition,
        since=table.lower_bound_after(after) if after else None,
        until=until or None,
        limit=MAX_MEMBERSHIPS,
    )
    end = str(result.items[-1]["organization_id"]) if result.last_evaluated_key and result.items else until
    return MembershipGroup(result.items, after, end, {"at": state["at"]} if "at" in state else None)
