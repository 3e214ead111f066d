"""The ledger appends no forged entries or pointers from the table, and continues with the log."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from chalicelib.kernel.audit_log.authenticity import is_authentic_pending_item, make_pending_mac
from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, pending_key
from chalicelib.kernel.audit_log.ledger import (
    HEAD_SORT_KEY,
    append_pending_and_return_longest_wait_ms,
    count_pending_in_one_read,
)
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

pytestmark = pytest.mark.usefixtures("aws")

BODY: Final = (
    '{"actor":{"id":"%s","name":"Mallory","type":"user"},"changes":[],"context":{"requestId":null},"data":null,'
    '"id":"%s","occurredAt":"%s","target":{"id":"t","name":"T","type":"organization"},'
    '"type":"organization.ownership_transferred"}'
)


@pytest.fixture(autouse=True)
def log_fields() -> Iterator[dict[str, Any]]:
    """Return the fields of the log record of the current message."""
    with write_log_record_of_block("message", "append_entries") as fields:
        yield fields


LINK: Final = Link(0, 1, b"")
OTHER_LINK: Final = Link(1, 2, bytes(MAC_BYTES))


def put_forged_entry(mac: bytes | None = None, link: bytes | None = LINK.to_bytes()) -> Item:
    """Store an entry and its pointer with invalid proofs. Return the entry's item."""
    entry_id = new_id(now())
    entry = EntryItem.from_canonical_bytes(LOG_ID, (BODY % ("a", entry_id, now())).encode())
    proof = ({"mac": mac} if mac else {}) | ({"link": link} if link else {})
    item = entry.item() | proof
    memory_aws.put_item(item)
    memory_aws.put_item(build_pending_pointer(LOG_ID, entry_id, entry.leaf, proof, now()))
    return item


def appended_entry_ids() -> list[str]:
    entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}" and "sequence" in item]
    return [str(item["sk"]) for item in sorted(entries, key=lambda item: int(item["sequence"]))]


def pending_pointers() -> list[Item]:
    return [
        item
        for item in memory_aws.all_items()
        if item["pk"] == f"Q#{LOG_ID}" and not item["sk"].startswith(HEAD_SORT_KEY)
    ]


def quarantined_items() -> list[Item]:
    return [item for item in memory_aws.all_items() if item["pk"] == f"QUARANTINE#{LOG_ID}"]


def get_entry_item(item: Item) -> Item | None:
    return table.get((f"A#{LOG_ID}", item["sk"]))


def test_an_entry_without_a_mac_is_quarantined_with_its_pointer():
    create_logged_parcel("before")
    item = put_forged_entry()
    create_logged_parcel("behind")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert len(appended_entry_ids()) == 2
    assert item["sk"] not in appended_entry_ids()
    assert (get_entry_item(item), count_pending_in_one_read(LOG_ID)) == (None, 0)
    (quarantined,) = quarantined_items()
    assert quarantined["reason"] == "not_authentic"
    assert json.loads(quarantined["pointer"])["sk"]["S"] == item["sk"]
    assert json.loads(quarantined["entry"])["type"]["S"] == "organization.ownership_transferred"
    assert quarantined["ttl"] > 0


def test_quarantined_entries_are_named_in_the_log_record(log_fields):
    items = [put_forged_entry(), put_forged_entry()]
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert sorted(log_fields["quarantined"]) == sorted(item["sk"] for item in items)


@pytest.mark.parametrize("mac", [b"", b"short", bytes(36)])
def test_a_made_up_mac_is_not_authentic(mac):
    put_forged_entry(mac or b"\0")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert appended_entry_ids() == []
    assert len(quarantined_items()) == 1


def test_a_mac_is_valid_for_its_entry_only():
    create_logged_parcel("a")
    (other,) = pending_pointers()
    put_forged_entry(other["mac"], other["link"])
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert appended_entry_ids() == [other["sk"]]


def test_a_mac_is_valid_in_its_log_only():
    create_logged_parcel("a", log_id=LOG_ID.replace("a", "b"))
    (foreign_pointer,) = (
        item for item in memory_aws.all_items() if item["pk"] == f"Q#{LOG_ID.replace('a', 'b')}" and "leaf" in item
    )
    memory_aws.put_item({**foreign_pointer, "pk": f"Q#{LOG_ID}"})
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert appended_entry_ids() == []


