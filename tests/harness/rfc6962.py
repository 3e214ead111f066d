"""RFC 6962 and RFC 8785, implemented independently of the service, to verify logs."""

import base64
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ED25519_SIGNATURE_TYPE: Final = b"\x01"


def leaf_hash(entry: Mapping[str, Any]) -> bytes:
    """Return the hash of an entry's leaf (section 2.1): its canonical JSON without the fields that the ledger adds."""
    data = rfc8785.dumps({name: value for name, value in entry.items() if name not in ("sequence", "integrity")})
    return sha256(b"\x00" + data).digest()


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root hash of a tree, split at the largest power of two below the number of leaves (section 2.1)."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256().digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + tree_root(leaves[:split]) + tree_root(leaves[split:])).digest()


def subtree_roots(leaves: Sequence[bytes], begin: int, end: int) -> list[bytes]:
    """Return the roots of the largest perfect subtrees that together contain a range of leaves, in order."""
    if begin == end:
        return []
    size = max(size for n in range(end.bit_length()) if begin % (size := 1 << n) == 0 and begin + size <= end)
    return [tree_root(leaves[begin : begin + size]), *subtree_roots(leaves, begin + size, end)]


def inclusion_path(leaves: Sequence[bytes], index: int) -> list[str]:
    """Return the audit path of a leaf, in hex (section 2.1.1)."""
    if len(leaves) == 1:
        return []
    left, right = _split(leaves)
    if index < len(left):
        return [*inclusion_path(left, index), tree_root(right).hex()]
    return [*inclusion_path(right, index - len(left)), tree_root(left).hex()]


def consistency_path(leaves: Sequence[bytes], first_size: int, *, is_complete: bool = True) -> list[str]:
    """Return the proof that a tree begins with its first leaves, in hex (section 2.1.2)."""
    if first_size == len(leaves):
        return [] if is_complete else [tree_root(leaves).hex()]
    left, right = _split(leaves)
    if first_size <= len(left):
        return [*consistency_path(left, first_size, is_complete=is_complete), tree_root(right).hex()]
    return [*consistency_path(right, first_size - len(left), is_complete=False), tree_root(left).hex()]


def _split(leaves: Sequence[bytes]) -> tuple[Sequence[bytes], Sequence[bytes]]:
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return leaves[:middle], leaves[middle:]


def check_checkpoint(note: str, organization: str, leaves: Sequence[bytes], public_key: str) -> list[str]:
    """Assert that a checkpoint (C2SP tlog-checkpoint) is of a tree and signed by a key, given in base64.

    Return its extension lines.
    """
    origin, key = f"atrium/{organization}", base64.b64decode(public_key)
    text, _, signatures = note.partition("\n\n")
    lines = text.split("\n")
    assert lines[:3] == [origin, str(len(leaves)), base64.b64encode(tree_root(leaves)).decode()]
    dash, name, encoded = signatures.rstrip("\n").split(" ")
    assert (dash, name) == ("—", origin)
    signature = base64.b64decode(encoded)
    assert signature[:4] == sha256(origin.encode() + b"\n" + _ED25519_SIGNATURE_TYPE + key).digest()[:4]
    Ed25519PublicKey.from_public_bytes(key).verify(signature[4:], f"{text}\n".encode())
    return lines[3:]
