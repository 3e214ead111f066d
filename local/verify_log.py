"""`python -m local.verify_log LOG CHECKPOINT PUBLIC_KEY`: check a log without the service, and without its code.

LOG holds JSON, a line for each entry or page of entries, as the audit log answers them, in any order. CHECKPOINT is a
checkpoint that was kept; PUBLIC_KEY is that of `GET /status`, in base64. What is younger than it does not count.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Entry = dict[str, Any]

_KEY_ID_BYTES: Final = 4
_ADDED_LATER: Final = ("sequence", "integrity")


class Broken(Exception):
    """The log is not what was signed; says in which way."""


def verify(lines: Iterable[str], checkpoint: str, public_key: bytes) -> str:
    """Return what was verified, in one sentence. Raises Broken."""
    text, _, signatures = checkpoint.partition("\n\n")
    _verify_signature(f"{text}\n", signatures.splitlines(), public_key)
    name, claimed, signed, *_ = text.split("\n")
    size = int(claimed)
    entries = {entry["sequence"]: entry for entry in _entries(lines) if entry["sequence"]}
    missing = next((sequence for sequence in range(1, size + 1) if sequence not in entries), None)
    if missing:
        raise Broken(f"The entry with sequence {missing} is missing.")
    root = tree_root([leaf_hash(entries[sequence]) for sequence in range(1, size + 1)])
    if base64.b64encode(root).decode() != signed:
        raise Broken("The entries are not those that were signed, or not in that order.")
    return f"{name}: {size} entries, whole and unaltered, and the signature is right."


def leaf_hash(entry: Entry) -> bytes:
    """Return the hash of an entry's canonical JSON (RFC 8785) as a leaf (RFC 6962, section 2.1)."""
    logged = {name: value for name, value in entry.items() if name not in _ADDED_LATER}
    return hashlib.sha256(b"\0" + rfc8785.dumps(logged)).digest()


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root of the tree of these leaf hashes (RFC 6962, section 2.1)."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + tree_root(leaves[:left]) + tree_root(leaves[left:])).digest()


def _entries(lines: Iterable[str]) -> Iterator[Entry]:
    for line in filter(str.strip, lines):
        value = json.loads(line)
        yield from value.get("items", [value])


def _verify_signature(text: str, signatures: Iterable[str], public_key: bytes) -> None:
    """Verify one line `— <name> <base64 of key id and signature>` (c2sp.org/signed-note)."""
    for line in signatures:
        signature = base64.b64decode(line.split(" ")[-1])[_KEY_ID_BYTES:]
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode())
        except InvalidSignature:
            continue
        return
    raise Broken("The checkpoint is not signed with this key.")


def main(arguments: Sequence[str]) -> int:
    """Verify and return the exit code."""
    log, checkpoint, public_key = arguments
    try:
        found = verify(Path(log).read_text().splitlines(), Path(checkpoint).read_text(), base64.b64decode(public_key))
    except Broken as broken:
        print(broken)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
