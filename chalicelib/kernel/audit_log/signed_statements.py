"""Statements about a log's chains, which the ledger signs with each checkpoint, for the same root.

A statement is a signed note (c2sp.org/signed-note) with the origin `atrium/<log>/chains`. The lines after size and root
contain the tree size since which there are statements, the number of lost links and, for each chain, its end in the
tree and its missing links. MACs are represented by 16 of their bytes in base64.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from chalicelib.kernel.audit_log.mac_chains import MAX_LINK_NUMBER, ChainEnd, Link, LinkWithMac
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint, NoteError
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES

MAX_GAPS: Final = 128
"""Gaps of a log whose links may still arrive. The links of further gaps count as lost."""

_TAG_BYTES: Final = 16
_LINES: Final = 2


class BrokenStatement(Exception):
    """A log's statement is not the one that the ledger signed with its head. Someone altered it."""


class Gap(NamedTuple):
    """A range of links that are missing in the tree although later ones are there.

    `before`: the MAC of the link before them. `end`: the MAC of the last of them, which the link after it names.
    """

    first: int
    last: int
    before: bytes
    end: bytes

    def remaining_gaps_and_mismatch(self, link: Link, mac: bytes) -> tuple[list["Gap"], bool]:
        """Return the remaining gaps after a link arrives, and whether the link differs from the missing one."""
        previous, end = _truncate_mac(link.previous), _truncate_mac(mac)
        gap_before = Gap(self.first, link.number - 1, self.before, previous)
        gap_after = Gap(link.number + 1, self.last, end, self.end)
        altered = (not gap_before.size and previous != self.before) or (not gap_after.size and end != self.end)
        return [gap for gap in (gap_before, gap_after) if gap.size], altered

    @property
    def size(self) -> int:
        """Return the number of missing links."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class ChainState:
    """The state of a chain in the tree: the number and MAC of its last link, and the gaps before it."""

    number: int = 0
    mac: bytes = b""
    gaps: tuple[Gap, ...] = ()

    def with_link_and_loss_detected(self, link: Link, mac: bytes) -> tuple["ChainState", bool]:
        """Return the state with one more link in the tree, and whether that proves that another link is lost."""
        previous = _truncate_mac(link.previous)
        if link.number == self.number + 1:
            return ChainState(link.number, _truncate_mac(mac), self.gaps), previous != self.mac
        if link.number > self.number:
            gap = Gap(self.number + 1, link.number - 1, self.mac, previous)
            return ChainState(link.number, _truncate_mac(mac), (*self.gaps, gap)), False
        containing_gap = next((gap for gap in self.gaps if gap.first <= link.number <= gap.last), None)
        if containing_gap is None:
            return self, True
        remaining, altered = containing_gap.remaining_gaps_and_mismatch(link, mac)
        others = [gap for gap in self.gaps if gap is not containing_gap]
        return replace(self, gaps=tuple(sorted([*others, *remaining]))), altered

    def is_link_number_missing(self, link_number: int) -> bool:
        """Return whether a link is in one of the gaps."""
        return any(gap.first <= link_number <= gap.last for gap in self.gaps)


@dataclass(frozen=True)
class Statement:
    """What the ledger signs about a log's chains: the state of each, and lost links.

    `since`: the size of the tree at the first statement. `lost`: the number of links that are lost.
    """

    since: int = 0
    lost: int = 0
    shards: Mapping[int, ChainState] = field(default_factory=dict)

    @classmethod
    def create(cls, since_size: int, ends_by_shard: Mapping[int, ChainEnd], pending: Collection[LinkWithMac]) -> Self:
        """Return the first statement of a log with entries: everything in its chains is in the tree or pending.

        Read the ends before the pending links. Otherwise, entries committed in between would count as being in the
        tree.
        """
        shards: dict[int, ChainState] = {}
        for shard, end in ends_by_shard.items():
            gaps = sorted(
                Gap(link.number, link.number, _truncate_mac(link.previous), _truncate_mac(mac))
                for link, mac in pending
                if link.shard == shard and link.number <= end.number
            )
            shards[shard] = ChainState(end.number, _truncate_mac(end.mac), tuple(gaps))
        return cls(since_size, 0, shards)

    def chain_state(self, shard: int) -> ChainState:
        """Return the state of a chain."""
        return self.shards.get(shard, ChainState())

    def with_links(self, links: Iterable[LinkWithMac]) -> "Statement":
        """Return the statement with further links in the tree."""
        lost, shards = self.lost, dict(self.shards)
        for link, mac in sorted(links):
            shards[link.shard], is_lost = shards.get(link.shard, ChainState()).with_link_and_loss_detected(link, mac)
            lost += is_lost
        return _with_excess_gaps_counted_lost(replace(self, lost=lost, shards=shards))

    def to_lines(self) -> tuple[str, ...]:
        """Return the lines of the note: `since`, `lost`, then each chain followed by its gaps."""
        lines = [f"since {self.since}", f"lost {self.lost}"]
        for shard, state in sorted(self.shards.items()):
            lines.append(f"chain {shard} {state.number} {to_base64(state.mac)}")
            lines += [f"gap {gap.first} {gap.last} {to_base64(gap.before)} {to_base64(gap.end)}" for gap in state.gaps]
        return tuple(lines)

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> Self:
        """Return the statement in the lines of a note. Raises ValueError."""
        tokens = [line.split(" ") for line in lines]
        (_, since), (_, lost) = tokens[:_LINES]
        shards, shard = dict[int, ChainState](), -1
        for name, *values in tokens[_LINES:]:
            if name == "chain":
                shard = int(values[0])
                shards[shard] = ChainState(int(values[1]), from_base64(values[2]))
            else:
                gap = Gap(int(values[0]), int(values[1]), from_base64(values[2]), from_base64(values[3]))
                shards[shard] = replace(shards[shard], gaps=(*shards[shard].gaps, gap))
        return cls(int(since), int(lost), shards)


def _truncate_mac(mac: bytes) -> bytes:
    """Return the 16 bytes that represent a MAC in a statement, without the key id."""
    return mac[KEY_ID_BYTES : KEY_ID_BYTES + _TAG_BYTES]


def sign_statement_note(checkpoint: Checkpoint, statement: Statement, seed: bytes) -> str:
    """Return the signed note with a statement for the tree of a checkpoint."""
    return checkpoints.sign_checkpoint_note(
        replace(checkpoint, origin=_statement_origin(checkpoint), extensions=statement.to_lines()), seed
    )


def verify_statement_note(note: str, checkpoint: Checkpoint, public_keys: Sequence[bytes]) -> Statement:
    """Return the statement of a note that was signed for a checkpoint with one of the keys. Raises BrokenStatement."""
    try:
        signed = checkpoints.verify_checkpoint_note(note, public_keys)
        if replace(signed, extensions=()) == replace(checkpoint, origin=_statement_origin(checkpoint), extensions=()):
            return Statement.from_lines(signed.extensions)
    except (NoteError, ValueError) as error:
        raise BrokenStatement from error
    raise BrokenStatement


def _with_excess_gaps_counted_lost(statement: Statement) -> Statement:
    """Return a statement with at most `MAX_GAPS` gaps. The links of the others count as lost."""
    gaps = sorted(((gap, shard) for shard, state in statement.shards.items() for gap in state.gaps), reverse=True)
    dropped = gaps[MAX_GAPS:]
    if not dropped:
        return statement
    shards = {
        shard: replace(state, gaps=tuple(gap for gap in state.gaps if (gap, shard) not in dropped))
        for shard, state in statement.shards.items()
    }
    lost = statement.lost + sum(gap.size for gap, _ in dropped)
    return replace(statement, lost=min(lost, MAX_LINK_NUMBER), shards=shards)


def _statement_origin(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.origin}/chains"
