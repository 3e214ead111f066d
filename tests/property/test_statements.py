"""In whichever order entries come into the tree, nothing but what was taken away is missing."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.chains import End, Link, Linked
from chalicelib.kernel.statements import MAX_MISSING, Statement


def committed(shards: list[int]) -> list[Linked]:
    """Return the links of entries that were committed one after the other, each in a shard."""
    ends: dict[int, End] = {}
    links = []
    for n, shard in enumerate(shards):
        end, mac = ends.get(shard, End()), n.to_bytes(36, "big")
        links.append(Linked(Link(shard, end.number + 1, end.mac), mac))
        ends[shard] = End(end.number + 1, mac)
    return links


def ends_of(links: list[Linked]) -> dict[int, End]:
    return {link.shard: End(link.number, mac) for link, mac in links}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_of_what_was_committed_only_what_was_taken_away_is_missing(shards: list[int], data: st.DataObject) -> None:
    links = committed(shards)
    gone = data.draw(st.sets(st.sampled_from(links)))
    left = iter(data.draw(st.permutations([link for link in links if link not in gone])))
    statement = Statement()
    while batch := [*islice(left, data.draw(st.integers(1, 9)))]:
        statement = statement.extended(batch)
        assert Statement.read(statement.lines()) == statement
    waiting = [*left]
    assert statement.count_suppressed(ends_of(links), {each.link for each in waiting}, {}) == len(gone)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_a_statement_that_begins_later_accounts_for_the_rest(
    shards: list[int], known: int, data: st.DataObject
) -> None:
    links = committed(shards)
    before, later = links[:known], links[known:]
    waiting = data.draw(st.sets(st.sampled_from(before))) if before else set()
    statement = Statement.begun(7, ends_of(before), waiting)
    gone = data.draw(st.sets(st.sampled_from(later))) if later else set()
    rest = [*waiting, *(link for link in later if link not in gone)]
    statement = statement.extended(rest)
    assert (statement.since, statement.count_suppressed(ends_of(links), set(), {})) == (7, len(gone))


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_it_stays_small_however_much_is_missing(first: int, more: int) -> None:
    mac = bytes(36)
    links = [Linked(Link(shard, number, mac), mac) for shard in range(16) for number in (first, first + more)]
    statement = Statement().extended(links)
    assert sum(len(reached.missing) for reached in statement.shards.values()) <= MAX_MISSING
    ends = {shard: End(first + more, mac) for shard in range(16)}
    assert statement.count_suppressed(ends, set(), {}) >= 16 * (first + more - 2)
    assert len("\n".join(statement.lines())) < 8_000