MALFORMED_POINTERS: Final[dict[str, Callable[[], Item]]] = {
    "no entry": lambda: build_pending_pointer(LOG_ID, new_id(now()), bytes(32), {}, now()),
    "no leaf": lambda: {"pk": f"Q#{LOG_ID}", "sk": new_id(now())},
    "a leaf that is text": lambda: {"pk": f"Q#{LOG_ID}", "sk": new_id(now()), "leaf": "leaf", "mac": "mac"},
    "a short leaf": lambda: {"pk": f"Q#{LOG_ID}", "sk": new_id(now()), "leaf": b"leaf", "mac": bytes(36)},
    "a key that is no ID": lambda: {"pk": f"Q#{LOG_ID}", "sk": "zzz", "leaf": bytes(32), "mac": bytes(36)},
    "a long key": lambda: {"pk": f"Q#{LOG_ID}", "sk": "ÿ" * 500, "leaf": bytes(32)},
    "a key before the head": lambda: {"pk": f"Q#{LOG_ID}", "sk": " ", "leaf": bytes(32)},
    "an invalid request ID": lambda: {"pk": f"Q#{LOG_ID}", "sk": new_id(now()), "leaf": bytes(32), "requestId": [1]},
    "a large item": lambda: {"pk": f"Q#{LOG_ID}", "sk": new_id(now()), "leaf": bytes(32), "more": "x" * 380_000},
    "a deeply nested item": lambda: {
        "pk": f"Q#{LOG_ID}",
        "sk": new_id(now()),
        "leaf": bytes(32),
        "more": nested_list(),
    },
}


def nested_list() -> Any:
    value: Any = "end"
    for _ in range(30):
        value = [value]
    return value


@pytest.mark.parametrize("description", MALFORMED_POINTERS)
def test_a_malformed_pointer_does_not_block_the_log(description):
    create_logged_parcel("before")
    memory_aws.put_item(MALFORMED_POINTERS[description]())
    create_logged_parcel("behind")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    create_logged_parcel("later")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert len(appended_entry_ids()) == 3
    assert count_pending_in_one_read(LOG_ID) == 0


def test_many_malformed_pointers_do_not_block_the_log():
    for n in range(120):
        memory_aws.put_item({"pk": f"Q#{LOG_ID}", "sk": f"0{n:03d}", "leaf": bytes(32)})
    create_logged_parcel("behind")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert len(appended_entry_ids()) == 1
    assert len(quarantined_items()) == 120


@pytest.mark.parametrize(
    "changes",
    [
        {"leaf": bytes(32)},
        {"mac": bytes(36)},
        {"leaf": "text"},
        {"mac": None},
        {"link": OTHER_LINK.to_bytes()},
        {"link": b""},
        {"link": None},
        {"link": "text"},
        {"link": None, "mac": None},
    ],
)
def test_an_entry_with_an_altered_pointer_is_appended(changes):
    create_logged_parcel("a")
    (original,) = pending_pointers()
    memory_aws.put_item({**original, **changes})
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert appended_entry_ids() == [original["sk"]]
    entry = table.get((f"A#{LOG_ID}", original["sk"]))
    assert entry is not None
    assert entry["leaf"] == original["leaf"]
    assert [quarantined["reason"] for quarantined in quarantined_items()] == ["altered_pointer"]


def test_a_pointer_without_an_entry_is_quarantined_and_reported(log_fields):
    for n in range(3):
        create_logged_parcel(str(n))
    orphaned = sorted(pending_pointers(), key=lambda item: str(item["sk"]))[1]
    memory_aws.delete_item({"pk": f"A#{LOG_ID}", "sk": orphaned["sk"]})
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert len(appended_entry_ids()) == 2
    assert (count_pending_in_one_read(LOG_ID), log_fields["quarantined"]) == (0, [orphaned["sk"]])
    assert [quarantined["reason"] for quarantined in quarantined_items()] == ["no_entry"]


def test_a_restored_old_pointer_is_quarantined():
    create_logged_parcel("a")
    (old,) = pending_pointers()
    append_pending_and_return_longest_wait_ms(LOG_ID)
    memory_aws.put_item(old)
    create_logged_parcel("b")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert len(appended_entry_ids()) == 2
    assert [quarantined["reason"] for quarantined in quarantined_items()] == ["sealed_before"]


