"""The ledger appends no forged entries or pointers from the table, and continues with the log."""

import json
from functools import reduce
from typing import Any, Final, cast

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.authenticity import is_authentic_pending_item, make_pending_mac
from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, pending_key
from chalicelib.kernel.audit_log.ledger import HEAD_SORT_KEY, count_pending_in_one_read
from chalicelib.kernel.audit_log.mac_chains import MAC_BYTES, Link
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import write_log_record_of_block
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage import table
from chalicelib.kernel.work.scheduler import enqueue_due_tasks
from tests.harness import memory_aws
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.memory_aws import Item
from tests.harness.sample_entity import LOG_ID, create_logged_parcel
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("aws")

BODY: Final = (
    '{"actor":{"id":"a","name":"Mallory","type":"user"},"changes":[],"context":{"requestId":null},"data":null,'
    '"id":"%s","occurredAt":"%s","target":{"id":"t","name":"T","type":"organization"},'
    '"type":"organization.ownership_transferred"}'
)
LINK: Final = Link(0, 1, b"").to_bytes()
OTHER_LINK: Final = Link(1, 2, bytes(MAC_BYTES)).to_bytes()
OTHER_LOG: Final = LOG_ID.replace("a", "b")


@pytest.fixture(autouse=True)
def log_fields():
    with write_log_record_of_block("message", "append_entries") as fields:
        yield fields


def put_forged_entry(mac: bytes | None = None, link: bytes | None = LINK) -> Item:
    """Store an entry and its pointer with invalid proofs. Return the entry's item."""
    entry_id = new_id(now())
    entry = EntryItem.from_canonical_bytes(LOG_ID, (BODY % (entry_id, now())).encode())
    proof = ({"mac": mac} if mac else {}) | ({"link": link} if link else {})
    item = entry.item() | proof
    memory_aws.put_item(item)
    memory_aws.put_item(build_pending_pointer(LOG_ID, entry_id, entry.leaf, proof, now()))
    return item


def append_pending() -> None:
    """Append the pending entries. Assert that none is left."""
    ledger.append_pending_and_return_longest_wait_ms(LOG_ID)
    assert count_pending_in_one_read(LOG_ID) == 0


def list_items(pk):
    return [item for item in memory_aws.all_items() if item["pk"] == pk]


def appended_entry_ids():
    entries = [item for item in list_items(f"A#{LOG_ID}") if "sequence" in item]
    return [item["sk"] for item in sorted(entries, key=lambda item: item["sequence"])]


def pending_pointers(log=LOG_ID):
    pointers = [item for item in list_items(f"Q#{log}") if not item["sk"].startswith(HEAD_SORT_KEY)]
    return sorted(pointers, key=lambda pointer: pointer["sk"])


def quarantine_reasons():
    return [item["reason"] for item in list_items(f"QUARANTINE#{LOG_ID}")]


def test_an_entry_without_a_mac_is_quarantined_with_its_pointer(log_fields):
    create_logged_parcel("before")
    item, other = put_forged_entry(), put_forged_entry()
    create_logged_parcel("behind")
    append_pending()
    assert len(appended_entry_ids()) == 2
    assert item["sk"] not in appended_entry_ids()
    assert table.get((f"A#{LOG_ID}", item["sk"])) is None
    assert sorted(log_fields["quarantined"]) == sorted([item["sk"], other["sk"]])
    quarantined, _ = sorted(list_items(f"QUARANTINE#{LOG_ID}"), key=lambda quarantined: quarantined["pointer"])
    assert quarantined["reason"] == "not_authentic"
    assert json.loads(quarantined["pointer"])["sk"]["S"] in (item["sk"], other["sk"])
    assert json.loads(quarantined["entry"])["type"]["S"] == "organization.ownership_transferred"
    assert quarantined["ttl"] > 0


