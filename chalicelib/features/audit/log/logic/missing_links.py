"""The links of a log's chains that are neither in its tree nor pending, because somebody removed their entries."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.audit_log.mac_chains import MAX_LINK_NUMBER, SHARDS, ChainEnd, Link
from chalicelib.kernel.audit_log.signed_statements import Statement

_MAX_LISTED: Final = 4096


@dataclass(frozen=True)
class MissingLinks:
    """Links that are neither in the tree nor pending, by shard and number, and the number of further ones."""

    links: frozenset[tuple[int, int]] = frozenset()
    unlisted_count: int = 0

    def intersect(self, later: "MissingLinks") -> "MissingLinks":
        """Return the links that are still missing later."""
        return MissingLinks(self.links & later.links, min(self.unlisted_count, later.unlisted_count))

    @property
    def count(self) -> int:
        """Return the number of missing links."""
        return min(len(self.links) + self.unlisted_count, MAX_LINK_NUMBER)


def list_shards_behind_tree(statement: Statement, ends_by_shard: Mapping[int, ChainEnd]) -> list[int]:
    """Return the chains whose items are behind the tree that a statement describes."""
    return [
        shard for shard, state in statement.shards.items() if ends_by_shard.get(shard, ChainEnd()).number < state.number
    ]


def find_missing_links(
    statement: Statement,
    ends: Mapping[int, ChainEnd],
    pending: AbstractSet[Link],
    current_ends: Mapping[int, ChainEnd],
) -> MissingLinks:
    """Return the links that are neither in the tree nor pending.

    Read the ends first, then the pending links, then the statement, so that concurrent commits do not count as missing.
    `current_ends`: the ends of the chains in `list_shards_behind_tree`, read again. A chain that is still behind the
    tree has been rolled back.
    """
    numbers = {(link.shard, link.number) for link in pending}
    links, unlisted_count = set[tuple[int, int]](), 0
    for shard in range(SHARDS):
        state, end = statement.chain_state(shard), ends.get(shard, ChainEnd())
        rolled_back = (
            max(0, state.number - current_ends.get(shard, ChainEnd()).number) if end.number < state.number else 0
        )
        last_known = state.number if rolled_back else end.number
        ranges = [range(gap.first, min(gap.last, last_known) + 1) for gap in state.gaps]
        for each in [*ranges, range(state.number + 1, end.number + 1)]:
            capacity = max(0, _MAX_LISTED - len(links))
            links |= {(shard, number) for number in each[:capacity]} - numbers
            unlisted_count += len(each[capacity:])
        unlisted_count += rolled_back
    return MissingLinks(frozenset(links), unlisted_count)
