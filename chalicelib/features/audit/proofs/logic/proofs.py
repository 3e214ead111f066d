"""Inclusion and consistency proofs of a log, verified before they are returned."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import call
from typing import Any, Final

from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, find_failure_at_claimed_sequence
from chalicelib.features.audit.proofs.logic.tree_reading import (
    ALTERED_DETAIL,
    Paths,
    SealedTree,
    load_verified_paths,
)
from chalicelib.features.audit.proofs.logic.witness_proofs import load_witness_json_or_none
from chalicelib.features.audit.proofs.models import ProofQuery
from chalicelib.features.audit.witnesses.entities import WitnessedLog
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.crypto.merkle import is_consistent, root_of_inclusion_path_or_none
from chalicelib.kernel.crypto.tree_tiles import consistency_ranges, inclusion_ranges, tree_ranges
from chalicelib.kernel.storage import table

UNSEALED_RETRY_SECONDS: Final = 2
"""Time after which a caller asks again for the proof of an entry that has no sequence yet."""


def build_entry_proof_json(
    tree: SealedTree,
    stored: StoredEntry,
    entry_json: bytes,
    query: ProofQuery,
    witnessed_log: WitnessedLog | None,
) -> bytes:
    """Return the proof of an entry as JSON. `entry_json`: the entry, which is sent as it is.

    `witnessed_log`: the cosigned checkpoints of the log of anchors, if there are any.

    Raises Problem `conflict` if the entry is not in the tree yet or was altered, ValidationProblem if the size in the
    query does not fit, and as `load_verified_paths` does.
    """
    sequence, size = _provable_sequence_or_raise(tree, stored), query.tree_size or tree.size
    if not sequence <= size <= tree.size:
        detail = f"must be between {sequence}, the sequence of the entry, and {tree.size}, the size of the log"
        raise ValidationProblem([FieldError("query/treeSize", "out_of_range", detail)])
    leaf, index = stored.item["leaf"], sequence - 1

    def is_proof(paths: Paths) -> bool:
        root = root_of_inclusion_path_or_none(index, size, leaf, paths[0])
        return root is not None and is_consistent(size, root, tree.size, tree.root, paths[1])

    ranges = [inclusion_ranges(index, size), consistency_ranges(size, tree.size)]
    reads: list[Callable[[], Any]] = [partial(load_verified_paths, tree, ranges, is_proof)]
    if witnessed_log:
        reads.append(partial(load_witness_json_or_none, tree, index, leaf, witnessed_log, query.witnessed_size))
    (path, path_to_head), *witness = table.gather(call, reads)
    root = root_of_inclusion_path_or_none(index, size, leaf, path)
    fields = {
        "leaf_hash": leaf.hex(),
        "sequence": sequence,
        "tree_size": size,
        "root_hash": (root or b"").hex(),
        **_path_fields(tree, size, path, path_to_head),
        "witness": witness[0] if witness else None,
    }
    public_fields = {to_camel(name): value for name, value in fields.items()}
    return b'{"entry":' + entry_json + b"," + to_json(public_fields)[1:]


def _provable_sequence_or_raise(tree: SealedTree, stored: StoredEntry) -> int:
    """Return the sequence of an entry. Raises Problem `conflict` if it has none in the tree, or was altered."""
    sequence = stored.item.get("sequence")
    if "sequence" not in stored.item or (isinstance(sequence, int) and sequence > tree.size):
        raise Problem(
            "conflict",
            "The entry is not in the signed tree yet. Try again in a moment.",
            headers={"Retry-After": str(UNSEALED_RETRY_SECONDS)},
        )
    if not isinstance(sequence, int) or find_failure_at_claimed_sequence(tree.log_id, stored):
        raise Problem("conflict", ALTERED_DETAIL.format("The entry was altered."))
    return sequence


def build_consistency_proof_fields(tree: SealedTree, from_size: int, to_size: int | None) -> dict[str, Any]:
    """Return the fields of the proof that a log at one size is the beginning of the log at another.

    Raises ValidationProblem if the log is shorter, and as `load_verified_paths` does.
    """
    to = tree.size if to_size is None else to_size
    errors = [
        FieldError(f"query/{name}", "out_of_range", f"must be {tree.size} or less, which is the size of the log")
        for name, size in (("from", from_size), ("to", to))
        if size > tree.size
    ]
    if errors:
        raise ValidationProblem(errors)
    ranges = [
        consistency_ranges(from_size, to),
        consistency_ranges(to, tree.size),
        tree_ranges(from_size),
        tree_ranges(to),
    ]

    def is_proof(paths: Paths) -> bool:
        path, path_to_head, [from_root], [to_root] = paths
        is_growth = is_consistent(from_size, from_root, to, to_root, path)
        return is_growth and is_consistent(to, to_root, tree.size, tree.root, path_to_head)

    path, path_to_head, [from_root], [to_root] = load_verified_paths(tree, ranges, is_proof)
    return {
        "from_": from_size,
        "to": to,
        "from_root_hash": from_root.hex(),
        "to_root_hash": to_root.hex(),
        **_path_fields(tree, to, path, path_to_head),
    }


def _path_fields(tree: SealedTree, size: int, path: Sequence[bytes], path_to_head: Sequence[bytes]) -> dict[str, Any]:
    return {
        "path": [each.hex() for each in path],
        "checkpoint": tree.checkpoint,
        "consistency_path": None if size == tree.size else [each.hex() for each in path_to_head],
    }