def test_a_mac_is_valid_for_its_entry_and_its_log_only():
    create_logged_parcel("a")
    create_logged_parcel("b", log_id=OTHER_LOG)
    (own_pointer,), (foreign_pointer,) = pending_pointers(), pending_pointers(OTHER_LOG)
    put_forged_entry(own_pointer["mac"], own_pointer["link"])
    memory_aws.put_item({**foreign_pointer, "pk": f"Q#{LOG_ID}"})
    append_pending()
    assert appended_entry_ids() == [own_pointer["sk"]]


LEAF: Final[Item] = {"leaf": bytes(32)}
MALFORMED_POINTERS: Final[dict[str, Item]] = {
    "no leaf": {},
    "a leaf that is text": {"leaf": "leaf", "mac": "mac"},
    "a short leaf": {"leaf": b"leaf", "mac": bytes(36)},
    "a key that is no ID": {"sk": "zzz", "mac": bytes(36), **LEAF},
    "a long key": {"sk": "ÿ" * 500, **LEAF},
    "a key before the head": {"sk": " ", **LEAF},
    "an invalid request ID": {"requestId": [1], **LEAF},
    "a large item": {"more": "x" * 380_000, **LEAF},
    "a deeply nested item": {"more": reduce(lambda value, _: [value], range(30), cast("Any", "end")), **LEAF},
    "no entry": {"log": LOG_ID, **LEAF},
}


def put_malformed_pointer(description: str) -> None:
    memory_aws.put_item({"sk": new_id(now()), **MALFORMED_POINTERS[description], "pk": f"Q#{LOG_ID}"})


@pytest.mark.parametrize("description", MALFORMED_POINTERS)
def test_a_malformed_pointer_does_not_block_the_log(description):
    create_logged_parcel("before")
    put_malformed_pointer(description)
    create_logged_parcel("behind")
    append_pending()
    create_logged_parcel("later")
    append_pending()
    assert len(appended_entry_ids()) == 3


def test_many_malformed_pointers_do_not_block_the_log():
    for n in range(120):
        memory_aws.put_item({"pk": f"Q#{LOG_ID}", "sk": f"0{n:03d}", **LEAF})
    create_logged_parcel("behind")
    append_pending()
    assert (len(appended_entry_ids()), len(quarantine_reasons())) == (1, 120)


@pytest.mark.parametrize(
    "changes",
    [
        *(LEAF, {"leaf": "text"}, {"mac": bytes(36)}, {"mac": None}, {"link": None, "mac": None}),
        *({"link": link} for link in (OTHER_LINK, b"", None, "text")),
    ],
)
def test_an_entry_with_an_altered_pointer_is_appended(changes):
    create_logged_parcel("a")
    (original,) = pending_pointers()
    memory_aws.put_item({**original, **changes})
    append_pending()
    assert appended_entry_ids() == [original["sk"]]
    assert load_item((f"A#{LOG_ID}", original["sk"]))["leaf"] == original["leaf"]
    assert quarantine_reasons() == ["altered_pointer"]


def test_a_pointer_without_an_entry_is_quarantined_and_reported(log_fields):
    for label in "abc":
        create_logged_parcel(label)
    _, orphaned, _ = pending_pointers()
    memory_aws.delete_item({"pk": f"A#{LOG_ID}", "sk": orphaned["sk"]})
    append_pending()
    assert len(appended_entry_ids()) == 2
    assert (log_fields["quarantined"], quarantine_reasons()) == ([orphaned["sk"]], ["no_entry"])


def test_a_restored_old_pointer_is_quarantined():
    create_logged_parcel("a")
    (old,) = pending_pointers()
    append_pending()
    (item,) = list_items(f"A#{LOG_ID}")
    assert {"mac", "link", "seal"} & set(item) == {"seal"}
    memory_aws.put_item(old)
    create_logged_parcel("b")
    append_pending()
    assert (len(appended_entry_ids()), quarantine_reasons()) == (2, ["sealed_before"])


