"""Statements: what the ledger signs of a log's chains, beside each checkpoint, in a note that names the same root.

It is a signed note (c2sp.org/signed-note) with the origin `atrium/<log>/chains`. The lines behind size and root say
since which size there are statements, how many links are lost and, of each chain, how far it is in the tree and which
links before that are missing. MACs stand there by 16 of their bytes, in base64.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from chalicelib.kernel.audit_log.mac_chains import MAX_NUMBER, SHARDS, End, Link, Linked
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint, NoteError
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES

MAX_GAPS: Final = 128
"""Gaps of a log whose links are waited for; the links of further ones are taken for lost."""

_TAG_BYTES: Final = 16
_MAX_NAMED: Final = 4096
_LINES: Final = 2


class BrokenStatement(Exception):
    """A log's statement is not the one that the ledger signed with its head: someone altered it."""


class Gap(NamedTuple):
    """Links of a chain that are not in the tree though later ones are, by their numbers.

    `before`: the MAC of the link before them. `end`: the MAC of the last of them, which the link behind it names.
    """

    first: int
    last: int
    before: bytes
    end: bytes

    def filled(self, link: Link, mac: bytes) -> tuple[list["Gap"], bool]:
        """Return what is left of it with one of its links in the tree, and whether that is not the one it lacked."""
        altered = (link.number == self.first and tag_of(link.previous) != self.before) or (
            link.number == self.last and tag_of(mac) != self.end
        )
        left = Gap(self.first, link.number - 1, self.before, tag_of(link.previous))
        right = Gap(link.number + 1, self.last, tag_of(mac), self.end)
        return [gap for gap in (left, right) if gap.first <= gap.last], altered

    @property
    def size(self) -> int:
        """How many links it lacks."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Reached:
    """How far a chain is in the tree: the number and the MAC of the furthest link, and the gaps before it."""

    number: int = 0
    mac: bytes = b""
    gaps: tuple[Gap, ...] = ()

    def extended(self, link: Link, mac: bytes) -> tuple["Reached", bool]:
        """Return it with one more link in the tree, and whether that shows that another link is lost."""
        previous = tag_of(link.previous)
        if link.number == self.number + 1:
            return Reached(link.number, tag_of(mac), self.gaps), previous != self.mac
        if link.number > self.number:
            gap = Gap(self.number + 1, link.number - 1, self.mac, previous)
            return Reached(link.number, tag_of(mac), (*self.gaps, gap)), False
        gap_of_it = next((gap for gap in self.gaps if gap.first <= link.number <= gap.last), None)
        if gap_of_it is None:
            return self, True
        rest, altered = gap_of_it.filled(link, mac)
        others = [gap for gap in self.gaps if gap is not gap_of_it]
        return replace(self, gaps=tuple(sorted([*others, *rest]))), altered

    def lacks(self, number: int) -> bool:
        """Return whether a link is in one of the gaps."""
        return any(gap.first <= number <= gap.last for gap in self.gaps)


@dataclass(frozen=True)
class Missing:
    """Links that are neither in the tree nor waiting: by shard and number, and how many more there are."""

    named: frozenset[tuple[int, int]] = frozenset()
    more: int = 0

    def confirmed_by(self, later: "Missing") -> "Missing":
        """Return those that are missing still when somebody looks again."""
        return Missing(self.named & later.named, min(self.more, later.more))

    @property
    def number(self) -> int:
        """How many there are."""
        return min(len(self.named) + self.more, MAX_NUMBER)


@dataclass(frozen=True)
class Statement:
    """What the ledger signs of a log's chains: how far each is in the tree, and what is missing.

    `since`: the size of the tree when there was none before. `lost`: how many links are missing for good.
    """

    since: int = 0
    lost: int = 0
    shards: Mapping[int, Reached] = field(default_factory=dict)

    @classmethod
    def begun(cls, since: int, ends: Mapping[int, End], waiting: Iterable[Linked]) -> Self:
        """Return the first statement of a log that has entries: what its chains say is in the tree, or waits.

        Read the ends before the waiting links: then none of these is one that was not seen yet.
        """
        links = [each for each in waiting if each.link.number <= ends.get(each.link.shard, End()).number]
        shards = {
            shard: Reached(
                end.number,
                tag_of(end.mac),
                tuple(
                    sorted(
                        Gap(link.number, link.number, tag_of(link.previous), tag_of(mac))
                        for link, mac in links
                        if link.shard == shard
                    )
                ),
            )
            for shard, end in ends.items()
        }
        return cls(since, 0, shards)

    def reached(self, shard: int) -> Reached:
        """Return how far a chain is in the tree."""
        return self.shards.get(shard, Reached())

    def extended(self, links: Iterable[Linked]) -> "Statement":
        """Return it with some more links in the tree."""
        lost, shards = self.lost, dict(self.shards)
        for link, mac in sorted(links):
            shards[link.shard], more = shards.get(link.shard, Reached()).extended(link, mac)
            lost += more
        return _bounded(replace(self, lost=lost, shards=shards))

    def ahead_of(self, ends: Mapping[int, End]) -> list[int]:
        """Return which chains are further in the tree than their items say."""
        return [shard for shard, reached in self.shards.items() if ends.get(shard, End()).number < reached.number]

    def missing(self, ends: Mapping[int, End], waiting: AbstractSet[Link], ends_by_now: Mapping[int, End]) -> Missing:
        """Return the links that are neither in the tree nor waiting.

        Read the ends first, then the waiting links, then the statement: what was committed in between is not missing.
        `ends_by_now`: how far the chains are by now that the statement is `ahead_of`. One that is still behind it has
        been put back.
        """
        numbers = {(link.shard, link.number) for link in waiting}
        named, more = set[tuple[int, int]](), 0
        for shard in range(SHARDS):
            reached, end = self.reached(shard), ends.get(shard, End())
            back = max(0, reached.number - ends_by_now.get(shard, End()).number) if end.number < reached.number else 0
            known = reached.number if back else end.number
            ranges = [range(gap.first, min(gap.last, known) + 1) for gap in reached.gaps]
            for each in [*ranges, range(reached.number + 1, end.number + 1)]:
                room = max(0, _MAX_NAMED - len(named))
                named |= {(shard, number) for number in each[:room]} - numbers
                more += len(each[room:])
            more += back
        return Missing(frozenset(named), more)

    def lines(self) -> tuple[str, ...]:
        """Return it as lines of a note: `since`, `lost`, then each chain, and behind it its gaps."""
        lines = [f"since {self.since}", f"lost {self.lost}"]
        for shard, reached in sorted(self.shards.items()):
            lines.append(f"chain {shard} {reached.number} {to_base64(reached.mac)}")
            lines += [f"gap {g.first} {g.last} {to_base64(g.before)} {to_base64(g.end)}" for g in reached.gaps]
        return tuple(lines)

    @classmethod
    def read(cls, lines: Sequence[str]) -> Self:
        """Return what the lines of a signed note say. Raises ValueError."""
        words = [line.split(" ") for line in lines]
        (_, since), (_, lost) = words[:_LINES]
        shards, shard = dict[int, Reached](), -1
        for name, *said in words[_LINES:]:
            if name == "chain":
                shard = int(said[0])
                shards[shard] = Reached(int(said[1]), from_base64(said[2]))
            else:
                gap = Gap(int(said[0]), int(said[1]), from_base64(said[2]), from_base64(said[3]))
                shards[shard] = replace(shards[shard], gaps=(*shards[shard].gaps, gap))
        return cls(int(since), int(lost), shards)


def tag_of(mac: bytes) -> bytes:
    """Return what a statement says of a MAC: 16 of its bytes, without the id of its key."""
    return mac[KEY_ID_BYTES : KEY_ID_BYTES + _TAG_BYTES]


def sign(checkpoint: Checkpoint, statement: Statement, seed: bytes) -> str:
    """Return the note that states what a log's chains are in the tree of a checkpoint, signed as that is."""
    return checkpoints.sign(replace(checkpoint, origin=_origin(checkpoint), extensions=statement.lines()), seed)


def verify(note: str, checkpoint: Checkpoint, public_keys: Sequence[bytes]) -> Statement:
    """Return the statement of a note that was signed for a checkpoint with one of the keys. Raises BrokenStatement."""
    try:
        signed = checkpoints.verify(note, public_keys)
        if replace(signed, extensions=()) == replace(checkpoint, origin=_origin(checkpoint), extensions=()):
            return Statement.read(signed.extensions)
    except (NoteError, ValueError) as error:
        raise BrokenStatement from error
    raise BrokenStatement


def _bounded(statement: Statement) -> Statement:
    """Return a statement with no more gaps than are waited for: the links of the first of them are lost."""
    gaps = sorted(((gap, shard) for shard, reached in statement.shards.items() for gap in reached.gaps), reverse=True)
    given_up = gaps[MAX_GAPS:]
    if not given_up:
        return statement
    shards = {
        shard: replace(reached, gaps=tuple(gap for gap in reached.gaps if (gap, shard) not in given_up))
        for shard, reached in statement.shards.items()
    }
    lost = statement.lost + sum(gap.size for gap, _ in given_up)
    return replace(statement, lost=min(lost, MAX_NUMBER), shards=shards)


def _origin(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.origin}/chains"
