"""Log entries have canonical bytes, and the ledger appends each once. Crashes have tests of their own."""

import json
from hashlib import sha256
from typing import Any

import pytest
import rfc8785

from chalicelib.kernel.audit_log import ledger, mac_chains
from chalicelib.kernel.audit_log.entries import INLINE_BYTES, Event, canonical_json, list_field_changes, outbox_writes
from chalicelib.kernel.audit_log.ledger import (
    BATCH_SIZE,
    HEAD_SORT_KEY,
    Head,
    Outbox,
    count_pending_in_one_read,
    head_key,
)
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from tests.harness import memory_aws, rfc6962
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.sample_entity import LOG_ID, create_logged_parcel
from tests.harness.stored_records import load_item
from tests.kernel.vectors import VECTORS

pytestmark = pytest.mark.usefixtures("aws")

LOG_VECTORS = VECTORS["log"]
LOG = "01939d3c-0000-7000-8000-00000000000a"


def build_event(**changed: Any) -> Event:
    entry = LOG_VECTORS["entries"][0]
    fields = {name: entry[name] for name in ("id", "type", "actor", "target", "context", "changes", "data")}
    return Event(**{**fields, "occurred_at": entry["occurredAt"], "log": entry["organizationId"], **changed})


def leaf_of(event):
    return json.loads(event.leaf_data)


def items_of(event):
    return [write.item for write in outbox_writes([event], Chains(event.log))]


def test_the_canonical_bytes_and_leaf_hashes_are_those_of_the_vectors():
    assert build_event().leaf_data.decode() == LOG_VECTORS["firstLeafData"]
    assert leaf_hash(build_event().leaf_data).hex() == LOG_VECTORS["leafHashes"][0]
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


def test_a_long_entry_has_a_separate_body_item():
    long = build_event(data={"a": "x" * 2000, "b": "y" * 2000})
    assert len(long.leaf_data) > INLINE_BYTES
    entry, body_item, *_ = items_of(long)
    assert "body" not in entry
    assert body_item == {"pk": f"B#{LOG}", "sk": long.id, "body": long.leaf_data}
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


def commit_entries(*labels: object) -> None:
    for label in labels:
        create_logged_parcel(str(label))


def append_pending() -> int:
    """Append the pending entries, and return the longest time that one of them waited, in milliseconds."""
    return ledger.append_pending_and_return_longest_wait_ms(LOG_ID)


def list_entries():
    entries = (item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}")
    return sorted(entries, key=lambda entry: (entry.get("sequence", 0), entry["sk"]))


def check_log(size: int) -> None:
    """Append the pending entries. Assert that the tree has this number of them, each once, and so does the head."""
    append_pending()
    entries = list_entries()
    assert [entry["sequence"] for entry in entries] == list(range(1, size + 1))
    head = Head.from_item_or_empty(table.get(head_key(LOG_ID)))
    assert (head.tree.size, head.tree.root_hash()) == (size, rfc6962.tree_root([entry["leaf"] for entry in entries]))
    assert count_pending_in_one_read(LOG_ID) == 0
    due_items = [item["sk"] for item in memory_aws.all_items() if item.get("task") == "ledger.wake"]
    assert due_items == [HEAD_SORT_KEY]  # The head is due until the log's consumer has read to its end.


def test_46_entries_are_appended_per_transaction():
    assert BATCH_SIZE == 46
    commit_entries(*range(BATCH_SIZE + 2))
    with record_calls() as calls:
        append_pending()
    assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"] * 2 + ["dynamodb:Query"]
    check_log(BATCH_SIZE + 2)
    assert [entry["tree_size"] for entry in list_entries()] == [BATCH_SIZE] * BATCH_SIZE + [BATCH_SIZE + 2] * 2


def test_entries_of_several_chains_are_appended_in_the_order_of_their_ids(clock, monkeypatch):
    clock.freeze("2026-11-20T09:30:00.000Z")
    shards = iter(range(mac_chains.SHARDS))
    monkeypatch.setattr(mac_chains, "random_shards", lambda: [next(shards)])
    for n, seconds in enumerate((0, 20, -10, 5)):
        clock.shift(seconds=seconds)
        commit_entries(n)
    check_log(4)
    assert [entry["sk"] for entry in list_entries()] == sorted(entry["sk"] for entry in list_entries())