def test_a_pointer_does_not_change_an_appended_entry():
    create_logged_parcel("a")
    append_pending()
    (entry,) = appended_entry_ids()
    memory_aws.put_item({"pk": f"Q#{LOG_ID}", "sk": entry, **LEAF})
    append_pending()
    assert appended_entry_ids() == [entry]


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
def test_a_crash_during_quarantine_has_no_effect(fault, at):
    create_logged_parcel("a")
    put_forged_entry()
    with inject_fault(fault, first_call=at), pytest.raises(ProcessDied):
        append_pending()
    append_pending()
    assert (len(appended_entry_ids()), len(quarantine_reasons())) == (1, 1)


def test_entries_without_a_mac_are_accepted_until_the_configured_time(configure, clock):
    clock.freeze("2026-11-23T09:00:00.000Z")
    configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
    first = put_forged_entry(link=None)
    append_pending()
    assert appended_entry_ids() == [first["sk"]]
    clock.shift(minutes=15)
    late = put_forged_entry(link=None)
    past = "2020-01-01T00:00:00.000Z"
    memory_aws.put_item({**late, "created_at": past, "occurred_at": past})
    append_pending()
    assert (appended_entry_ids(), len(quarantine_reasons())) == ([first["sk"]], 1)


@pytest.mark.parametrize("may_be_unauthenticated", [True, False])
def test_made_up_proofs_and_malformed_pointers_are_never_accepted(configure, may_be_unauthenticated):
    if may_be_unauthenticated:
        configure(unauthenticated_entries_until=after(now(), seconds=60))
    for mac in (b"\0", b"short", bytes(36)):
        put_forged_entry(mac)
    put_forged_entry(bytes(36), None)
    put_forged_entry()
    append_pending()
    assert quarantine_reasons() == ["not_authentic"] * 5
    for description in MALFORMED_POINTERS:
        put_malformed_pointer(description)
    append_pending()
    assert appended_entry_ids() == []


def test_a_retired_key_is_accepted_while_it_is_listed(configure):
    old, new = to_base64(b"o" * 32), to_base64(b"n" * 32)
    for label, keys in (("a", f"{new},{old}"), ("b", new)):
        configure(entry_key=old)
        create_logged_parcel(label)
        configure(entry_key=keys)
        append_pending()
        assert len(appended_entry_ids()) == 1


def test_the_mac_covers_log_id_leaf_and_link():
    leaf = leaf_hash(b"body")
    item = {"sk": "e", "leaf": leaf, "link": LINK, "mac": make_pending_mac("log", "e", leaf, Link(0, 1, b""))}
    assert is_authentic_pending_item("log", item)
    assert not is_authentic_pending_item("other", item)
    assert not is_authentic_pending_item("log\ne", {**item, "sk": ""})
    changes: list[Item] = [{"sk": "f"}, {"leaf": leaf_hash(b"other")}]
    changes += [{"link": link.to_bytes()} for link in (Link(1, 1, b""), Link(0, 2, b""), Link(0, 1, bytes(36)))]
    for change in changes:
        assert not is_authentic_pending_item("log", {**item, **change})


@pytest.mark.parametrize(
    "schedule",
    [
        {"duesk": "no time"},
        {"task": None},
        {"task": "ledger.wake", "log": 7},
        {"task": "ledger.wake", "log": "☃" * 500},
        {"task": "ledger.wake", "log": LOG_ID, **LEAF},
    ],
)
def test_a_malformed_schedule_does_not_prevent_others_from_being_queued(schedule, clock):
    create_logged_parcel("a")
    (original,) = pending_pointers()
    clock.shift(minutes=1)
    for n in range(3):
        memory_aws.put_item({"pk": f"Q#{n}", "sk": "zzz", "duepk": original["duepk"], "duesk": "0", **schedule})
    with write_log_record_of_block("schedule", "sweep"):
        assert enqueue_due_tasks() >= 1
    assert pending_key(LOG_ID, original["sk"]) == (original["pk"], original["sk"])
    (rescheduled,) = pending_pointers()
    assert rescheduled["duesk"] > original["duesk"]
