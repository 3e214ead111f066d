"""Verify receipts: saved proofs that an entry is in a log, and that a log has only grown (RFC 9162, section 2.1).

It is a part of the program `verify.py`.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from chalicelib.features.audit.exports.logic.verify import (
    HEX_HASH,
    Checkpoint,
    Entry,
    InvalidInput,
    hash_node,
    iter_intact_entries,
    parse_json,
    verify_checkpoint_note,
)

NO_PROOF: Final = "This is no {}: save the response of the service as it is."

_MAX_INTEGER: Final = 2**53
_MAX_DIGITS: Final = 21
"""Digits before the point of a number that is written without an exponent (ECMAScript)."""
_MAX_LEADING_ZEROS: Final = 6
_CUT_PATH: Final = "The path does not lead from the entry to `rootHash`. Save the response of the service again."
_FORK: Final = "The log was not only extended: its tree of {} entries does not begin with the tree of {} entries."


class Tree(NamedTuple):
    """The size and the root of a Merkle tree."""

    size: int
    root: bytes


def encode_note(note: str) -> bytes:
    """Return the bytes of a checkpoint. Text that is no Unicode has bytes too, which no signature fits."""
    return note.encode(errors="surrogatepass")


def describe_receipt(text: bytes, keys: Sequence[bytes]) -> str:
    """Return one sentence that states what the proof of an entry proves. Raises InvalidInput."""
    receipt = parse_json(text, "receipt")
    match receipt:
        case {
            "entry": {"id": str(entry_id)} as content,
            "leafHash": str(leaf),
            "sequence": int(sequence),
            "treeSize": int(size),
            "rootHash": str(root),
            "path": list(),
            "checkpoint": str(note),
        }:
            checkpoint = verify_checkpoint_note(encode_note(note), *keys)
        case _:
            raise InvalidInput(NO_PROOF.format("receipt"))
    entry = _verified_entry(content, checkpoint)
    if (entry.sequence, entry.leaf.hex()) != (sequence, leaf) or not sequence <= entry.tree_size <= checkpoint.size:
        raise InvalidInput("The receipt was altered: its sequence, hash and tree size are not those of the entry.")
    computed = root_of_inclusion_path_or_none(sequence - 1, size, entry.leaf, parse_hashes(receipt, "path"))
    if computed is None or computed.hex() != root:
        raise InvalidInput(_CUT_PATH)
    verify_growth(
        Tree(size, computed), Tree(checkpoint.size, checkpoint.root), parse_hashes(receipt, "consistencyPath")
    )
    return (
        f"{checkpoint.origin}: the entry {entry_id} with sequence {sequence} is proven to be in the signed tree of "
        f"{checkpoint.size} entries: {'erased' if entry.erased else 'unaltered'}."
    )


def describe_consistency(text: bytes, saved: Sequence[Checkpoint], keys: Sequence[bytes]) -> str:
    """Return one sentence that states what a proof of consistency proves about saved checkpoints.

    `saved`: the earlier checkpoint and, if there is one, the later one. Raises InvalidInput.
    """
    proof = parse_json(text, "proof")
    match proof:
        case {
            "from": int(first_size),
            "to": int(second_size),
            "toRootHash": str(root),
            "path": list(),
            "checkpoint": str(note),
        } if HEX_HASH.fullmatch(root):
            newest = verify_checkpoint_note(encode_note(note), *keys)
        case _:
            raise InvalidInput(NO_PROOF.format("proof of consistency"))
    for checkpoint, size in zip(saved, (first_size, second_size), strict=False):
        if (checkpoint.origin, checkpoint.size) != (newest.origin, size):
            raise InvalidInput(
                f"The proof is about {newest.origin} with {size} entries, and the checkpoint about {checkpoint.origin} "
                f"with {checkpoint.size}: request a proof with the sizes in the checkpoints."
            )
    first = Tree(first_size, saved[0].root)
    second = Tree(second_size, saved[1].root if saved[1:] else bytes.fromhex(root))
    verify_growth(first, second, parse_hashes(proof, "path"))
    verify_growth(second, Tree(newest.size, newest.root), parse_hashes(proof, "consistencyPath"))
    return (
        f"{newest.origin}: the log with {second_size} entries is proven to begin with the {first_size} entries of the "
        "earlier checkpoint."
    )


def root_of_inclusion_path_or_none(index: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes | None:
    """Return the root to which an inclusion proof leads (RFC 9162, 2.1.3.2), or None if it has another length."""
    if not 0 <= index < size:
        return None
    node, last = leaf, size - 1
    for sibling in path:
        if not last:
            return None
        if index & 1 or index == last:
            node = hash_node(sibling, node)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            node = hash_node(node, sibling)
        index, last = index >> 1, last >> 1
    return None if last else node


def verify_growth(first: Tree, second: Tree, path: Sequence[bytes]) -> None:
    """Verify that a tree begins with a smaller one (RFC 9162, 2.1.4.2). Raises InvalidInput."""
    if first.size == second.size and not path:
        is_proven = first.root == second.root
    elif 0 < first.size < second.size and path:
        is_complete_subtree = not first.size & (first.size - 1)
        is_proven = _roots_of_consistency_path_or_none(
            first.size, second.size, [first.root, *path] if is_complete_subtree else path
        ) == (first.root, second.root)
    else:
        is_proven = False
    if not is_proven:
        raise InvalidInput(_FORK.format(second.size, first.size))


def _roots_of_consistency_path_or_none(
    first_size: int, second_size: int, nodes: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    index, last = first_size - 1, second_size - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    first = second = nodes[0]
    for node in nodes[1:]:
        if not last:
            return None
        if index & 1 or index == last:
            first, second = hash_node(node, first), hash_node(node, second)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            second = hash_node(second, node)
        index, last = index >> 1, last >> 1
    return None if last else (first, second)


def parse_hashes(record: Mapping[str, Any], name: str) -> list[bytes]:
    """Return the hashes in a field of a proof; none if it is null. Raises InvalidInput."""
    hashes = record.get(name)
    hashes = [] if hashes is None else hashes
    if not isinstance(hashes, list) or not all(isinstance(each, str) and HEX_HASH.fullmatch(each) for each in hashes):
        raise InvalidInput(f"`{name}` is no list of hashes: save the response of the service as it is.")
    return [*map(bytes.fromhex, hashes)]


def _verified_entry(content: Mapping[str, Any], checkpoint: Checkpoint) -> Entry:
    """Return the position of an entry, after verifying its hash or, if it is erased, its signature."""
    content = {**content}
    sequence, integrity = content.pop("sequence", None), content.pop("integrity", None)
    try:
        line = canonical_json(content)[:-1] + f',"sequence":{json.dumps(sequence)},"integrity":'
        [entry] = iter_intact_entries(
            [(line + json.dumps(integrity, separators=(",", ":")) + "}").encode()], checkpoint
        )
    except (ValueError, OverflowError, RecursionError):
        raise InvalidInput(NO_PROOF.format("receipt")) from None
    return entry


def canonical_json(value: Any) -> str:
    """Return a value that was parsed from JSON as canonical JSON (RFC 8785). Raises ValueError."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: str(name).encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, int) and abs(value) < _MAX_INTEGER else _canonical_number(float(value))


def _canonical_number(number: float) -> str:
    """Return a number as ECMAScript writes it. Raises ValueError for infinity, and if it is not a number."""
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("JSON has no such number")  # noqa: TRY004 - the value is wrong, not its type
    stripped = "".join(map(str, digit_tuple)).rstrip("0")
    if not stripped:
        return "0"
    digits, point = stripped.lstrip("0"), len(digit_tuple) + exponent
    if len(digits) <= point <= _MAX_DIGITS:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= _MAX_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -_MAX_LEADING_ZEROS < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text
