"""The log as the table holds it, proved from outside: with nothing of the service but its public key."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.harness import rfc6962, snapshots
from tests.harness.api import Json

PUBLIC_KEY: Final = base64.b64encode(
    Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
).decode()
"""That of the key that signs in tests."""

Items = dict[tuple[str, str], Json]


@dataclass(frozen=True)
class Entry:
    """An entry as it is stored: its canonical bytes, and its place in its log once it has one.

    Of an erased one, whose bytes are empty, `kept` is all that stays.
    """

    id: str
    log: str
    sequence: int | None
    body: bytes
    kept: bytes

    @property
    def json(self) -> Json:
        """What the entry says."""
        said: Json = json.loads(self.body)
        return said

    @property
    def leaf(self) -> bytes:
        """The hash of its leaf, made of what it says; of an erased one, what was kept of it."""
        return _leaf(self.body) if self.body else self.kept


@cache
def _leaf(body: bytes) -> bytes:
    return rfc6962.leaf_hash(json.loads(body))


def entries(items: Items | None = None) -> list[Entry]:
    """Return all entries of all logs, sealed ones first in the order of their sequence."""
    items = snapshots.stored() if items is None else items
    found = [_entry(item, items) for item in items.values() if item.get("kind") == "entry"]
    return sorted(found, key=lambda entry: (entry.log, entry.sequence or float("inf"), entry.id))


def _entry(item: Json, items: Items) -> Entry:
    long = (f"B#{item['log_id']}", item["id"])
    body = b"" if "erased" in item else item.get("body") or items[long]["body"]
    assert bool(body) or long not in items
    return Entry(item["id"], item["log_id"], item.get("sequence"), body, item["leaf"])


def assert_proven(items: Items | None = None) -> None:
    """Assert of every log: nothing waits, sequences are dense, and the signed head is that of exactly these entries.

    The batches it was sealed in name each entry, in order. And each has reached whoever is told of it, or its delivery
    says why not.
    """
    items = snapshots.stored() if items is None else items
    logs: dict[str, list[Entry]] = {}
    for entry in entries(items):
        logs.setdefault(entry.log, []).append(entry)
    waiting = [key for key in items if key[0].startswith("Q#") and not key[1].startswith("!")]
    assert waiting == []
    _assert_told(items, logs)
    for log, sealed in logs.items():
        assert [entry.sequence for entry in sealed] == list(range(1, len(sealed) + 1))
        assert _batched(log, items) == [entry.id for entry in sealed]
        head, leaves = items[f"Q#{log}", "!"], [entry.leaf for entry in sealed]
        assert rfc6962.check_note(head["note"], log, leaves, PUBLIC_KEY) == []
        _assert_linked(log, head, leaves, items)


def _assert_linked(log: str, head: Json, leaves: Sequence[bytes], items: Items) -> None:
    """Assert that each entry is a link of a chain, and that the statement signed with the head says just that."""
    chains = {key[1]: item for key, item in items.items() if key[0] == f"Q#{log}" and key[1] != "!"}
    assert sum(int(chain["number"]) for chain in chains.values()) == len(leaves)
    lines = rfc6962.check_note(head["chains"], f"{log}/chains", leaves, PUBLIC_KEY)
    macs = {sk: base64.b64encode(chain["mac"][4:20]).decode() for sk, chain in chains.items()}
    said = [f"chain {int(sk[1:])} {chains[sk]['number']} {mac}" for sk, mac in sorted(macs.items())]
    assert lines == ["since 0", "lost 0", *said]


def _batched(log: str, items: Items) -> list[str]:
    """Return the ids that the batches of a log name, each batch standing where it ends."""
    ids: list[str] = []
    for _, batch in sorted((key, item) for key, item in items.items() if key[0] == f"A#{log}#S"):
        ids += batch["ids"]
        assert int(batch["sk"]) == len(ids)
    return ids


def _assert_told(items: Items, logs: Mapping[str, list[Entry]]) -> None:
    """Assert that each entry has a delivery to each who was subscribed to it, and that none of them waits."""
    for log, sealed in logs.items():
        subscribed = items.get((f"F#{log}", "#"), {}).get("of", {})
        said = {entry.id: entry.json for entry in sealed if entry.body and subscribed}
        for subscriber, events in _wanted(subscribed, said).items():
            kind = "V" if subscribed[subscriber]["kind"] == "organization.webhook" else "N"
            for event in events:
                delivery = items[f"{kind}#{subscriber}", event]
                assert delivery["status"] in ("succeeded", "failed", "skipped"), delivery
                assert delivery["attempts"] or delivery["status"] == "skipped", delivery


def _wanted(subscribed: Iterable[str], said: Mapping[str, Json]) -> dict[str, list[str]]:
    """Return which entries each subscriber is to be told of: from what it is about itself first, what it names."""
    wanted: dict[str, list[str]] = {}
    patterns: dict[str, list[str]] = {}
    for entry_id, entry in said.items():
        if entry["target"]["id"] in subscribed and "events" in entry["data"]:
            patterns[entry["target"]["id"]] = entry["data"]["events"]
        for subscriber, events in patterns.items():
            if any(p in ("*", entry["type"]) or entry["type"].startswith(p.removesuffix("*")) for p in events):
                wanted.setdefault(subscriber, []).append(entry_id)
    return wanted
