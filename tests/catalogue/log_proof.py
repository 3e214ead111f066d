"""Verifies the stored logs independently of the service, with nothing but its public key."""

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.notifications.webhooks.models.attempt_counts import COUNTS_PREFIX
from tests.harness import rfc6962, snapshots
from tests.harness.api import ApiResponse, Json

_TILE_WIDTH: Final = 256
PUBLIC_KEY: Final = base64.b64encode(
    Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
).decode()
"""The public key of the signing key in tests."""

Items = dict[tuple[str, str], Json]


@dataclass(frozen=True)
class StoredEntry:
    """A stored entry: its canonical bytes, and its sequence unless it is pending.

    An erased entry has an empty body. Its stored leaf hash remains.
    """

    id: str
    log: str
    sequence: int | None
    body: bytes
    stored_leaf_hash: bytes

    @property
    def json(self) -> Json:
        fields: Json = json.loads(self.body)
        return fields

    @property
    def leaf_hash(self) -> bytes:
        """The leaf hash, computed from the body, or the stored one if the entry is erased."""
        return _leaf(self.body) if self.body else self.stored_leaf_hash


@cache
def _leaf(body: bytes) -> bytes:
    return rfc6962.leaf_hash(json.loads(body))


def load_entries(items: Items | None = None) -> list[StoredEntry]:
    """Return the entries of all logs, in the order of their sequences. Pending ones come last."""
    items = snapshots.items_by_key() if items is None else items
    loaded = [_stored_entry(item, items) for item in items.values() if item.get("kind") == "entry"]
    return sorted(loaded, key=lambda entry: (entry.log, entry.sequence or float("inf"), entry.id))


def entries_of_request(answer: ApiResponse) -> list[Json]:
    return [entry.json for entry in load_entries() if entry.json["context"]["requestId"] == answer.request_id]


def entry_of_request(answer: ApiResponse) -> Json:
    (entry,) = entries_of_request(answer)
    return entry


def principal_of(entry: Json) -> Json:
    """Return who caused an entry, as the service authenticated them: of an application event, who reported it."""
    principal: Json = entry["reportedBy"] if "reportedBy" in entry else entry["actor"]
    return principal


def _stored_entry(item: Json, items: Items) -> StoredEntry:
    body_key = (f"B#{item['log_id']}", item["id"])
    body = b"" if "erased" in item else item.get("body") or items[body_key]["body"]
    assert bool(body) or body_key not in items
    return StoredEntry(item["id"], item["log_id"], item.get("sequence"), body, item["leaf"])


def assert_logs_are_proven(items: Items | None = None) -> None:
    """Assert that every log is valid.

    No entry is pending, sequences have no gaps, the signed checkpoint is that of exactly these entries, the batches
    list each entry and its hash in order, the stored tiles are those of the tree, and each entry has a completed
    delivery for every subscriber.
    """
    items = snapshots.items_by_key() if items is None else items
    logs: dict[str, list[StoredEntry]] = {}
    for entry in load_entries(items):
        logs.setdefault(entry.log, []).append(entry)
    pending = [key for key in items if key[0].startswith("Q#") and not key[1].startswith("!")]
    assert pending == []
    _assert_delivered(items, logs)
    _assert_attempts_are_counted_once(items)
    _assert_streams_are_scheduled_until_they_have_sent_all(items)
    for log, log_entries in logs.items():
        assert [entry.sequence for entry in log_entries] == list(range(1, len(log_entries) + 1))
        assert _ids_in_batches(log, items) == [entry.id for entry in log_entries]
        head, leaves = items[f"Q#{log}", "!"], [entry.leaf_hash for entry in log_entries]
        assert rfc6962.check_checkpoint(head["note"], log, leaves, PUBLIC_KEY) == []
        assert _hashes_in_batches(log, items) == b"".join(leaves)
        _assert_tiles_are_those_of_the_tree(log, leaves, items)
        _assert_chains_are_complete(log, head, leaves, items)


def _assert_chains_are_complete(log: str, head: Json, leaves: Sequence[bytes], items: Items) -> None:
    """Assert that the chains contain every entry, and that the signed statement lists the chains."""
    chains = {key[1]: item for key, item in items.items() if key[0] == f"Q#{log}" and key[1] != "!"}
    assert sum(int(chain["number"]) for chain in chains.values()) == len(leaves)
    lines = rfc6962.check_checkpoint(head["chains"], f"{log}/chains", leaves, PUBLIC_KEY)
    macs = {sk: base64.b64encode(chain["mac"][4:20]).decode() for sk, chain in chains.items()}
    chain_lines = [f"chain {int(sk[1:])} {chains[sk]['number']} {mac}" for sk, mac in sorted(macs.items())]
    assert lines == ["since 0", "lost 0", *chain_lines]


