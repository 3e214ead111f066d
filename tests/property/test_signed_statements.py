"""Statements count exactly the removed entries in any order of appending, and reveal forks."""

from hashlib import sha256
from itertools import islice, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.audit_log.mac_chains import ChainEnd, Link, LinkWithMac
from chalicelib.kernel.audit_log.signed_statements import MAX_GAPS, Statement

FIRST_FORKED_NUMBER = 5
"""The number of the first link that exists twice."""


def build_mac(n: int) -> bytes:
    return bytes(4) + sha256(bytes([n % 256, n // 256])).digest()


def commit_links(shards: list[int]) -> list[LinkWithMac]:
    """Return the links of entries that were committed in sequence, each to a shard."""
    ends: dict[int, ChainEnd] = {}
    links = []
    for n, shard in enumerate(shards, 1):
        end = ends.get(shard, ChainEnd())
        links.append(LinkWithMac(Link(shard, end.number + 1, end.mac), build_mac(n)))
        ends[shard] = ChainEnd(end.number + 1, build_mac(n))
    return links


def chain_ends(links: list[LinkWithMac]) -> dict[int, ChainEnd]:
    return {link.shard: ChainEnd(link.number, mac) for link, mac in links}


def count_suppressed(statement: Statement, ends: dict[int, ChainEnd], pending: list[LinkWithMac]) -> int:
    return statement.lost + statement.find_missing_links(ends, {link for link, _ in pending}, {}).count


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_exactly_the_removed_entries_are_missing(shards, data):
    links = commit_links(shards)
    removed = data.draw(st.sets(st.sampled_from(links)))
    remaining = iter(data.draw(st.permutations([link for link in links if link not in removed])))
    statement = Statement()
    while batch := [*islice(remaining, data.draw(st.integers(1, 9)))]:
        statement = statement.with_links(batch)
        assert Statement.from_lines(statement.to_lines()) == statement
    assert count_suppressed(statement, chain_ends(links), [*remaining]) == len(removed)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_a_statement_that_starts_later_counts_later_entries(shards, start, data):
    links = commit_links(shards)
    before, later = links[:start], links[start:]
    pending = data.draw(st.sets(st.sampled_from(before))) if before else set()
    statement = Statement.create(7, chain_ends(before), pending)
    removed = data.draw(st.sets(st.sampled_from(later))) if later else set()
    for link in data.draw(st.permutations([*pending, *(link for link in later if link not in removed)])):
        statement = statement.with_links([link])
    assert (statement.since, count_suppressed(statement, chain_ends(links), [])) == (7, len(removed))


def fork_chain(length: int) -> tuple[list[LinkWithMac], list[LinkWithMac]]:
    """Return the links of a chain, and the links of a second branch from a number on."""
    links = commit_links([0] * length)
    previous, branch_links = links[FIRST_FORKED_NUMBER - 2].mac, []
    for number in range(FIRST_FORKED_NUMBER, length + 1):
        branch_links.append(LinkWithMac(Link(0, number, previous), build_mac(1000 + number)))
        previous = branch_links[-1].mac
    return links, branch_links


@pytest.mark.parametrize("branch_count", [1, 2])
@pytest.mark.parametrize("at_once", [True, False])
def test_links_of_two_branches_are_detected_in_any_order(branch_count, *, at_once):
    links, branch = fork_chain(FIRST_FORKED_NUMBER + 2)
    common = Statement().with_links(links[: FIRST_FORKED_NUMBER - 1])
    for order in permutations([*branch[:branch_count], *links[FIRST_FORKED_NUMBER - 1 + branch_count :]]):
        statement = common
        for batch in [order] if at_once else [[link] for link in order]:
            statement = statement.with_links(batch)
        assert count_suppressed(statement, {0: ChainEnd(len(links), links[-1].mac)}, []) >= 1, order


@given(st.data())
def test_any_mixture_of_two_branches_is_detected(data):
    links, branch = fork_chain(FIRST_FORKED_NUMBER + 5)
    mixed = [data.draw(st.sampled_from(pair)) for pair in zip(links[FIRST_FORKED_NUMBER - 1 :], branch, strict=True)]
    statement = Statement().with_links(links[: FIRST_FORKED_NUMBER - 1])
    for link in data.draw(st.permutations(mixed)):
        statement = statement.with_links([link])
    is_one_branch = mixed in (links[FIRST_FORKED_NUMBER - 1 :], branch)
    assert bool(count_suppressed(statement, {0: ChainEnd(len(links), mixed[-1].mac)}, [])) is not is_one_branch


@given(st.integers(2, 10**9), st.integers(2, 10**9))
def test_the_size_of_a_statement_is_limited(first, stride):
    links = [Link(shard, first + n * stride, build_mac(1)) for shard in range(16) for n in range(20)]
    statement = Statement().with_links(LinkWithMac(link, build_mac(2)) for link in links)
    assert sum(len(shard_state.gaps) for shard_state in statement.shards.values()) <= MAX_GAPS
    ends = {shard: ChainEnd(first + 19 * stride, build_mac(2)) for shard in range(16)}
    assert count_suppressed(statement, ends, []) == 16 * (first + 19 * stride - 20)
    assert len("\n".join(statement.to_lines())) < 14_000
