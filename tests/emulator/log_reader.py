"""Read and verify audit logs as a client does: entries over HTTP, and the public key from `GET /status`.

It uses none of the service's own code: `tests/harness/rfc6962.py` computes the tree.
"""

import time
from typing import Any, Final

from tests.emulator.api_clients import ApiClient
from tests.harness import rfc6962

LogEntry = dict[str, Any]

_TIMEOUT_SECONDS: Final = 120
_POLL_SECONDS: Final = 0.1


def read_verified_log(reader: ApiClient, organization: str) -> list[LogEntry]:
    """Wait until all entries of a log are appended, verify them, and return them in order. `reader` is an admin."""
    report = wait_until_appended(reader, organization)
    entries = sorted(list_entries(reader, organization), key=lambda entry: entry["sequence"] or 0)
    assert [entry["sequence"] for entry in entries] == list(range(1, report["treeSize"] + 1))
    leaves = [rfc6962.leaf_hash(entry) for entry in entries]
    assert [entry["integrity"]["leafHash"] for entry in entries] == [leaf.hex() for leaf in leaves]
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert report["rootHash"] == rfc6962.tree_root(leaves).hex()
    rfc6962.check_checkpoint(report["checkpoint"], organization, leaves, reader.get("/status").json()["auditPublicKey"])
    return entries


def wait_until_appended(reader: ApiClient, organization: str) -> Any:
    """Return the integrity report of a log once it has no pending entries."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while (report := read_integrity_report(reader, organization))["pendingEntries"]:
        assert time.monotonic() < deadline, report
        time.sleep(_POLL_SECONDS)
    assert report["checkedEntries"] == report["treeSize"]
    return report


def read_integrity_report(reader: ApiClient, organization: str) -> Any:
    """Return the integrity report of a log that fits in one page, and assert that it is valid."""
    report = reader.get(f"/organizations/{organization}/audit-log/verify-integrity").json()
    assert report["valid"], report
    assert report["nextCursor"] is None
    return report


def wait_until_all_verified(reader: ApiClient, organization: str) -> None:
    """Wait until a log of any length has no pending entries, and let the service verify all of it."""
    path, cursor = f"/organizations/{organization}/audit-log/verify-integrity", None
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        report = reader.get(path, params={"cursor": cursor} if cursor else {}).json()
        assert report["valid"], report
        assert time.monotonic() < deadline, report
        cursor = report["nextCursor"]
        if cursor is None and not report["pendingEntries"]:
            return
        time.sleep(0 if cursor else _POLL_SECONDS)


def list_entries(reader: ApiClient, organization: str, **filters: str) -> list[LogEntry]:
    return list_items(reader, f"/organizations/{organization}/audit-log", **filters)


def list_items(reader: ApiClient, path: str, **filters: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    query = {"limit": "100", **filters}
    while True:
        page = reader.get(path, params=query).json()
        items += page["items"]
        if page["nextCursor"] is None:
            return items
        query["cursor"] = page["nextCursor"]
