"""In whichever order entries come into the tree, nothing but what was taken away is missing, and a fork shows."""

from hashlib import sha256
from itertools import islice, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.audit_log.mac_chains import ChainEnd, Link, LinkWithMac
from chalicelib.kernel.audit_log.signed_statements import MAX_GAPS, Statement

BRANCHED = 5
"""The number of the first link of which there are two."""


def mac(n: int) -> bytes:
    return bytes(4) + sha256(bytes([n % 256, n // 256])).digest()


def committed(shards: list[int]) -> list[LinkWithMac]:
    """Return the links of entries that were committed one after the other, each in a shard."""
    ends: dict[int, ChainEnd] = {}
    links = []
    for n, shard in enumerate(shards, 1):
        end = ends.get(shard, ChainEnd())
        links.append(LinkWithMac(Link(shard, end.number + 1, end.mac), mac(n)))
        ends[shard] = ChainEnd(end.number + 1, mac(n))
    return links


def ends_of(links: list[LinkWithMac]) -> dict[int, ChainEnd]:
    return {link.shard: ChainEnd(link.number, mac) for link, mac in links}


def suppressed(statement: Statement, ends: dict[int, ChainEnd], waiting: list[LinkWithMac]) -> int:
    return statement.lost + statement.find_missing(ends, {each.link for each in waiting}, {}).count


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_of_what_was_committed_only_what_was_taken_away_is_missing(shards: list[int], data: st.DataObject) -> None:
    links = committed(shards)
    gone = data.draw(st.sets(st.sampled_from(links)))
    left = iter(data.draw(st.permutations([link for link in links if link not in gone])))
    statement = Statement()
    while batch := [*islice(left, data.draw(st.integers(1, 9)))]:
        statement = statement.extend(batch)
        assert Statement.from_lines(statement.to_lines()) == statement
    assert suppressed(statement, ends_of(links), [*left]) == len(gone)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_a_statement_that_begins_later_accounts_for_the_rest(
    shards: list[int], known: int, data: st.DataObject
) -> None:
    links = committed(shards)
    before, later = links[:known], links[known:]
    waiting = data.draw(st.sets(st.sampled_from(before))) if before else set()
    statement = Statement.create(7, ends_of(before), waiting)
    gone = data.draw(st.sets(st.sampled_from(later))) if later else set()
    for link in data.draw(st.permutations([*waiting, *(link for link in later if link not in gone)])):
        statement = statement.extend([link])
    assert (statement.since, suppressed(statement, ends_of(links), [])) == (7, len(gone))


def forked(length: int) -> tuple[list[LinkWithMac], list[LinkWithMac]]:
    """Return the links of a chain, and those that others would have been from a number on, had it been put back."""
    links = committed([0] * length)
    previous, others = links[BRANCHED - 2].mac, []
    for number in range(BRANCHED, length + 1):
        others.append(LinkWithMac(Link(0, number, previous), mac(1000 + number)))
        previous = others[-1].mac
    return links, others


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("at_once", [True, False])
def test_links_of_two_branches_show_in_whichever_order_they_come(others: int, *, at_once: bool) -> None:
    links, branch = forked(BRANCHED + 2)
    common = Statement().extend(links[: BRANCHED - 1])
    for order in permutations([*branch[:others], *links[BRANCHED - 1 + others :]]):
        statement = common
        for batch in [order] if at_once else [[link] for link in order]:
            statement = statement.extend(batch)
        assert suppressed(statement, {0: ChainEnd(len(links), links[-1].mac)}, []) >= 1, order


@given(st.data())
def test_any_mixture_of_two_branches_shows(data: st.DataObject) -> None:
    links, branch = forked(BRANCHED + 5)
    mixed = [data.draw(st.sampled_from(pair)) for pair in zip(links[BRANCHED - 1 :], branch, strict=True)]
    statement = Statement().extend(links[: BRANCHED - 1])
    for link in data.draw(st.permutations(mixed)):
        statement = statement.extend([link])
    whole = mixed in (links[BRANCHED - 1 :], branch)
    assert bool(suppressed(statement, {0: ChainEnd(len(links), mixed[-1].mac)}, [])) is not whole


@given(st.integers(2, 10**9), st.integers(2, 10**9))
def test_it_stays_small_however_much_is_missing(first: int, more: int) -> None:
    links = [LinkWithMac(Link(shard, first + n * more, mac(1)), mac(2)) for shard in range(16) for n in range(20)]
    statement = Statement().extend(links)
    assert sum(len(reached.gaps) for reached in statement.shards.values()) <= MAX_GAPS
    ends = {shard: ChainEnd(first + 19 * more, mac(2)) for shard in range(16)}
    assert suppressed(statement, ends, []) == 16 * (first + 19 * more - 20)
    assert len("\n".join(statement.to_lines())) < 14_000
