"""Statements: what the ledger signs of a log's chains, beside each checkpoint, in a note that names the same root.

It is a signed note (c2sp.org/signed-note) with the origin `atrium/<log>/chains`. The lines behind size and root say
since which size there are statements, how many links are lost and, of each chain, how far it is in the tree and which
links before that are missing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from chalicelib.kernel import checkpoints
from chalicelib.kernel.chains import MAX_NUMBER, SHARDS, End, Link, Linked
from chalicelib.kernel.checkpoints import Checkpoint, NoteError
from chalicelib.kernel.encoding import from_base64, to_base64

MAX_MISSING: Final = 64
"""Missing links of a log that are waited for; what is missing beyond that is taken for lost."""

_LINES: Final = 2


class BrokenStatement(Exception):
    """A log's statement is not the one that the ledger signed with its head: someone altered it."""


@dataclass(frozen=True)
class Reached:
    """How far a chain is in the tree: the number and MAC of the furthest link, and what is missing before it.

    Of a missing link the MAC is known if the one behind it is in the tree; else it is empty.
    """

    number: int = 0
    mac: bytes = b""
    missing: Mapping[int, bytes] = field(default_factory=dict)

    def extended(self, link: Link, mac: bytes) -> tuple["Reached", int]:
        """Return it with one more link in the tree, and how many links that shows to be lost for good."""
        if link.number <= self.number:
            expected = self.missing.get(link.number)
            rest = {number: each for number, each in self.missing.items() if number != link.number}
            if link.number - 1 in rest:
                rest[link.number - 1] = rest[link.number - 1] or link.previous
            return replace(self, missing=rest), int(expected is None or expected not in (b"", mac))
        gap = range(max(self.number + 1, link.number - MAX_MISSING), link.number)
        unlisted = link.number - self.number - 1 - len(gap)
        missing = {**self.missing, **dict.fromkeys(gap, b"")}
        if gap:
            missing[link.number - 1] = link.previous
        forked = not (gap or unlisted) and link.previous != self.mac
        return Reached(link.number, mac, missing), unlisted + forked


@dataclass(frozen=True)
class Statement:
    """What the ledger signs of a log's chains: how far each is in the tree, and what is missing.

    `since`: the size of the tree when the statement was begun. `lost`: how many links are missing for good.
    """

    since: int = 0
    lost: int = 0
    shards: Mapping[int, Reached] = field(default_factory=dict)

    @classmethod
    def begun(cls, since: int, ends: Mapping[int, End], waiting: Iterable[Linked]) -> Self:
        """Return the statement of a log that has had none: what its chains say by now is in the tree, or waits."""
        links = [each for each in waiting if each.link.number <= ends.get(each.link.shard, End()).number]
        shards = {
            shard: Reached(*end, {link.number: mac for link, mac in links if link.shard == shard})
            for shard, end in ends.items()
        }
        return cls(since, 0, shards)

    def extended(self, links: Iterable[Linked]) -> "Statement":
        """Return it with some more links in the tree."""
        lost, shards = self.lost, dict(self.shards)
        for link, mac in sorted(links):
            shards[link.shard], more = shards.get(link.shard, Reached()).extended(link, mac)
            lost += more
        return _bounded(replace(self, lost=min(lost, MAX_NUMBER), shards=shards))

    def ahead_of(self, ends: Mapping[int, End]) -> list[int]:
        """Return which chains are further in the tree than their items say."""
        return [shard for shard, reached in self.shards.items() if ends.get(shard, End()).number < reached.number]

    def count_suppressed(self, ends: Mapping[int, End], waiting: Collection[Link], now: Mapping[int, End]) -> int:
        """Return how many links are gone: they are neither in the tree nor among those `waiting`.

        `ends`: how far chains were before the waiting links were read, and those before the statement was. What was
        committed in between is not missing. `now`: how far those are by now that the statement is `ahead_of`: one that
        is still behind it has been put back.
        """
        found = self.lost
        for shard in range(SHARDS):
            reached, end = self.shards.get(shard, Reached()), ends.get(shard, End())
            numbers = {link.number for link in waiting if link.shard == shard}
            taken_back = max(0, reached.number - now.get(shard, End()).number) if end.number < reached.number else 0
            found += taken_back + len({n for n in reached.missing if taken_back or n <= end.number} - numbers)
            behind = range(reached.number + 1, end.number + 1)
            found += len(behind) - sum(number in behind for number in numbers)
        return min(found, MAX_NUMBER)

    def lines(self) -> tuple[str, ...]:
        """Return it as lines of a statement: `since`, `lost`, then each chain, and behind it what is missing of it."""
        lines = [f"since {self.since}", f"lost {self.lost}"]
        for shard, reached in sorted(self.shards.items()):
            lines.append(f"chain {shard} {reached.number} {to_base64(reached.mac)}")
            lines += [f"missing {number} {to_base64(mac)}" for number, mac in sorted(reached.missing.items())]
        return tuple(lines)

    @classmethod
    def read(cls, lines: Sequence[str]) -> Self:
        """Return what the lines of a signed statement say. Raises ValueError."""
        words = [line.split(" ") for line in lines]
        (_, since), (_, lost) = words[:_LINES]
        shards: dict[int, Reached] = {}
        for name, *said in words[_LINES:]:
            if name == "chain":
                shard = int(said[0])
                shards[shard] = Reached(int(said[1]), from_base64(said[2]))
            else:
                missing = {**shards[shard].missing, int(said[0]): from_base64(said[1])}
                shards[shard] = replace(shards[shard], missing=missing)
        return cls(int(since), int(lost), shards)


def _bounded(statement: Statement) -> Statement:
    """Return a statement with no more missing links than are waited for: of the others the first are lost."""
    missing = sorted((number, shard) for shard, reached in statement.shards.items() for number in reached.missing)
    given_up = {(shard, number) for number, shard in missing[: max(0, len(missing) - MAX_MISSING)]}
    if not given_up:
        return statement
    shards = {
        shard: replace(reached, missing={n: mac for n, mac in reached.missing.items() if (shard, n) not in given_up})
        for shard, reached in statement.shards.items()
    }
    return replace(statement, lost=statement.lost + len(given_up), shards=shards)


def sign(checkpoint: Checkpoint, statement: Statement, seed: bytes) -> str:
    """Return the note that states what a log's chains are in the tree of a checkpoint, signed as that is."""
    origin = _origin(checkpoint)
    return checkpoints.sign(replace(checkpoint, origin=origin, extensions=statement.lines()), seed)


def verify(note: str, checkpoint: Checkpoint, public_keys: Sequence[bytes]) -> Statement:
    """Return the statement of a note that was signed for a checkpoint with one of the keys. Raises BrokenStatement."""
    try:
        signed = checkpoints.verify(note, public_keys)
        if replace(signed, extensions=()) == replace(checkpoint, origin=_origin(checkpoint), extensions=()):
            return Statement.read(signed.extensions)
    except (NoteError, ValueError) as error:
        raise BrokenStatement from error
    raise BrokenStatement


def _origin(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.origin}/chains"
