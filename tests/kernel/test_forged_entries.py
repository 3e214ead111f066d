"""Whoever can write to the table puts entries and pointers there: the ledger appends none, and the log goes on."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from chalicelib.kernel.audit_log.authenticity import is_authentic, make_pending_mac
from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, pending_key
from chalicelib.kernel.audit_log.ledger import HEAD, append_pending, count_pending
from chalicelib.kernel.audit_log.mac_chains import MAC_BYTES, Link
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import log_scope
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage import table
from chalicelib.kernel.work.scheduler import enqueue_due
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.clock import Clock
from tests.harness.cloud import Item
from tests.harness.faults import Died, Fault, failing
from tests.harness.parcels import LOG, mutate

pytestmark = pytest.mark.usefixtures("aws")

BODY: Final = (
    '{"actor":{"id":"%s","name":"Mallory","type":"user"},"changes":[],"context":{"requestId":null},"data":null,'
    '"id":"%s","occurredAt":"%s","target":{"id":"t","name":"T","type":"organization"},'
    '"type":"organization.ownership_transferred"}'
)


@pytest.fixture(autouse=True)
def facts() -> Iterator[dict[str, Any]]:
    """What the line says of the message at hand."""
    with log_scope("message", "append_entries") as facts:
        yield facts


LINK: Final = Link(0, 1, b"")
OF_ANOTHER: Final = Link(1, 2, bytes(MAC_BYTES))


def forged(mac: bytes | None = None, link: bytes | None = LINK.to_bytes()) -> Item:
    """Put an entry and its pointer as the service would, but for the MAC, or for MAC and link; return the entry."""
    entry_id = new_id(now())
    entry = EntryItem.create(LOG, (BODY % ("a", entry_id, now())).encode())
    proof = ({"mac": mac} if mac else {}) | ({"link": link} if link else {})
    item = entry.item() | proof
    cloud.put(item)
    cloud.put(build_pending_pointer(LOG, entry_id, entry.leaf, proof, now()))
    return item


def sealed() -> list[str]:
    found = [i for i in cloud.stored() if i["pk"] == f"A#{LOG}" and "sequence" in i]
    return [str(i["sk"]) for i in sorted(found, key=lambda i: int(i["sequence"]))]


def waiting() -> list[Item]:
    return [i for i in cloud.stored() if i["pk"] == f"Q#{LOG}" and not i["sk"].startswith(HEAD)]


def aside() -> list[Item]:
    return [i for i in cloud.stored() if i["pk"] == f"QUARANTINE#{LOG}"]


def entry_of(item: Item) -> Item | None:
    return table.get((f"A#{LOG}", item["sk"]))


def test_an_entry_that_nobody_authenticated_is_set_aside_with_its_pointer() -> None:
    mutate("before")
    item = forged()
    mutate("behind")
    append_pending(LOG)
    assert len(sealed()) == 2
    assert item["sk"] not in sealed()
    assert (entry_of(item), count_pending(LOG)) == (None, 0)
    (kept,) = aside()
    assert kept["reason"] == "not_authentic"
    assert json.loads(kept["pointer"])["sk"]["S"] == item["sk"]
    assert json.loads(kept["entry"])["type"]["S"] == "organization.ownership_transferred"
    assert kept["ttl"] > 0


def test_it_is_counted_and_named(facts: dict[str, Any]) -> None:
    items = [forged(), forged()]
    append_pending(LOG)
    assert sorted(facts["quarantined"]) == sorted(item["sk"] for item in items)


@pytest.mark.parametrize("mac", [b"", b"short", bytes(36)])
def test_a_mac_that_somebody_made_up_is_none(mac: bytes) -> None:
    forged(mac or b"\0")
    append_pending(LOG)
    assert sealed() == []
    assert len(aside()) == 1


def test_a_mac_counts_for_its_entry_alone() -> None:
    mutate("a")
    (other,) = waiting()
    forged(other["mac"], other["link"])
    append_pending(LOG)
    assert sealed() == [other["sk"]]


def test_a_mac_counts_in_its_log_alone() -> None:
    mutate("a", log=LOG.replace("a", "b"))
    (theirs,) = (i for i in cloud.stored() if i["pk"] == f"Q#{LOG.replace('a', 'b')}" and "leaf" in i)
    cloud.put({**theirs, "pk": f"Q#{LOG}"})
    append_pending(LOG)
    assert sealed() == []


GARBAGE: Final[dict[str, Callable[[], Item]]] = {
    "no entry": lambda: build_pending_pointer(LOG, new_id(now()), bytes(32), {}, now()),
    "no leaf": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now())},
    "a leaf that is text": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now()), "leaf": "leaf", "mac": "mac"},
    "a short leaf": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now()), "leaf": b"leaf", "mac": bytes(36)},
    "a key that is no id": lambda: {"pk": f"Q#{LOG}", "sk": "zzz", "leaf": bytes(32), "mac": bytes(36)},
    "a key of many letters": lambda: {"pk": f"Q#{LOG}", "sk": "ÿ" * 500, "leaf": bytes(32)},
    "a key before the head": lambda: {"pk": f"Q#{LOG}", "sk": " ", "leaf": bytes(32)},
    "a request that is none": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now()), "leaf": bytes(32), "requestId": [1]},
    "much": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now()), "leaf": bytes(32), "more": "x" * 380_000},
    "deep": lambda: {"pk": f"Q#{LOG}", "sk": new_id(now()), "leaf": bytes(32), "more": deep()},
}


def deep() -> Any:
    value: Any = "end"
    for _ in range(30):
        value = [value]
    return value


@pytest.mark.parametrize("what", GARBAGE)
def test_a_pointer_of_garbage_does_not_hold_up_the_log(what: str) -> None:
    mutate("before")
    cloud.put(GARBAGE[what]())
    mutate("behind")
    append_pending(LOG)
    mutate("later")
    append_pending(LOG)
    assert len(sealed()) == 3
    assert count_pending(LOG) == 0


def test_pointers_without_end_do_not_hold_up_the_log() -> None:
    for n in range(120):
        cloud.put({"pk": f"Q#{LOG}", "sk": f"0{n:03d}", "leaf": bytes(32)})
    mutate("behind")
    append_pending(LOG)
    assert len(sealed()) == 1
    assert len(aside()) == 120


@pytest.mark.parametrize(
    "altered",
    [
        {"leaf": bytes(32)},
        {"mac": bytes(36)},
        {"leaf": "text"},
        {"mac": None},
        {"link": OF_ANOTHER.to_bytes()},
        {"link": b""},
        {"link": None},
        {"link": "text"},
        {"link": None, "mac": None},
    ],
)
def test_an_entry_whose_pointer_somebody_altered_gets_its_place(altered: Item) -> None:
    mutate("a")
    (honest,) = waiting()
    cloud.put({**honest, **altered})
    append_pending(LOG)
    assert sealed() == [honest["sk"]]
    entry = table.get((f"A#{LOG}", honest["sk"]))
    assert entry is not None
    assert entry["leaf"] == honest["leaf"]
    assert [kept["reason"] for kept in aside()] == ["altered_pointer"]


def test_a_pointer_whose_entry_somebody_removed_is_set_aside_and_told(facts: dict[str, Any]) -> None:
    for n in range(3):
        mutate(str(n))
    lost = sorted(waiting(), key=lambda i: str(i["sk"]))[1]
    cloud.remove({"pk": f"A#{LOG}", "sk": lost["sk"]})
    append_pending(LOG)
    assert len(sealed()) == 2
    assert (count_pending(LOG), facts["quarantined"]) == (0, [lost["sk"]])
    assert [kept["reason"] for kept in aside()] == ["no_entry"]


def test_an_old_pointer_that_somebody_puts_back_is_set_aside() -> None:
    mutate("a")
    (old,) = waiting()
    append_pending(LOG)
    cloud.put(old)
    mutate("b")
    append_pending(LOG)
    assert len(sealed()) == 2
    assert [kept["reason"] for kept in aside()] == ["sealed_before"]


def test_an_entry_that_has_its_place_stays_whatever_a_pointer_says_of_it() -> None:
    mutate("a")
    append_pending(LOG)
    (entry,) = sealed()
    cloud.put({"pk": f"Q#{LOG}", "sk": entry, "leaf": bytes(32)})
    append_pending(LOG)
    assert sealed() == [entry]
    assert count_pending(LOG) == 0


def test_an_entry_in_the_tree_has_its_seal_and_no_mac() -> None:
    mutate("a")
    append_pending(LOG)
    (entry,) = (i for i in cloud.stored() if i["pk"] == f"A#{LOG}")
    assert {"mac", "link", "seal"} & set(entry) == {"seal"}


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
def test_a_worker_that_dies_while_it_sets_aside_changes_nothing(fault: Fault, at: int) -> None:
    mutate("a")
    forged()
    with failing(fault, at=at), pytest.raises(Died):
        append_pending(LOG)
    append_pending(LOG)
    assert (len(sealed()), len(aside()), count_pending(LOG)) == (1, 1, 0)


class TestWhileTheReleaseBeforeIsReplaced:
    def test_entries_without_a_mac_count_until_the_time_in_the_settings(
        self, configure: Configure, clock: Clock
    ) -> None:
        clock.freeze("2026-11-23T09:00:00.000Z")
        configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
        first = forged(link=None)
        append_pending(LOG)
        assert sealed() == [first["sk"]]
        clock.shift(minutes=15)
        forged(link=None)
        append_pending(LOG)
        assert sealed() == [first["sk"]]
        assert len(aside()) == 1

    def test_a_wrong_mac_never_counts(self, configure: Configure) -> None:
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        forged(bytes(36))
        forged(bytes(36), None)
        append_pending(LOG)
        assert sealed() == []

    def test_a_link_without_a_mac_never_counts(self, configure: Configure) -> None:
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        forged()
        append_pending(LOG)
        assert sealed() == []

    def test_what_could_be_no_entry_never_counts(self, configure: Configure) -> None:
        configure(unauthenticated_entries_until=after(now(), seconds=60))
        for make in GARBAGE.values():
            cloud.put(make())
        append_pending(LOG)
        assert sealed() == []
        assert count_pending(LOG) == 0

    def test_nothing_in_the_table_makes_it_later(self, configure: Configure) -> None:
        configure(unauthenticated_entries_until=after(now(), seconds=-1))
        item = forged()
        cloud.put({**item, "created_at": "2020-01-01T00:00:00.000Z", "occurred_at": "2020-01-01T00:00:00.000Z"})
        append_pending(LOG)
        assert sealed() == []


class TestKeys:
    def test_what_a_former_key_authenticated_counts_as_long_as_it_is_listed(self, configure: Configure) -> None:
        old, new = to_base64(b"o" * 32), to_base64(b"n" * 32)
        configure(entry_key=old)
        mutate("a")
        configure(entry_key=f"{new},{old}")
        append_pending(LOG)
        assert len(sealed()) == 1
        configure(entry_key=old)
        mutate("b")
        configure(entry_key=new)
        append_pending(LOG)
        assert len(sealed()) == 1

    def test_the_mac_covers_log_id_leaf_and_link(self) -> None:
        leaf = leaf_hash(b"body")
        item = {"sk": "e", "leaf": leaf, "link": LINK.to_bytes(), "mac": make_pending_mac("log", "e", leaf, LINK)}
        assert is_authentic("log", item)
        assert not is_authentic("other", item)
        assert not is_authentic("log", {**item, "sk": "f"})
        assert not is_authentic("log", {**item, "leaf": leaf_hash(b"other")})
        for other in (Link(1, 1, b""), Link(0, 2, b""), Link(0, 1, bytes(36))):
            assert not is_authentic("log", {**item, "link": other.to_bytes()})
        assert not is_authentic("log\ne", {**item, "sk": ""})


class TestTheSweep:
    @pytest.mark.parametrize(
        "mark",
        [
            {"duesk": "no time"},
            {"task": "ledger.wake", "log": 7},
            {"task": "ledger.wake", "log": "☃" * 500},
            {"task": None},
            {"task": "ledger.wake", "log": LOG, "leaf": bytes(32)},
        ],
    )
    def test_a_mark_of_garbage_keeps_no_other_from_being_queued(self, mark: Item, clock: Clock) -> None:
        mutate("a")
        (honest,) = waiting()
        clock.shift(minutes=1)
        for n in range(3):
            cloud.put({"pk": f"Q#{n}", "sk": "zzz", "duepk": honest["duepk"], "duesk": "0", **mark})
        with log_scope("schedule", "sweep"):
            assert enqueue_due() >= 1
        assert pending_key(LOG, honest["sk"]) == (honest["pk"], honest["sk"])
        (moved,) = waiting()
        assert moved["duesk"] > honest["duesk"]
