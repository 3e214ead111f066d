"""The stored record of the job that builds the tiles of a log."""

from chalicelib.kernel.crypto.merkle import CompactRange, split_hashes
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH
from chalicelib.kernel.work.jobs import Job


class TileBuild(Job):
    """The job that builds the tiles of a log which an earlier release appended, or whose tiles were altered.

    `size` and `peaks`: the tree of the tiles that are complete so far. `ignores_tiles`: whether all tiles are built
    from the entries, because the stored ones do not lead to the signed root.
    """

    kind, task = "tile_build", "audit_tiles.build"
    pk, sk = "A#{log_id}#H", "build"

    log_id: str
    size: int = 0
    peaks: bytes = b""
    ignores_tiles: bool = False

    @property
    def tree(self) -> CompactRange:
        """The tree of the tiles that are complete so far. It is empty if the stored progress is not that of tiles."""
        try:
            return CompactRange() if self.size % TILE_WIDTH else CompactRange(self.size, split_hashes(self.peaks))
        except (TypeError, ValueError):
            return CompactRange()