def test_a_pointer_does_not_change_an_appended_entry():
    create_logged_parcel("a")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    (entry,) = appended_entry_ids()
    memory_aws.put_item({"pk": f"Q#{LOG_ID}", "sk": entry, "leaf": bytes(32)})
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert appended_entry_ids() == [entry]
    assert count_pending_in_one_read(LOG_ID) == 0


def test_an_appended_entry_has_an_entry_mac_and_no_pending_mac():
    create_logged_parcel("a")
    append_pending_and_return_longest_wait_ms(LOG_ID)
    (entry,) = (item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}")
    assert {"mac", "link", "seal"} & set(entry) == {"seal"}


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
def test_a_crash_during_quarantine_has_no_effect(fault, at):
    create_logged_parcel("a")
    put_forged_entry()
    with inject_fault(fault, first_call=at), pytest.raises(ProcessDied):
        append_pending_and_return_longest_wait_ms(LOG_ID)
    append_pending_and_return_longest_wait_ms(LOG_ID)
    assert (len(appended_entry_ids()), len(quarantined_items()), count_pending_in_one_read(LOG_ID)) == (1, 1, 0)


class TestMigrationFromUnauthenticatedEntries:
    def test_entries_without_a_mac_are_accepted_until_the_configured_time(self, configure, clock):
        clock.freeze("2026-11-23T09:00:00.000Z")
        configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
        first = put_forged_entry(link=None)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == [first["sk"]]
        clock.shift(minutes=15)
        put_forged_entry(link=None)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == [first["sk"]]
        assert len(quarantined_items()) == 1

    def test_a_wrong_mac_is_never_accepted(self, configure):
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        put_forged_entry(bytes(36))
        put_forged_entry(bytes(36), None)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == []

    def test_a_link_without_a_mac_is_never_accepted(self, configure):
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        put_forged_entry()
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == []

    def test_a_malformed_pointer_is_never_accepted(self, configure):
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        for create_item in MALFORMED_POINTERS.values():
            memory_aws.put_item(create_item())
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == []
        assert count_pending_in_one_read(LOG_ID) == 0

    def test_no_stored_timestamp_extends_the_configured_time(self, configure):
        configure(unauthenticated_entries_until=after(now(), seconds=-1))
        item = put_forged_entry()
        memory_aws.put_item(
            {**item, "created_at": "2020-01-01T00:00:00.000Z", "occurred_at": "2020-01-01T00:00:00.000Z"}
        )
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert appended_entry_ids() == []


class TestKeys:
    def test_a_retired_key_is_accepted_while_it_is_listed(self, configure):
        old, new = to_base64(b"o" * 32), to_base64(b"n" * 32)
        configure(entry_key=old)
        create_logged_parcel("a")
        configure(entry_key=f"{new},{old}")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert len(appended_entry_ids()) == 1
        configure(entry_key=old)
        create_logged_parcel("b")
        configure(entry_key=new)
        append_pending_and_return_longest_wait_ms(LOG_ID)
        assert len(appended_entry_ids()) == 1

    def test_the_mac_covers_log_id_leaf_and_link(self):
        leaf = leaf_hash(b"body")
        item = {"sk": "e", "leaf": leaf, "link": LINK.to_bytes(), "mac": make_pending_mac("log", "e", leaf, LINK)}
        assert is_authentic_pending_item("log", item)
        assert not is_authentic_pending_item("other", item)
        assert not is_authentic_pending_item("log", {**item, "sk": "f"})
        assert not is_authentic_pending_item("log", {**item, "leaf": leaf_hash(b"other")})
        for other in (Link(1, 1, b""), Link(0, 2, b""), Link(0, 1, bytes(36))):
            assert not is_authentic_pending_item("log", {**item, "link": other.to_bytes()})
        assert not is_authentic_pending_item("log\ne", {**item, "sk": ""})


class TestScheduledSweep:
    @pytest.mark.parametrize(
        "schedule",
        [
            {"duesk": "no time"},
            {"task": "ledger.wake", "log": 7},
            {"task": "ledger.wake", "log": "☃" * 500},
            {"task": None},
            {"task": "ledger.wake", "log": LOG_ID, "leaf": bytes(32)},
        ],
    )
    def test_a_malformed_schedule_does_not_prevent_others_from_being_queued(self, schedule, clock):
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
