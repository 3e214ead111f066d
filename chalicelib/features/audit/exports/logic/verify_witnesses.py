"""Verify the cosignatures in a receipt: witnesses have seen the history that contains its entry.

It is a part of the program `verify.py`. https://c2sp.org/tlog-cosignature
"""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from chalicelib.features.audit.exports.logic.verify import (
    HASH_BYTES,
    Checkpoint,
    InvalidInput,
    UsageError,
    base64_bytes_or_empty,
    is_signed,
    parse_json,
    verify_checkpoint_note,
)
from chalicelib.features.audit.exports.logic.verify_receipts import (
    Tree,
    encode_note,
    parse_hashes,
    root_of_inclusion_path_or_none,
    verify_growth,
)

_LOG_KEY: Final = b"\1"
_COSIGNATURE: Final = b"\4"
_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
_MAX_TIME: Final = 253_402_300_799  # the last second of the year 9999
_WITNESS_KEY: Final = re.compile(r"(?P<name>[^\s+]+)\+(?P<id>[0-9a-f]{8})\+(?P<key>[A-Za-z0-9+/=]+)")
_NO_COSIGNATURES: Final = (
    "The receipt has no cosignatures. An entry gets them about an hour after it was written: request the proof again."
)
_NO_WITNESS: Final = "`witness` is not what the service sends: save its response as it is."


class WitnessKey(NamedTuple):
    """The key of a witness: its name, its id in signatures, and the Ed25519 public key."""

    name: str
    key_id: bytes
    public_key: bytes


class WitnessPolicy(NamedTuple):
    """What a verifier demands: cosignatures by `required` of the keys, in the log of anchors with this origin."""

    keys: Sequence[WitnessKey]
    required: int
    origin: str


def parse_witness_key(text: str) -> WitnessKey:
    """Return a witness's verifier key. Raises UsageError."""
    match = _WITNESS_KEY.fullmatch(text)
    typed_key = base64_bytes_or_empty(match["key"]) if match else b""
    if not match or len(typed_key) != HASH_BYTES + 1 or not typed_key.startswith(_COSIGNATURE):
        raise UsageError(f"{text!r} is no verifier key of a witness, which is NAME+ID+KEY: take it from the witness")
    key_id = sha256(f"{match['name']}\n".encode() + typed_key).digest()[:_ID_BYTES]
    if key_id.hex() != match["id"]:
        raise UsageError(f"{text!r} was changed: its id is not that of its name and key")
    return WitnessKey(match["name"], key_id, typed_key[1:])


def log_verifier_key(origin: str, public_key: bytes) -> str:
    """Return the verifier key of a log, which its witnesses need (c2sp.org/signed-note, verifier keys)."""
    typed_key = _LOG_KEY + public_key
    key_id = sha256(f"{origin}\n".encode() + typed_key).digest()[:_ID_BYTES]
    return f"{origin}+{key_id.hex()}+{base64.b64encode(typed_key).decode()}"


def describe_witnesses(
    receipt_text: bytes, keys: Sequence[bytes], policy: WitnessPolicy, earlier_text: bytes | None = None
) -> str:
    """Return one sentence that states what the cosignatures in a verified receipt prove. Raises InvalidInput.

    `earlier_text`: an earlier receipt. The cosigned log of the receipt has to begin with that of the earlier one.
    """
    receipt, witness = _parse_receipt(receipt_text)
    checkpoint, times = verify_cosigned_checkpoint(witness["checkpoint"], keys, policy)
    anchor_leaf = _verify_anchor(receipt, witness["anchor"], keys)
    path = parse_hashes(witness, "path")
    if root_of_inclusion_path_or_none(witness["index"], checkpoint.size, anchor_leaf, path) != checkpoint.root:
        raise InvalidInput("The anchor of the log is not in the log of anchors that the witnesses cosigned.")
    if earlier_text is not None:
        _, earlier = _parse_receipt(earlier_text)
        _verify_extension(verify_cosigned_checkpoint(earlier["checkpoint"], keys, policy)[0], checkpoint, witness)
    latest = datetime.fromtimestamp(max(times), UTC).isoformat().replace("+00:00", "Z")
    count = f"{len(times)} of {len(policy.keys)}"
    return f"{checkpoint.origin}: {count} witnesses have cosigned this history, the last of them at {latest}."


