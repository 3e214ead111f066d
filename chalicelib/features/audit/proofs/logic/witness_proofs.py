"""Proofs by witnesses: the anchor that contains an entry, and its place in the cosigned log of anchors."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import call
from typing import Any

from chalicelib.features.audit.proofs.logic.tree_reading import SealedTree, load_verified_paths
from chalicelib.features.audit.witnesses.entities import CosignedCheckpoint, WitnessedLog, cosigned_note, cosigner_names
from chalicelib.features.audit.witnesses.logic import anchor_proofs, anchored_checkpoints
from chalicelib.features.audit.witnesses.logic.anchored_checkpoints import AlteredCheckpoint, AnchoredCheckpoint
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.merkle import root_of_inclusion_path_or_none
from chalicelib.kernel.crypto.tree_tiles import MissingHash, consistency_ranges, inclusion_ranges
from chalicelib.kernel.storage import table


def load_witness_json_or_none(
    tree: SealedTree, index: int, leaf: bytes, witnessed_log: WitnessedLog, earlier_size: int | None
) -> dict[str, Any] | None:
    """Return the public fields of the proof by witnesses that a log contains an entry, or None if there is none yet.

    `index` and `leaf`: of the entry in the tree of its log. `earlier_size`: the number of anchors in an earlier proof,
    with which the proof has to be consistent. The result is also None if somebody altered what is stored for the proof.
    The log record then has `witnessProofMissing`.
    """
    try:
        anchor = anchored_checkpoints.find_first_with_entry(tree.log_id, index + 1)
        if anchor is None or anchor.leaf_index is None or anchor.size > tree.size:
            return None
        cosigned = witnessed_log.find_best_checkpoint_beyond(anchor.leaf_index)
        if cosigned is None:
            return None
        anchor_path = partial(_load_path_to_anchor, tree, index, leaf, anchor)
        cosigned_path = partial(_load_path_to_cosigned_checkpoint, anchor, anchor.leaf_index, cosigned, earlier_size)
        reads: list[Callable[[], Any]] = [anchor_path, cosigned_path]
        path_to_anchor, (path_to_cosigned, consistency_path) = table.gather(call, reads)
    except (MissingHash, AlteredProof, AlteredCheckpoint, Problem) as error:
        add_fields(witnessProofMissing=str(error))
        return None
    return {
        "anchor": {
            "treeSize": anchor.size,
            "path": [each.hex() for each in path_to_anchor],
            "checkpoint": anchor.note,
        },
        "index": anchor.leaf_index,
        "treeSize": checkpoints.parse(cosigned["note"]).checkpoint.size,
        "path": [each.hex() for each in path_to_cosigned],
        "checkpoint": cosigned_note(cosigned),
        "cosignedBy": cosigner_names(cosigned),
        "consistencyPath": None if consistency_path is None else [each.hex() for each in consistency_path],
    }


class AlteredProof(Exception):
    """The stored items lead to another root than the signed one. The message says to which."""


def _load_path_to_anchor(tree: SealedTree, index: int, leaf: bytes, anchor: AnchoredCheckpoint) -> Sequence[bytes]:
    """Return the inclusion proof of an entry in the tree that was anchored. Raises Problem."""
    root = checkpoints.parse(anchor.note).checkpoint.root

    def is_proof(paths: Sequence[Sequence[bytes]]) -> bool:
        return root_of_inclusion_path_or_none(index, anchor.size, leaf, paths[0]) == root

    [path] = load_verified_paths(tree, [inclusion_ranges(index, anchor.size)], is_proof)
    return path


def _load_path_to_cosigned_checkpoint(
    anchor: AnchoredCheckpoint, leaf_index: int, cosigned: CosignedCheckpoint, earlier_size: int | None
) -> tuple[Sequence[bytes], Sequence[bytes] | None]:
    """Return the inclusion proof of an anchor in the log of anchors, and the consistency proof from an earlier size.

    Raises AlteredProof and MissingHash.
    """
    checkpoint = checkpoints.parse(cosigned["note"]).checkpoint
    has_earlier = earlier_size is not None and earlier_size <= checkpoint.size
    ranges = inclusion_ranges(leaf_index, checkpoint.size)
    earlier_ranges = consistency_ranges(earlier_size, checkpoint.size) if earlier_size and has_earlier else []
    path, consistency_path = anchor_proofs.load_paths([ranges, earlier_ranges])
    if root_of_inclusion_path_or_none(leaf_index, checkpoint.size, anchor.leaf, path) != checkpoint.root:
        raise AlteredProof("the hashes of the log of anchors were altered")
    return path, consistency_path if has_earlier else None
