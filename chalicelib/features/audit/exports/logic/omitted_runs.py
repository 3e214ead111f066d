"""Hashes of the entries that an export omits, which are evidence in the proof of the others. No I/O."""

from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.crypto.merkle import CompactRange, split_hashes
from chalicelib.kernel.storage.entity import Item

MAX_EVIDENCE_HASHES: Final = 2_000
"""Maximum number of hashes in the evidence of an export."""


class OmittedRuns:
    """The runs of consecutive entries omitted so far, as hashes of their subtrees (RFC 6962, compact ranges).

    `runs` is in the public format, or None once there are too many hashes. The last run may still grow.
    """

    def __init__(self, runs: list[Item] | None, last: CompactRange) -> None:
        self.runs = runs
        self._last = last
        self._hash_count = sum(len(run["hashes"]) for run in runs or ())

    @classmethod
    def from_item(cls, item: Item | None) -> "OmittedRuns":
        """Return the state that `to_item` stored. None means that there is no evidence."""
        if item is None:
            return cls(None, CompactRange())
        return cls(item["runs"], CompactRange(item["size"], split_hashes(item["peaks"]), item["begin"]))

    def add_leaves(self, first_sequence: int, leaves: Sequence[bytes]) -> None:
        """Add consecutive omitted entries, from a sequence on, by their leaf hashes."""
        if self.runs is None or not leaves:
            return
        start = first_sequence - 1
        if start != self._last.begin + self._last.size:
            self._close_run()
            self._last = CompactRange(begin=start)
        self._last = self._last.with_appended_leaves(leaves)

    def to_item(self) -> Item | None:
        """Return the state as it is stored in the export."""
        if self.runs is None:
            return None
        last = self._last
        return {"runs": self.runs, "begin": last.begin, "size": last.size, "peaks": b"".join(last.peaks)}

    def close_last_run_and_return_runs(self) -> list[Item] | None:
        """Close the last run and return all runs, or None if there are too many hashes."""
        self._close_run()
        return self.runs

    def _close_run(self) -> None:
        last = self._last
        self._hash_count += len(last.peaks)
        if self.runs is None or self._hash_count > MAX_EVIDENCE_HASHES:
            self.runs = None
        elif last.size:
            hashes = [peak.hex() for peak in last.peaks]
            self.runs = [*self.runs, {"from": last.begin + 1, "to": last.begin + last.size, "hashes": hashes}]
        self._last = CompactRange()