def _parse_receipt(text: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a receipt and its field `witness`. Raises InvalidInput."""
    receipt = parse_json(text, "receipt")
    witness = receipt.get("witness") if isinstance(receipt, dict) else None
    if witness is None:
        raise InvalidInput(_NO_COSIGNATURES)
    match witness:
        case {"anchor": {"checkpoint": str()}, "index": int(), "path": list(), "checkpoint": str()}:
            return receipt, witness
    raise InvalidInput(_NO_WITNESS)


def _verify_anchor(receipt: Mapping[str, Any], anchor: Mapping[str, Any], keys: Sequence[bytes]) -> bytes:
    """Return the leaf of the anchor in the log of anchors, after verifying that it contains the entry."""
    note = anchor["checkpoint"]
    checkpoint = verify_checkpoint_note(encode_note(note), *keys)
    if checkpoint.origin != verify_checkpoint_note(encode_note(receipt["checkpoint"]), *keys).origin:
        raise InvalidInput("The anchor belongs to another log than the entry.")
    leaf, path = bytes.fromhex(receipt["leafHash"]), parse_hashes(anchor, "path")
    if root_of_inclusion_path_or_none(receipt["sequence"] - 1, checkpoint.size, leaf, path) != checkpoint.root:
        raise InvalidInput("The entry is not in the tree that was anchored and cosigned.")
    return anchor_leaf(sha256(encode_note(checkpoint.origin)).hexdigest(), checkpoint.size, checkpoint.root)


def anchor_leaf(log_digest: str, size: int, root: bytes) -> bytes:
    """Return the leaf of an anchor in the log of anchors, given the digest of its log's origin."""
    data = f"{log_digest}\n{size}\n{base64.b64encode(root).decode()}\n"
    return sha256(b"\0" + data.encode()).digest()


def verify_cosigned_checkpoint(note: str, keys: Sequence[bytes], policy: WitnessPolicy) -> tuple[Checkpoint, list[int]]:
    """Return the checkpoint of the log of anchors and the times of its cosignatures, in seconds since 1970."""
    checkpoint = verify_checkpoint_note(encode_note(note), *keys)
    if checkpoint.origin != policy.origin:
        raise InvalidInput(f"The witnesses cosigned the log {checkpoint.origin}, and you expect {policy.origin}.")
    lines = note.rstrip("\n").rpartition("\n\n")[2].split("\n")
    signatures = [(line.split(" ")[1], base64_bytes_or_empty(line.split(" ")[2])) for line in lines]
    times_by_key: dict[bytes, int] = {}
    for key in policy.keys:
        for name, data in signatures:
            if (name, data[:_ID_BYTES]) == (key.name, key.key_id):
                times_by_key[key.public_key] = _verify_cosignature(_signed_text(note), data[_ID_BYTES:], key)
    if len(times_by_key) < policy.required:
        raise InvalidInput(
            f"{len(times_by_key)} of {len(policy.keys)} witnesses have cosigned, and {policy.required} are required: "
            "request the proof again later."
        )
    return checkpoint, [*times_by_key.values()]


def _verify_cosignature(text: bytes, timed_signature: bytes, key: WitnessKey) -> int:
    time = int.from_bytes(timed_signature[:_TIME_BYTES], "big")
    statement = f"cosignature/v1\ntime {time}\n".encode() + text
    if not 0 < time <= _MAX_TIME or not is_signed(statement, timed_signature[_TIME_BYTES:], key.public_key):
        raise InvalidInput(f"The cosignature of {key.name} is wrong.")
    return time


def _verify_extension(earlier: Checkpoint, later: Checkpoint, witness: Mapping[str, Any]) -> None:
    """Verify that the cosigned log of a receipt begins with that of an earlier one. Raises InvalidInput."""
    path = parse_hashes(witness, "consistencyPath")
    if earlier.size > later.size or (earlier.size < later.size and not path):
        raise InvalidInput(
            f"The receipt does not say how it extends the earlier one: request it with witnessedSize={earlier.size}."
        )
    verify_growth(Tree(earlier.size, earlier.root), Tree(later.size, later.root), path)


def _signed_text(note: str) -> bytes:
    return encode_note(note.rstrip("\n").rpartition("\n\n")[0] + "\n")