def _ids_in_batches(log: str, items: Items) -> list[str]:
    """Return the ids in the batches of a log, each of which is stored at the sequence of its last entry."""
    ids: list[str] = []
    for _, batch in sorted((key, item) for key, item in items.items() if key[0] == f"A#{log}#S"):
        ids += batch["ids"]
        assert int(batch["sk"]) == len(ids)
    return ids


def _hashes_in_batches(log: str, items: Items) -> bytes:
    return b"".join(item["leaves"] for key, item in sorted(items.items()) if key[0] == f"A#{log}#S")


def _assert_tiles_are_those_of_the_tree(log: str, leaves: Sequence[bytes], items: Items) -> None:
    """Assert that each full tile of leaves is stored, and its root above it."""
    stored = {key[1]: item for key, item in items.items() if key[0] == f"A#{log}#H" and "#" in key[1]}
    full = [leaves[start - _TILE_WIDTH : start] for start in range(_TILE_WIDTH, len(leaves) + 1, _TILE_WIDTH)]
    expected = {f"0#{index:010d}": b"".join(tile) for index, tile in enumerate(full)}
    roots = {f"n{index:03d}": rfc6962.tree_root(tile) for index, tile in enumerate(full)}
    assert {sk: item["hashes"] for sk, item in stored.items() if sk.startswith("0#")} == expected
    above = stored.get("1#0000000000", {})
    assert {name: hash_ for name, hash_ in above.items() if name not in ("pk", "sk")} == roots


def _assert_delivered(items: Items, logs: Mapping[str, list[StoredEntry]]) -> None:
    """Assert that each entry has a completed delivery for every subscriber."""
    for log, log_entries in logs.items():
        subscribers = items.get((f"F#{log}", "#"), {}).get("of", {})
        bodies = {entry.id: entry.json for entry in log_entries if entry.body and subscribers}
        for subscriber, events in _expected_deliveries(subscribers, bodies).items():
            kind = "V" if subscribers[subscriber]["kind"] == "organization.webhook" else "N"
            for event in events:
                delivery = items[f"{kind}#{subscriber}", event]
                assert delivery["status"] in ("succeeded", "failed", "skipped"), delivery
                assert delivery["attempts"] or delivery["status"] == "skipped", delivery


def _assert_attempts_are_counted_once(items: Items) -> None:
    """Assert that the statistics of webhooks count each attempt of a stored delivery."""
    attempts, counts = Counter[str](), Counter[str]()
    for (pk, sk), item in items.items():
        if pk.startswith("V#") and sk.startswith(COUNTS_PREFIX):
            names = [name for name in item if name.endswith((".delivered", ".failed"))]
            counts[pk] += sum(int(item[name]) for name in names)
        elif pk.startswith("V#") and "attempts" in item:
            attempts[pk] += len(item["attempts"])
    assert +counts == +attempts


def _assert_streams_are_scheduled_until_they_have_sent_all(items: Items) -> None:
    """Assert that each active log stream has sent its log, or will be started for the rest."""
    for item in items.values():
        if item.get("kind") == "organization.log_stream" and item["enabled"] and "disabled_reason" not in item:
            progress = items[f"V#{item['id']}", "!PROGRESS"]
            size = items[f"Q#{item['organization_id']}", "!"]["size"]
            assert progress["position"] == size or "duepk" in progress, progress


def _expected_deliveries(subscribers: Iterable[str], bodies: Mapping[str, Json]) -> dict[str, list[str]]:
    """Return the ids of the entries for each subscriber, from the first entry about its subscription on."""
    expected: dict[str, list[str]] = {}
    patterns: dict[str, list[str]] = {}
    for entry_id, entry in bodies.items():
        target: Json = {"id": "", "type": ""} if "reportedBy" in entry else entry["target"]
        if target["id"] in subscribers and "events" in entry["data"]:
            patterns[target["id"]] = entry["data"]["events"]
        for subscriber, events in patterns.items():
            is_own_part = target["type"].startswith("organization.webhook.")
            if is_own_part and entry["data"]["webhookId"] == subscriber:
                continue  # A webhook receives nothing about its own deliveries.
            if any(p in ("*", entry["type"]) or entry["type"].startswith(p.removesuffix("*")) for p in events):
                expected.setdefault(subscriber, []).append(entry_id)
    return expected
