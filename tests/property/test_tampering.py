"""Verification detects every altered bit of a stored log, and returns the sequence of the altered entry.

All bits are tried, except in keys and anchors: the rules of verification are called directly for each altered item.
Keys are altered in the table itself, because they determine which items are read.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

import pytest

from chalicelib.features.audit.log.logic import anchors
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.anchors import BrokenAnchor
from chalicelib.features.audit.log.logic.entry_verification import Fault, StoredEntry, VerifiedPrefix, find_head_fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.entries import body_key
from chalicelib.kernel.audit_log.ledger import HEAD_SORT_KEY, BrokenHead, Head
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, organizations
from tests.harness.anchors import read_anchor, replace_anchor
from tests.harness.application_events import INVOICE, commit_application_event
from tests.harness.memory_aws import Item

LENGTH: Final = 13
SHORT, ERASED, LONG = 2, 4, 7
APPLICATION, WITHOUT_TARGET, ERASED_APPLICATION = 11, 12, 13
KEY_ATTRIBUTES: Final = ("pk", "sk", "index1pk", "index1sk")
UNVERIFIED_ATTRIBUTES: Final = ("index2pk", "index2sk", "followed", "followed_part", "duepk", "duesk", "task", "log")
"""Attributes of a head about its anchor and its consumer, which are not part of the verified log."""


def create_long_log(tenant: TenantFixture) -> str:
    """Create a log with short, long and erased entries, appended in several batches. Return its name."""
    organization = organizations.create_organization(tenant.api, tenant.people.owner)
    for n in range(LENGTH - 4):
        body = {"name": f"Name {n}", "companyAddress": f"{n}" * (3000 if n % 3 == 2 else 3)}
        assert tenant.api.patch(organization.path, caller=tenant.people.owner, json=body).status == 200
        if n % 2:
            tenant.workers.deliver()
    for targets in ((INVOICE,), (), (INVOICE,)):
        commit_application_event(organization.id, targets=targets)
    tenant.workers.deliver()
    for sequence in (ERASED, ERASED_APPLICATION):
        erased_entry = get_entry(organization.id, sequence)
        table.write_transaction(redaction.redaction_writes(organization.id, erased_entry, should_sign=True))
    return organization.id


@pytest.fixture
def log(restore_tenant, monkeypatch):
    """Return the name of a log. Reads from the index, which does not lag here, are not retried."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    return restore_tenant(create_long_log)


def find_fault(log):
    return verify_next_window(log, None, None).fault


def get_entry(log: str, sequence: int) -> Item:
    (item,) = (item for item in memory_aws.all_items() if item["pk"] == f"A#{log}" and item["sequence"] == sequence)
    return item


def get_head(log: str) -> Item:
    (item,) = (item for item in memory_aws.all_items() if (item["pk"], item["sk"]) == (f"Q#{log}", HEAD_SORT_KEY))
    return item


def bit_flips(data: bytes) -> Iterator[bytes]:
    for index in range(len(data)):
        for bit in range(8):
            yield data[:index] + bytes([data[index] ^ 1 << bit]) + data[index + 1 :]


def key_variants(item: Item, name: str) -> Iterator[Item]:
    """Yield the item with each character of a key altered in turn."""
    for index, character in enumerate(item[name]):
        other = chr(ord(character) ^ 1 << index % 7)
        yield {**item, name: item[name][:index] + other + item[name][index + 1 :]}


def value_variants(value: Any) -> Iterator[Any]:
    """Yield all values that differ in one bit, and values of other types."""
    match value:
        case bytes():
            yield from bit_flips(value)
            yield from (b"", value[:-1], value + b"\0", value.decode("latin-1"))
        case str():
            variants = (data.decode(errors="ignore") for data in bit_flips(value.encode()))
            yield from (variant for variant in variants if variant != value)
            yield from ("", value[:-1], f"{value} ", value.encode())
        case int():
            yield from (value ^ 1 << bit for bit in range(value.bit_length() + 1))
            yield from (-value, value + 0.5, str(value))
    yield from (None, [value])


def item_variants(item: Item, *excluded: str) -> Iterator[Item]:
    """Yield the item with each attribute removed or altered."""
    for name in set(item) - set(excluded):
        yield {other: value for other, value in item.items() if other != name}
        yield from ({**item, name: value} for value in value_variants(item[name]))


def load_body(log: str, sequence: int) -> Any:
    body_item = table.get(body_key(log, get_entry(log, sequence)["sk"]))
    return body_item and body_item["body"]


def test_the_unaltered_log_has_no_fault(log):
    assert find_fault(log) is None
    items = [item for item in memory_aws.all_items() if item["pk"] == f"A#{log}"]
    assert sorted(item["sequence"] for item in items) == list(range(1, LENGTH + 1))
    assert ["erased" in get_entry(log, sequence) for sequence in (1, ERASED)] == [False, True]
    assert [item for item in memory_aws.all_items() if item["pk"] == f"B#{log}"]


