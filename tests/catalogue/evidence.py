"""The log as the table holds it, proved from outside: with nothing of the service but its public key.

The tree is recomputed by the recursive definition of RFC 6962 (section 2.1), which is not how the service does it.
"""

import base64
import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.catalogue import snapshots
from tests.harness.api import Json

_PUBLIC_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key()
_KEY_ID_BYTES: Final = 4

Items = dict[tuple[str, str], Json]


@dataclass(frozen=True)
class Entry:
    """An entry as it is stored: what was hashed, and its place in its log once it has one."""

    id: str
    log: str
    sequence: int | None
    leaf_data: bytes

    @property
    def json(self) -> Json:
        """What the entry says."""
        said: Json = json.loads(self.leaf_data)
        return said


def entries(items: Items | None = None) -> list[Entry]:
    """Return all entries of all logs, sealed ones first in the order of their sequence."""
    items = snapshots.stored() if items is None else items
    found = [_entry(item, items) for item in items.values() if item.get("kind") == "entry"]
    return sorted(found, key=lambda entry: (entry.log, entry.sequence or float("inf"), entry.id))


def _entry(item: Json, items: Items) -> Entry:
    body = item.get("body") or items[f"B#{item['log_id']}", item["id"]]["body"]
    return Entry(item["id"], item["log_id"], item.get("sequence"), body)


def assert_proven(items: Items | None = None) -> None:
    """Assert of every log: nothing waits, sequences are dense, and the signed head is that of exactly these entries."""
    items = snapshots.stored() if items is None else items
    logs: dict[str, list[Entry]] = {}
    for entry in entries(items):
        logs.setdefault(entry.log, []).append(entry)
    waiting = [key for key in items if key[0].startswith("Q#") and key[1] != "!"]
    assert waiting == []
    for log, sealed in logs.items():
        assert [entry.sequence for entry in sealed] == list(range(1, len(sealed) + 1))
        leaves = [sha256(b"\x00" + entry.leaf_data).digest() for entry in sealed]
        head = f"atrium/{log}\n{len(sealed)}\n{base64.b64encode(root(leaves)).decode()}\n"
        assert_signed(items[f"Q#{log}", "!"]["note"], head, f"atrium/{log}")


def assert_signed(note: str, text: str, name: str) -> None:
    """Assert that a note is this text, signed in this name (C2SP signed-note)."""
    said, _, signature = note.partition("\n\n")
    assert f"{said}\n" == text
    dash, signer, encoded = signature.removesuffix("\n").split(" ")
    assert (dash, signer) == ("—", name)
    _PUBLIC_KEY.verify(base64.b64decode(encoded)[_KEY_ID_BYTES:], text.encode())


def root(leaves: list[bytes]) -> bytes:
    """Return the Merkle tree hash of leaf hashes, as the RFC defines it."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256(b"").digest()
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:])).digest()
