"""The log as somebody outside sees it: entries over HTTP, a tree of their own making, a key from `GET /status`.

Nothing here is the service's own code; `tests/harness/rfc6962.py` is the proof.
"""

import time
from typing import Any, Final

from tests.emulator.people import Caller
from tests.harness import rfc6962

Entry = dict[str, Any]

_PATIENCE_SECONDS: Final = 40
_LOOK_SECONDS: Final = 0.1


def whole_log(reader: Caller, organization: str) -> list[Entry]:
    """Return a log's entries in their order, once all are in the tree and all proofs hold; `reader` is an admin."""
    report = settled(reader, organization)
    entries = sorted(entries_of(reader, organization), key=lambda entry: entry["sequence"] or 0)
    assert [entry["sequence"] for entry in entries] == list(range(1, report["treeSize"] + 1))
    leaves = [rfc6962.leaf_hash(entry) for entry in entries]
    assert [entry["integrity"]["leafHash"] for entry in entries] == [leaf.hex() for leaf in leaves]
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert report["rootHash"] == rfc6962.root(leaves).hex()
    rfc6962.check_note(report["checkpoint"], organization, leaves, reader.get("/status").json()["auditPublicKey"])
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
