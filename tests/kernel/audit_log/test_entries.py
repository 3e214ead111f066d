"""Log entries have canonical bytes, index keys, and differences between the states of a record."""

import json
from hashlib import sha256
from typing import Any

import rfc8785

from chalicelib.kernel.audit_log.entries import INLINE_BYTES, EntryItem, Event, canonical_json, list_field_changes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.crypto.merkle import leaf_hash
from tests.harness import rfc6962
from tests.kernel.vectors import VECTORS

LOG_VECTORS = VECTORS["log"]
LOG = "01939d3c-0000-7000-8000-00000000000a"


def build_event(**changed: Any) -> Event:
    entry = LOG_VECTORS["entries"][0]
    fields = {name: entry[name] for name in ("id", "type", "actor", "target", "context", "changes", "data")}
    return Event(**{**fields, "occurred_at": entry["occurredAt"], "log": entry["organizationId"], **changed})


def leaf_of(event):
    return json.loads(event.canonical_leaf_bytes())


def items_of(event):
    return [write.item for write in event.outbox_writes(Chains(event.log))]


def test_the_canonical_bytes_and_leaf_hashes_are_those_of_the_vectors():
    assert build_event().canonical_leaf_bytes().decode() == LOG_VECTORS["firstLeafData"]
    assert leaf_hash(build_event().canonical_leaf_bytes()).hex() == LOG_VECTORS["leafHashes"][0]
    assert [rfc6962.leaf_hash(entry).hex() for entry in LOG_VECTORS["entries"]] == LOG_VECTORS["leafHashes"]


def test_a_missing_organization_and_removed_data_are_null():
    assert leaf_of(build_event(log="system-7"))["organizationId"] is None
    assert leaf_of(build_event(data=None))["data"] is None


def test_integers_beyond_the_safe_range_become_doubles():
    doubles: dict[str, Any] = {"n": [float(2**53 + 1), {"m": float(-(2**60))}], "t": True}
    assert canonical_json({"n": [2**53 + 1, {"m": -(2**60)}], "t": True}) == rfc8785.dumps(doubles)


def test_long_values_are_replaced_by_hash_and_size():
    limit = 4096 - len('""')
    shortened = leaf_of(build_event(data={"fits": "x" * limit, "long": "x" * (limit + 1), "n": 7}))["data"]
    digest = sha256(json.dumps("x" * (limit + 1)).encode()).hexdigest()
    assert shortened == {"fits": "x" * limit, "long": {"sha256": digest, "size": 4097}, "n": 7}


def test_a_short_entry_contains_its_body_and_is_indexed_by_target_actor_and_type():
    event = build_event()
    entry, pointer, chain = items_of(event)
    assert entry["body"] == event.canonical_leaf_bytes()
    assert (pointer["pk"], pointer["sk"], pointer["leaf"]) == (f"Q#{LOG}", event.id, entry["leaf"])
    assert pointer["duesk"].startswith("2026-11-20T09:30:10.000Z#")
    assert (chain["number"], chain["mac"]) == (1, entry["mac"])
    assert {name: entry[f"{facet.index}pk"] for name, facet in EntryItem.facets.items()} == {
        "by_target": f"A#{LOG}#T#{event.target['id']}",
        "by_actor": f"A#{LOG}#A#{event.actor['id']}",
        "by_type": f"A#{LOG}#E#page.updated",
    }


def test_a_long_entry_has_a_separate_body_item():
    long = build_event(data={"a": "x" * 2000, "b": "y" * 2000})
    assert len(long.canonical_leaf_bytes()) > INLINE_BYTES
    entry, body_item, *_ = items_of(long)
    assert "body" not in entry
    assert body_item == {"pk": f"B#{LOG}", "sk": long.id, "body": long.canonical_leaf_bytes()}
    assert entry["leaf"] == leaf_hash(body_item["body"])


def test_only_changed_fields_are_listed_in_record_order():
    before = {"a": 1, "b": [1], "c": None, "version": 1, "d": "x" * 5000}
    current = {"a": 1, "b": [2], "c": 0, "version": 2, "d": "y", "e": "new"}
    digest = {"sha256": sha256(json.dumps("x" * 5000).encode()).hexdigest(), "size": 5002}
    assert list_field_changes(before, current, frozenset({"version"})) == [
        {"field": "b", "from": [1], "to": [2]},
        {"field": "c", "from": None, "to": 0},
        {"field": "d", "from": digest, "to": "y"},
        {"field": "e", "from": None, "to": "new"},
    ]
