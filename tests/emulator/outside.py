"""The log as somebody outside sees it: entries over HTTP, a tree of their own making, a key from `GET /status`.

Nothing here is the service's own code: RFC 6962 for the tree, RFC 8785 for the leaves, C2SP for the note.
"""

import base64
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.emulator.people import Caller

Entry = dict[str, Any]

_PATIENCE_SECONDS: Final = 40
_LOOK_SECONDS: Final = 0.1
_ED25519: Final = b"\x01"


def whole_log(reader: Caller, organization: str) -> list[Entry]:
    """Return a log's entries in their order, once all are in the tree and all proofs hold; `reader` is an admin."""
    report = settled(reader, organization)
    entries = sorted(entries_of(reader, organization), key=lambda entry: entry["sequence"] or 0)
    assert [entry["sequence"] for entry in entries] == list(range(1, report["treeSize"] + 1))
    leaves = [leaf_hash(entry) for entry in entries]
    assert [entry["integrity"]["leafHash"] for entry in entries] == [leaf.hex() for leaf in leaves]
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert report["rootHash"] == root(leaves).hex()
    _check_note(reader, report["checkpoint"], organization, len(leaves), root(leaves))
    return entries


def settled(reader: Caller, organization: str) -> Any:
    """Return the integrity report of a log once nothing waits to be appended to it."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (report := verified(reader, organization))["pendingEntries"]:
        assert time.monotonic() < deadline, report
        time.sleep(_LOOK_SECONDS)
    assert report["checkedEntries"] == report["treeSize"]
    return report


def verified(reader: Caller, organization: str) -> Any:
    """Return the integrity report of a short log, which has to be valid."""
    report = reader.get(f"/organizations/{organization}/audit-log/verify-integrity").json()
    assert report["valid"], report
    assert report["nextCursor"] is None
    return report


def entries_of(reader: Caller, organization: str, **filters: str) -> list[Entry]:
    """Return all entries of a log, newest first."""
    return items_of(reader, f"/organizations/{organization}/audit-log", **filters)


def items_of(reader: Caller, path: str, **filters: str) -> list[dict[str, Any]]:
    """Return all items of a list, page by page."""
    found: list[dict[str, Any]] = []
    query = {"limit": "100", **filters}
    while True:
        page = reader.get(path, params=query).json()
        found += page["items"]
        if page["nextCursor"] is None:
            return found
        query["cursor"] = page["nextCursor"]


def leaf_hash(entry: Entry) -> bytes:
    """Return the hash of an entry's leaf (RFC 6962, section 2.1)."""
    data = {name: value for name, value in entry.items() if name not in ("sequence", "integrity")}
    return sha256(b"\x00" + rfc8785.dumps(data)).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """Return the tree's hash as RFC 6962 defines it: split at the largest power of two below the number of leaves."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:])).digest()


def _check_note(reader: Caller, note: str, organization: str, size: int, root_hash: bytes) -> None:
    origin, key = f"atrium/{organization}", base64.b64decode(reader.get("/status").json()["auditPublicKey"])
    text, _, signatures = note.partition("\n\n")
    assert text.split("\n") == [origin, str(size), base64.b64encode(root_hash).decode()]
    dash, name, encoded = signatures.rstrip("\n").split(" ")
    signature = base64.b64decode(encoded)
    assert (dash, name) == ("—", origin)
    assert signature[:4] == sha256(origin.encode() + b"\n" + _ED25519 + key).digest()[:4]
    Ed25519PublicKey.from_public_bytes(key).verify(signature[4:], f"{text}\n".encode())
