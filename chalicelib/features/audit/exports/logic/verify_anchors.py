"""Verify the list of all anchors: witnesses have cosigned it, and no two anchors of one log contradict each other.

It is a part of the program `verify.py`.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, NamedTuple

from chalicelib.features.audit.exports.logic.verify import (
    HEX_HASH,
    Checkpoint,
    InvalidInput,
    MerkleTree,
    parse_json,
    verify_checkpoint_note,
)
from chalicelib.features.audit.exports.logic.verify_receipts import (
    NO_PROOF,
    Tree,
    encode_note,
    parse_hashes,
    verify_growth,
)
from chalicelib.features.audit.exports.logic.verify_witnesses import (
    WitnessPolicy,
    anchor_leaf,
    verify_cosigned_checkpoint,
)

_NO_PAGE: Final = "This is no page of the list of anchors: save the responses of GET /anchors as they are."


class Anchor(NamedTuple):
    """An anchor: the digest of its log's origin, and the size and the root of its tree."""

    log: str
    size: int
    root: str


def describe_anchors(
    pages: Sequence[bytes], proofs: Sequence[bytes], keys: Sequence[bytes], policy: WitnessPolicy
) -> str:
    """Return what the pages of the list of anchors prove, a sentence in each line. Raises InvalidInput.

    `proofs`: proofs of consistency of single logs. If there is one of a log, all its anchors have to be covered.
    """
    parsed = [_parse_page(page) for page in pages]
    notes = {note for _, note in parsed if note is not None}
    if not notes:
        raise InvalidInput("No page has a checkpoint: no witness has cosigned the list yet.")
    # All witnesses of the policy have cosigned the same log, so the largest checkpoint is that of all pages.
    checkpoints = [verify_cosigned_checkpoint(note, keys, policy) for note in notes]
    checkpoint, times = max(checkpoints, key=lambda each: each[0].size)
    anchors = _anchors_of_checkpoint([anchor for page, _ in parsed for anchor in page], checkpoint)
    roots = _roots_by_size_by_log(anchors)
    proven = _verify_growth_of_logs(roots, [_parse_growth_proof(text, keys) for text in proofs])
    summary = (
        f"{checkpoint.origin}: these are the {len(anchors)} anchors of {len(roots)} logs that {len(times)} of "
        f"{len(policy.keys)} witnesses have cosigned, and no two of one size contradict each other."
    )
    growth = [f"{origin}: its {count} anchors are proven to extend each other." for origin, count in proven]
    return "\n".join([summary, *growth])


def _parse_page(text: bytes) -> tuple[list[tuple[int, Anchor]], str | None]:
    """Return the anchors of a page with their indexes, and its checkpoint. Raises InvalidInput."""
    page = parse_json(text, "list")
    match page:
        case {"items": list(items), "checkpoint": None | str() as note}:
            return [_parse_anchor(item) for item in items], note
    raise InvalidInput(_NO_PAGE)


def _parse_anchor(item: Any) -> tuple[int, Anchor]:
    match item:
        case {"index": int(index), "log": str(log), "treeSize": int(size), "rootHash": str(root)}:
            if HEX_HASH.fullmatch(log) and HEX_HASH.fullmatch(root) and size > 0:
                return index, Anchor(log, size, root)
    raise InvalidInput(_NO_PAGE)


def _anchors_of_checkpoint(anchors: Iterable[tuple[int, Anchor]], checkpoint: Checkpoint) -> list[Anchor]:
    """Return the anchors that a checkpoint signs, in their order. Raises InvalidInput."""
    by_index, tree = dict(anchors), MerkleTree()
    for index in range(checkpoint.size):
        if index not in by_index:
            raise InvalidInput(f"The anchor with index {index} is missing: pass all pages of the list.")
        log, size, root = by_index[index]
        tree.append(anchor_leaf(log, size, bytes.fromhex(root)))
    if tree.root() != checkpoint.root:
        raise InvalidInput("These are not the anchors that the witnesses cosigned: their tree has another root.")
    return [by_index[index] for index in range(checkpoint.size)]


def _roots_by_size_by_log(anchors: Iterable[Anchor]) -> dict[str, dict[int, str]]:
    """Return the root of each size of each log. Raises InvalidInput if a log has two of the same size."""
    roots: dict[str, dict[int, str]] = {}
    for log, size, root in anchors:
        if roots.setdefault(log, {}).setdefault(size, root) != root:
            raise InvalidInput(
                f"The log with the digest {log} was anchored with two histories: two anchors with {size} entries have "
                "different roots. Keep the list, which is the evidence."
            )
    return roots


def _parse_growth_proof(text: bytes, keys: Sequence[bytes]) -> tuple[str, int, int, list[bytes]]:
    """Return the origin of the log that a proof of consistency is about, both sizes and the path."""
    proof = parse_json(text, "proof")
    match proof:
        case {"from": int(first), "to": int(second), "path": list(), "checkpoint": str(note)}:
            origin = verify_checkpoint_note(encode_note(note), *keys).origin
            return origin, first, second, parse_hashes(proof, "path")
    raise InvalidInput(NO_PROOF.format("proof of consistency"))


def _verify_growth_of_logs(
    roots_by_log: dict[str, dict[int, str]], proofs: Iterable[tuple[str, int, int, list[bytes]]]
) -> list[tuple[str, int]]:
    """Return the logs whose anchors are proven to extend each other, and the number of these. Raises InvalidInput."""
    covered: dict[str, set[tuple[int, int]]] = {}
    for origin, first, second, path in proofs:
        roots = roots_by_log.get(_digest(origin), {})
        if not {first, second} <= roots.keys():
            raise InvalidInput(f"{origin}: the list has no anchors with {first} and {second} entries.")
        earlier, later = (Tree(size, bytes.fromhex(roots[size])) for size in (first, second))
        verify_growth(earlier, later, path)
        covered.setdefault(origin, set()).add((first, second))
    for origin, pairs in covered.items():
        for first, second in pairwise(sorted(roots_by_log[_digest(origin)])):
            if (first, second) not in pairs:
                raise InvalidInput(f"{origin}: pass the proof with from={first} and to={second}, too.")
    return [(origin, len(roots_by_log[_digest(origin)])) for origin in covered]


def _digest(origin: str) -> str:
    return sha256(origin.encode()).hexdigest()
