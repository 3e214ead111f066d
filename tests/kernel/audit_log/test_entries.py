"""Log entries have canonical bytes, index keys, and differences between the states of a record."""

import json
from hashlib import sha256
from typing import Any

import pytest
import rfc8785

from chalicelib.kernel.audit_log.entries import INLINE_BYTES, EntryItem, Event, canonical_json, list_field_changes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage.entity import Item
from tests.harness import rfc6962
from tests.kernel.vectors import VECTORS

LOG_VECTORS = VECTORS["log"]
LOG = "01939d3c-0000-7000-8000-00000000000a"


def build_event(**changed: Any) -> Event:
    entry = LOG_VECTORS["entries"][0]
    fields = {
        "id": entry["id"],
        "type": entry["type"],
        "occurred_at": entry["occurredAt"],
        "log": entry["organizationId"],
        "actor": entry["actor"],
        "target": entry["target"],
        "context": entry["context"],
        "changes": entry["changes"],
        "data": entry["data"],
    }
    return Event(**{**fields, **changed})


class TestCanonicalBytes:
    def test_they_equal_the_vector(self):
        assert build_event().canonical_leaf_bytes().decode() == LOG_VECTORS["firstLeafData"]
        assert leaf_hash(build_event().canonical_leaf_bytes()).hex() == LOG_VECTORS["leafHashes"][0]

    @pytest.mark.parametrize("index", range(len(LOG_VECTORS["entries"])))
    def test_each_entry_of_the_vectors_has_its_leaf_hash(self, index):
        assert rfc6962.leaf_hash(LOG_VECTORS["entries"][index]).hex() == LOG_VECTORS["leafHashes"][index]

    def test_an_entry_of_the_system_log_has_no_organization(self):
        assert json.loads(build_event(log="system-7").canonical_leaf_bytes())["organizationId"] is None

    def test_an_entry_with_removed_data_has_null(self):
        assert json.loads(build_event(data=None).canonical_leaf_bytes())["data"] is None

    def test_integers_beyond_the_safe_range_become_doubles(self):
        assert canonical_json({"n": [2**53 + 1, {"m": -(2**60)}], "t": True}) == rfc8785.dumps(
            {"n": [float(2**53 + 1), {"m": float(-(2**60))}], "t": True}
        )

    def test_long_values_are_replaced_by_hash_and_size(self):
        limit = 4096 - len('""')
        event = build_event(data={"fits": "x" * limit, "long": "x" * (limit + 1), "n": 7})
        shortened = json.loads(event.canonical_leaf_bytes())["data"]
        data = json.dumps("x" * (limit + 1)).encode()
        assert shortened == {"fits": "x" * limit, "long": {"sha256": sha256(data).hexdigest(), "size": 4097}, "n": 7}


def items_of(event: Event) -> list[Item]:
    return [write.item or {} for write in event.outbox_writes(Chains(event.log))]


class TestWrites:
    def test_a_short_entry_contains_its_body(self):
        entry, pointer, chain = items_of(build_event())
        assert entry["body"] == build_event().canonical_leaf_bytes()
        assert (pointer["pk"], pointer["sk"], pointer["leaf"]) == (f"Q#{LOG}", build_event().id, entry["leaf"])
        assert pointer["duesk"].startswith("2026-11-20T09:30:10.000Z#")
        assert (chain["number"], chain["mac"]) == (1, entry["mac"])

    def test_a_long_entry_has_a_separate_body_item(self):
        long = build_event(data={"a": "x" * 2000, "b": "y" * 2000})
        assert len(long.canonical_leaf_bytes()) > INLINE_BYTES
        entry, body_item, *_ = items_of(long)
        assert "body" not in entry
        assert body_item == {"pk": f"B#{LOG}", "sk": long.id, "body": long.canonical_leaf_bytes()}
        assert entry["leaf"] == leaf_hash(body_item["body"])

    def test_an_entry_is_indexed_by_target_actor_and_type(self):
        entry, *_ = items_of(build_event())
        partition_keys = {name: entry[f"{facet.index}pk"] for name, facet in EntryItem.facets.items()}
        assert partition_keys == {
            "by_target": f"A#{LOG}#T#{build_event().target['id']}",
            "by_actor": f"A#{LOG}#A#{build_event().actor['id']}",
            "by_type": f"A#{LOG}#E#page.updated",
        }


class TestDiffFields:
    def test_only_changed_fields_are_listed_in_record_order(self):
        before = {"a": 1, "b": [1], "c": None, "version": 1, "d": "x" * 5000}
        current = {"a": 1, "b": [2], "c": 0, "version": 2, "d": "y", "e": "new"}
        differences = list_field_changes(before, current, frozenset({"version"}))
        digest = {"sha256": sha256(json.dumps("x" * 5000).encode()).hexdigest(), "size": 5002}
        assert differences == [
            {"field": "b", "from": [1], "to": [2]},
            {"field": "c", "from": None, "to": 0},
            {"field": "d", "from": digest, "to": "y"},
            {"field": "e", "from": None, "to": "new"},
        ]
