"""Groups: a list over everything a caller is a member of, read a bounded number of memberships at a time.

What belongs to an organization is listed in a partition of that organization, so a list over many organizations is a
Query of each. One request reads those of one group: at most 25 memberships that follow each other. The cursor names the
group and where its list continues; behind the end of a group the next one begins. So items are in order within a group,
and groups are in the order of the memberships.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, Partition

MAX_MEMBERSHIPS: Final = 25
"""Memberships of one group: a request makes a Query for each of them, at the same time."""


@dataclass(frozen=True)
class MembershipGroup:
    """Memberships that follow each other, whose lists one request reads.

    `after`: the sort key of the last membership before the group, "" for the first group. `until`: the sort key of its
    last membership, "" for the last group. `position`: where the list of the group continues, None at its beginning.
    """

    memberships: Sequence[Item] = ()
    after: str = ""
    until: str = ""
    position: Item | None = None

    @property
    def is_first(self) -> bool:
        """Whether no group comes before it: what is listed beside the memberships belongs to it."""
        return not self.after

    def belongs_to_later_group(self, sort_key: str) -> bool:
        """Return whether a membership with this sort key comes in a group behind this one."""
        return bool(self.until) and sort_key > self.until

    def query_merged(self, partitions: Sequence[str | Partition], *, limit: int, **words: Any) -> table.QueryResult:
        """Return a page of the lists of the group, oldest first. `last` leads on, within the group or to the next."""
        found = table.query_merged(partitions, limit=limit, after=self.position, newest_first=False, **words)
        if found.last_evaluated_key:
            return table.QueryResult(found.items, self._parse_position(found.last_evaluated_key))
        behind = {"after": self.until} if self.until else None
        return table.QueryResult(found.items, behind)

    def _parse_position(self, position: Item) -> Item:
        return {name: key for name, key in (("after", self.after), ("until", self.until)) if key} | position


def read_membership_group(memberships: Partition, position: Item | None) -> MembershipGroup:
    """Return the group at a position of a list, by one Query. `memberships`: those of the caller, in an index.

    The group that a position names is read up to its end, so that who leaves an organization between two pages shifts
    no other one out of it. Who enters so many meanwhile that they are more than a group holds finds the last of them in
    the next one.
    """
    at = position or {}
    after, until = at.get("after", ""), at.get("until", "")
    found = table.query(
        memberships, since=table.just_after(after) if after else None, until=until or None, limit=MAX_MEMBERSHIPS
    )
    end = str(found.items[-1][table.sort_key_of(memberships)]) if found.last_evaluated_key and found.items else until
    return MembershipGroup(found.items, after, end, {"at": at["at"]} if "at" in at else None)