@pytest.mark.parametrize("sequence", [SHORT, LONG, ERASED, APPLICATION, WITHOUT_TARGET, ERASED_APPLICATION])
def test_every_alteration_of_an_entry_is_detected_at_its_sequence(log, sequence):
    item, body = get_entry(log, sequence), load_body(log, sequence)
    assert ("body" in item, body is None) == (sequence == SHORT, sequence in (SHORT, ERASED, ERASED_APPLICATION))
    assert ("erased" in item) == (sequence in (ERASED, ERASED_APPLICATION))
    leaves = (get_entry(log, n)["leaf"] for n in range(1, sequence))
    prefix = VerifiedPrefix(CompactRange().with_appended_leaves(leaves))

    def fault(other: Item, other_body: Any) -> Any:
        return prefix.with_verified_entries_or_fault(log, [StoredEntry(other, other_body)])

    assert not isinstance(fault(item, body or item.get("body")), Fault)
    for other in item_variants(item, *KEY_ATTRIBUTES):
        found = fault(other, body or other.get("body"))
        assert isinstance(found, Fault), other
        assert found.sequence == sequence
    for other_body in value_variants(body) if body else ():
        assert isinstance(fault(item, other_body), Fault), other_body


@pytest.mark.parametrize("name", KEY_ATTRIBUTES)
def test_every_alteration_of_an_entrys_key_is_detected(log, name):
    item = get_entry(log, SHORT)
    memory_aws.delete_item(item)
    for other in key_variants(item, name):
        memory_aws.put_item(other)
        assert find_fault(log), other[name]
        memory_aws.delete_item(other)
    memory_aws.put_item(item)
    assert find_fault(log) is None


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_every_alteration_of_the_key_of_a_body_or_of_the_head_is_detected(log, name):
    body_item, head = table.get(body_key(log, get_entry(log, LONG)["sk"])), get_head(log)
    assert body_item
    for item, fault in ((body_item, Fault("missing", LONG)), (head, Fault("truncated", 1))):
        memory_aws.delete_item(item)
        for other in key_variants(item, name):
            memory_aws.put_item(other)
            assert find_fault(log) == fault, other[name]
            memory_aws.delete_item(other)
        assert find_fault(log) == fault
        memory_aws.put_item(item)


def test_every_alteration_of_the_head_is_detected(log):
    item = get_head(log)

    def is_detected(other: Item) -> bool:
        try:
            altered_head = Head.from_item_or_empty(other)
            # Without a statement, the entry MACs reveal it: see test_suppressed_entries.
            has_no_statement = altered_head.verified_statement_if_present(log) is None
            return find_head_fault(log, altered_head) is not None or has_no_statement
        except (BrokenHead, BrokenStatement):
            return True

    assert not is_detected(item)
    assert [other for other in item_variants(item, "pk", "sk", *UNVERIFIED_ATTRIBUTES) if not is_detected(other)] == []
    memory_aws.put_item({**item, "size": LENGTH - 1})
    assert find_fault(log)


def test_altered_bytes_of_an_anchor_are_detected(log):
    anchors.store_anchor_if_absent(log, Head.from_item_or_empty(get_head(log)))
    data = read_anchor(log, LENGTH).encode()
    for n, other in enumerate(bit_flips(data)):
        if n % 16 == n // 16 % 8:  # one bit of every second byte, in varying positions
            replace_anchor(log, LENGTH, other)
            with pytest.raises(BrokenAnchor):
                anchors.load_latest_anchor_or_none(log)
    replace_anchor(log, LENGTH, data)
    anchor = anchors.load_latest_anchor_or_none(log)
    assert anchor is not None
    assert anchor.head == Head.from_item_or_empty(get_head(log))


def test_a_removed_entry_is_found_at_its_sequence(log):
    for sequence in range(1, LENGTH + 1):
        item = get_entry(log, sequence)
        memory_aws.delete_item(item)
        assert find_fault(log) == Fault("truncated" if sequence == LENGTH else "missing", sequence)
        memory_aws.put_item(item)


def test_entries_with_swapped_positions_are_found_at_the_first(log):
    for sequences in combinations(range(1, LENGTH + 1), 2):
        first, second = (get_entry(log, sequence) for sequence in sequences)
        for item, other in ((first, second), (second, first)):
            memory_aws.put_item({**item, **{name: other[name] for name in ("sequence", "index1pk", "index1sk")}})
        # The signature of an erased entry does not distinguish a moved entry from a modified one.
        is_erased = sequences[1] in (ERASED, ERASED_APPLICATION)
        assert find_fault(log) == Fault("modified" if is_erased else "reordered", sequences[0]), sequences
        for item in (first, second):
            memory_aws.put_item(item)
