import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from chalicelib.kernel.audit_log.entries import INLINE_BYTES, EntryItem, Event, canonical_json, diff_fields
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage.entity import Item
from tests.harness import rfc6962

VECTORS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["log"]
LOG = "01939d3c-0000-7000-8000-00000000000a"


def event(**changed: Any) -> Event:
    entry = VECTORS["entries"][0]
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
    def test_they_are_those_of_the_contracts_vector(self) -> None:
        assert event().canonical().decode() == VECTORS["firstLeafData"]
        assert leaf_hash(event().canonical()).hex() == VECTORS["leafHashes"][0]

    @pytest.mark.parametrize("at", range(len(VECTORS["entries"])))
    def test_each_entry_of_the_vectors_has_its_leaf(self, at: int) -> None:
        assert rfc6962.leaf_hash(VECTORS["entries"][at]).hex() == VECTORS["leafHashes"][at]

    def test_an_entry_of_the_system_log_belongs_to_no_organization(self) -> None:
        assert json.loads(event(log="system-7").canonical())["organizationId"] is None

    def test_what_was_removed_has_no_data(self) -> None:
        assert json.loads(event(data=None).canonical())["data"] is None

    def test_integers_beyond_what_json_keeps_become_doubles(self) -> None:
        assert canonical_json({"n": [2**53 + 1, {"m": -(2**60)}], "t": True}) == rfc8785.dumps(
            {"n": [float(2**53 + 1), {"m": float(-(2**60))}], "t": True}
        )

    def test_long_values_are_replaced_by_hash_and_size(self) -> None:
        limit = 4096 - len('""')
        found = json.loads(event(data={"fits": "x" * limit, "long": "x" * (limit + 1), "n": 7}).canonical())["data"]
        data = json.dumps("x" * (limit + 1)).encode()
        assert found == {"fits": "x" * limit, "long": {"sha256": sha256(data).hexdigest(), "size": 4097}, "n": 7}


def items(event: Event) -> list[Item]:
    return [write.item or {} for write in event.writes(Chains(event.log))]


class TestWrites:
    def test_a_short_entry_holds_its_bytes(self) -> None:
        entry, pointer, chain = items(event())
        assert entry["body"] == event().canonical()
        assert (pointer["pk"], pointer["sk"], pointer["leaf"]) == (f"Q#{LOG}", event().id, entry["leaf"])
        assert pointer["duesk"].startswith("2026-11-20T09:30:10.000Z#")
        assert (chain["number"], chain["mac"]) == (1, entry["mac"])

    def test_a_long_one_has_them_beside_it(self) -> None:
        long = event(data={"a": "x" * 2000, "b": "y" * 2000})
        assert len(long.canonical()) > INLINE_BYTES
        entry, text, *_ = items(long)
        assert "body" not in entry
        assert text == {"pk": f"B#{LOG}", "sk": long.id, "body": long.canonical()}
        assert entry["leaf"] == leaf_hash(text["body"])

    def test_it_is_found_by_target_actor_and_type(self) -> None:
        entry, *_ = items(event())
        facets = {name: entry[f"{facet.index}pk"] for name, facet in EntryItem.facets.items()}
        assert facets == {
            "by_target": f"A#{LOG}#T#{event().target['id']}",
            "by_actor": f"A#{LOG}#A#{event().actor['id']}",
            "by_type": f"A#{LOG}#E#page.updated",
        }


class TestDifferences:
    def test_only_what_changed_is_named_in_the_records_order(self) -> None:
        before = {"a": 1, "b": [1], "c": None, "version": 1, "d": "x" * 5000}
        now = {"a": 1, "b": [2], "c": 0, "version": 2, "d": "y", "e": "new"}
        named = diff_fields(before, now, frozenset({"version"}))
        short = {"sha256": sha256(json.dumps("x" * 5000).encode()).hexdigest(), "size": 5002}
        assert named == [
            {"field": "b", "from": [1], "to": [2]},
            {"field": "c", "from": None, "to": 0},
            {"field": "d", "from": short, "to": "y"},
            {"field": "e", "from": None, "to": "new"},
        ]