def test_a_late_entry_is_appended_after_earlier_ones(clock):
    timestamps = ["2026-11-20T09:30:30.000Z", "2026-11-20T09:30:00.000Z"]
    for timestamp in timestamps:
        clock.freeze(timestamp)
        commit_entries(timestamp)
        append_pending()
    check_log(2)
    assert [entry["created_at"] for entry in list_entries()] == timestamps


def test_the_longest_waiting_time_is_returned_and_an_empty_outbox_costs_one_read(clock):
    clock.freeze()
    with record_calls() as calls:
        assert append_pending() == 0
    assert calls.call_names == ["dynamodb:Query"]
    commit_entries("a")
    clock.shift(seconds=3)
    commit_entries("b")
    clock.shift(seconds=1)
    assert append_pending() == 4000


def test_a_limited_read_of_the_outbox_takes_one_query_and_tells_whether_pointers_are_left():
    commit_entries(*range(25))
    with record_calls() as calls:
        limited = Outbox.read(LOG_ID, 3)
    assert [call.parameters["Limit"] for call in calls.call_list] == [3 + 1 + mac_chains.SHARDS]
    assert (len(limited.pointers), limited.complete) == (3, False)
    everything = Outbox.read(LOG_ID)
    assert (len(everything.pointers), everything.complete) == (25, True)
    assert everything.pointers[:3] == limited.pointers
    assert Outbox.read(LOG_ID, 24).complete is False


def test_a_limited_read_of_the_outbox_continues_until_it_reaches_pointers():
    commit_entries("a")
    for shard in range(mac_chains.SHARDS):  # Three of these items fill a page of 1 MB.
        pk, sk = mac_chains.chain_key(LOG_ID, shard)
        memory_aws.put_item({"pk": pk, "sk": sk, "more": "x" * 390_000})
    assert len(Outbox.read(LOG_ID, 3).pointers) == 1


def test_logs_are_independent():
    other = LOG_ID.replace("a", "b")
    commit_entries("a")
    create_logged_parcel("b", log_id=other)
    append_pending()
    assert (count_pending_in_one_read(LOG_ID), count_pending_in_one_read(other)) == (0, 1)


def test_a_long_outbox_is_left_to_a_later_call_after_some_seconds(monkeypatch):
    commit_entries(*range(3))
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "_MAX_APPEND_MS", 0)
        append_pending()
    assert count_pending_in_one_read(LOG_ID) == 3
    check_log(3)


def test_a_worker_that_always_loses_gives_its_message_back():
    commit_entries("a")
    with (
        record_calls() as calls,
        inject_fault(Fault.CONFLICT, times=None),
        pytest.raises(ConcurrentModification),
    ):
        append_pending()
    assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"] * 5
    check_log(1)


def test_the_head_is_updated_and_never_replaced():
    commit_entries("a")
    append_pending()
    memory_aws.put_item({**load_item(head_key(LOG_ID)), "extra": "kept"})
    commit_entries("b")
    append_pending()
    head = load_item(head_key(LOG_ID))
    assert (head["size"], head["extra"]) == (2, "kept")


def test_entries_are_appended_in_the_order_of_their_chains(clock, monkeypatch):
    """The entry of a long request has the earliest ID and is appended last."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [0])
    monkeypatch.setattr(ledger, "BATCH_SIZE", 2)
    for n in range(6):
        clock.freeze(f"2026-11-23T09:00:0{'9' if n < 4 else '1'}.{n:03d}Z")
        commit_entries(n)
    append_pending()
    assert count_pending_in_one_read(LOG_ID) == 0
    statement_lines = Head.from_item_or_empty(table.get(head_key(LOG_ID))).statement.split("\n")
    assert [line for line in statement_lines if line.startswith(("lost", "gap"))] == ["lost 0"]
