"""What an export leaves out, so that what it holds can be proven: pure decisions."""

from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.audit_log.ledger import split_hashes
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage.entity import Item

MOST_HASHES: Final = 2_000
"""More are not given as evidence."""


class Omitted:
    """The entries left out so far, in runs of sequences that follow each other (RFC 6962, in compact ranges).

    `runs` are as callers see them, or None once they have too many hashes; the last run may still go on.
    """

    def __init__(self, runs: list[Item] | None, last: CompactRange) -> None:
        self.runs = runs
        self._last = last
        self._hashes = sum(len(run["hashes"]) for run in runs or ())

    @classmethod
    def of(cls, kept: Item | None) -> "Omitted":
        """Return what `kept` returned; of None, nothing can be proven."""
        if kept is None:
            return cls(None, CompactRange())
        return cls(kept["runs"], CompactRange(kept["size"], split_hashes(kept["peaks"]), kept["begin"]))

    def add(self, sequence: int, leaves: Sequence[bytes]) -> None:
        """Leave out the entries from a sequence on whose leaves have these hashes."""
        if self.runs is None or not leaves:
            return
        begin = sequence - 1
        if begin != self._last.begin + self._last.size:
            self._end_run()
            self._last = CompactRange(begin=begin)
        self._last = self._last.extend(leaves)

    def kept(self) -> Item | None:
        """Return what `of` goes on with."""
        if self.runs is None:
            return None
        last = self._last
        return {"runs": self.runs, "begin": last.begin, "size": last.size, "peaks": b"".join(last.peaks)}

    def evidence(self) -> list[Item] | None:
        """Return all runs, now that nothing follows; None if they have too many hashes."""
        self._end_run()
        return self.runs

    def _end_run(self) -> None:
        last = self._last
        self._hashes += len(last.peaks)
        if self.runs is None or self._hashes > MOST_HASHES:
            self.runs = None
        elif last.size:
            hashes = [peak.hex() for peak in last.peaks]
            self.runs = [*self.runs, {"from": last.begin + 1, "to": last.begin + last.size, "hashes": hashes}]
        self._last = CompactRange()
