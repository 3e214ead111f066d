"""The task that builds the tiles of a log, in slices."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import Fault, VerifiedPrefix, find_head_fault
from chalicelib.features.audit.proofs.entities import TileBuild
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head, head_key
from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH, TileId, completed_nodes
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

MAX_TILES_PER_STEP: Final = 16
"""Tiles of leaves that are stored in one transaction."""

_REBUILD_DELAY_SECONDS: Final = 3_600
"""Time after which the tiles are built again if those that were built from the entries are not of the signed tree."""


@task(TileBuild.task)
def build_tiles(message: dict[str, Any]) -> None:
    """Store the full tiles of a log, and their roots in the tiles above them, up to the signed head.

    A tile that is stored already is used as it is. If the result is not the signed tree, a tile or the progress of the
    job was altered, and all tiles are built again from the entries, each of which is verified. If that is not the
    signed tree either, the head signs another history than the entries: the log was forked. The job then repeats the
    build each hour. At an entry that was altered, it stops and tries again later. In both cases its log record gives
    the reason, and the metric TilesRefused counts it.
    """
    job, ends_at = jobs.claim(TileBuild, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    add_fields(tenant=job.log_id)
    target = _load_target_tree_or_fault(job.log_id)
    while isinstance(target, CompactRange) and job.tree.size < target.size:
        tiles = _load_next_tiles_or_fault(job, target.size)
        if isinstance(tiles, Fault):
            target = tiles
            break
        job = _store_tiles_and_progress(job, tiles)
        if time.monotonic() > ends_at:
            jobs.release(job, size=job.size)
            return
    _finish(job, target)


def _load_target_tree_or_fault(log_id: str) -> CompactRange | Fault:
    """Return the tree of the full tiles of a log's signed head, or the fault of a head that somebody altered."""
    try:
        head = Head.from_item_or_empty(table.get(head_key(log_id)))
    except BrokenHead:
        return Fault("bad_signature", None)
    if head.tree.size and (fault := find_head_fault(log_id, head)):
        return fault
    tile_count = head.tree.size // TILE_WIDTH
    return CompactRange(tile_count * TILE_WIDTH, head.tree.peaks[: tile_count.bit_count()])


@dataclass(frozen=True)
class _LeafTile:
    """The leaf hashes of a full tile, and whether the tile is stored already."""

    index: int
    leaves: Sequence[bytes]
    is_stored: bool


def _load_next_tiles_or_fault(job: TileBuild, target_size: int) -> list[_LeafTile] | Fault:
    """Return the next full tiles of a log, or the first fault in the entries of one that is not stored."""
    first, tree = job.tree.size // TILE_WIDTH, job.tree
    indexes = range(first, min(target_size // TILE_WIDTH, first + MAX_TILES_PER_STEP))
    ids = [TileId(0, index) for index in indexes]
    stored = {} if job.ignores_tiles else log_tile_storage(job.log_id).read(ids)
    tiles: list[_LeafTile] = []
    for tile in ids:
        hashes = stored.get(tile, {})
        is_stored = len(hashes) == TILE_WIDTH
        leaves = [*hashes.values()] if is_stored else _load_verified_leaves_or_fault(job.log_id, tree)
        if isinstance(leaves, Fault):
            # The tiles before the fault are stored first.
            return tiles or leaves
        tiles.append(_LeafTile(tile.index, leaves, is_stored))
        tree = tree.with_appended_leaves(leaves)
    return tiles


def _load_verified_leaves_or_fault(log_id: str, tree: CompactRange) -> list[bytes] | Fault:
    """Return the leaf hashes of the tile after a tree, from its entries, or the first fault among them."""
    prefix, leaves = VerifiedPrefix(tree), list[bytes]()
    for entries in logs.iter_sequenced_entry_chunks(log_id, tree.size, tree.size + TILE_WIDTH):
        result = prefix.with_verified_entries_or_fault(log_id, entries)
        if isinstance(result, Fault) or not entries:
            return result if isinstance(result, Fault) else Fault("missing", prefix.tree.size + 1)
        prefix = result
        leaves += [entry.item["leaf"] for entry in entries]
    return leaves


def _store_tiles_and_progress(job: TileBuild, tiles: Sequence[_LeafTile]) -> TileBuild:
    """Store the tiles, their roots in the tiles above them, and the progress of the job, in one transaction."""
    storage, changes = log_tile_storage(job.log_id), UnitOfWork(now())
    leaves = [leaf for tile in tiles for leaf in tile.leaves]
    writes = [storage.full_tile_write(TileId(0, each.index), each.leaves) for each in tiles if not each.is_stored]
    for write in [*writes, *storage.node_writes(completed_nodes(job.tree, leaves))]:
        changes.add_write(write)
    tree = job.tree.with_appended_leaves(leaves)
    return jobs.save_progress_and_extend_lease(job, changes, size=tree.size, peaks=b"".join(tree.peaks))


def _finish(job: TileBuild, target: CompactRange | Fault) -> None:
    """Remove the job if its tiles are those of the signed tree. Otherwise repeat it, from the entries or later."""
    if job.tree == target:
        jobs.remove(job)
    elif isinstance(target, Fault):
        _report_refused_tiles(target)
        jobs.release_with_growing_delay(job)
    else:
        if job.ignores_tiles:
            _report_refused_tiles(Fault("forked", None))
        # The stored progress may have been altered, so it is never continued after a mismatch.
        delay_seconds = _REBUILD_DELAY_SECONDS if job.ignores_tiles else 0
        jobs.release(job, delay_seconds=delay_seconds, size=0, peaks=b"", ignores_tiles=True)


def _report_refused_tiles(fault: Fault) -> None:
    add_fields(refused=fault.failure, sequence=fault.sequence)
    add_metrics(TilesRefused=1)
