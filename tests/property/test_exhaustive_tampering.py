"""Verification detects every altered bit of a stored log: all bits are tried, not a sample.

The rules of verification are called directly for each altered item. Keys are altered in the table itself, because they
determine which items are read.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from chalicelib.features.audit.log.logic import anchors
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.anchors import BrokenAnchor
from chalicelib.features.audit.log.logic.entry_verification import Fault, StoredEntry, VerifiedPrefix, find_head_fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log.entries import body_key
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from tests.catalogue.conftest import RestoreTenant
from tests.harness import memory_aws
from tests.harness.anchors import put_anchor, read_anchor
from tests.harness.memory_aws import Item
from tests.property.test_tampering import ERASED, LENGTH, UNVERIFIED_ATTRIBUTES, create_long_log, get_entry, get_head

SHORT: Final = 2
LONG: Final = 7
KEY_ATTRIBUTES: Final = ("pk", "sk", "index1pk", "index1sk")


@pytest.fixture(autouse=True)
def _no_index_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable retries of reads from the index, which does not lag here."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


@pytest.fixture
def log(restore_tenant: RestoreTenant) -> str:
    """Return the name of a log with short, long and erased entries."""
    name: str = restore_tenant(create_long_log)
    return name


def all_bit_flips(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with each single bit altered."""
    for index in range(len(data)):
        for bit in range(8):
            yield data[:index] + bytes([data[index] ^ 1 << bit]) + data[index + 1 :]


def one_bit_flip_per_byte(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with each single byte altered in one bit, in varying positions."""
    return (variant for n, variant in enumerate(all_bit_flips(data)) if n % 8 == n // 8 % 8)


def key_variants(item: Item, name: str) -> Iterator[Item]:
    """Yield the item with each character of a key altered in turn."""
    for index, character in enumerate(item[name]):
        other = chr(ord(character) ^ 1 << index % 7)
        yield {**item, name: item[name][:index] + other + item[name][index + 1 :]}


def value_variants(value: Any) -> Iterator[Any]:
    """Yield all values that differ in one bit, and values of other types."""
    match value:
        case bytes():
            yield from all_bit_flips(value)
            yield from (b"", value[:-1], value + b"\0", value.decode("latin-1"))
        case str():
            yield from (
                variant for data in all_bit_flips(value.encode()) if (variant := decode_or_none(data)) is not None
            )
            yield from ("", value[:-1], f"{value} ", value.encode())
        case int():
            yield from (value ^ 1 << bit for bit in range(value.bit_length() + 1))
            yield from (-value, value + 0.5, str(value))
    yield None


def decode_or_none(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def item_variants(item: Item, *excluded: str) -> Iterator[Item]:
    """Yield the item with each attribute removed or altered."""
    for name in set(item) - set(excluded):
        yield {other: value for other, value in item.items() if other != name}
        yield from ({**item, name: value} for value in value_variants(item[name]))


def load_body(log: str, sequence: int) -> Any:
    """Return the body of an entry that has a separate body item, or None."""
    body_item = table.get(body_key(log, get_entry(log, sequence)["sk"]))
    return body_item and body_item["body"]


def verified_prefix(log: str, sequence: int) -> VerifiedPrefix:
    """Return the log as verified up to an entry."""
    return VerifiedPrefix(CompactRange().with_appended_leaves(get_entry(log, n)["leaf"] for n in range(1, sequence)))


@pytest.mark.parametrize("sequence", [SHORT, LONG, ERASED], ids=["short", "long", "erased"])
def test_every_alteration_of_an_entry_is_detected(log, sequence):
    item, verified, body = get_entry(log, sequence), verified_prefix(log, sequence), load_body(log, sequence)
    assert ("body" in item, body is None, "erased" in item) == (sequence == SHORT, sequence != LONG, sequence == ERASED)

    def is_detected(other: Item) -> bool:
        return isinstance(
            verified.with_verified_entries_or_fault(log, [StoredEntry(other, body or other.get("body"))]), Fault
        )

    assert not is_detected(item)
    assert [other for other in item_variants(item, *KEY_ATTRIBUTES) if not is_detected(other)] == []


def test_every_alteration_of_a_separate_body_is_detected(log):
    item, verified, body = get_entry(log, LONG), verified_prefix(log, LONG), load_body(log, LONG)
    assert body

    def is_detected(other: object) -> bool:
        return isinstance(verified.with_verified_entries_or_fault(log, [StoredEntry(item, other)]), Fault)

    assert not is_detected(body)
    assert [other for other in value_variants(body) if not is_detected(other)] == []


@pytest.mark.parametrize("name", KEY_ATTRIBUTES)
def test_every_alteration_of_an_entrys_key_is_detected(log, name):
    item = get_entry(log, SHORT)
    memory_aws.delete_item(item)
    for other in key_variants(item, name):
        memory_aws.put_item(other)
        assert verify_next_window(log, None, None).fault, other[name]
        memory_aws.delete_item(other)
    memory_aws.put_item(item)
    assert verify_next_window(log, None, None).fault is None


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_every_alteration_of_a_body_items_key_is_detected(log, name):
    item = table.get(body_key(log, get_entry(log, LONG)["sk"]))
    assert item
    memory_aws.delete_item(item)
    for other in key_variants(item, name):
        memory_aws.put_item(other)
        fault = verify_next_window(log, None, None).fault
        assert fault == Fault("missing", LONG), other[name]
        memory_aws.delete_item(other)


def test_every_alteration_of_the_head_is_detected(log):
    item = get_head(log)

    def is_detected(other: Item) -> bool:
        try:
            altered_head = Head.from_item_or_empty(other)
            # Without a statement, the entry MACs reveal it: see test_suppressed_entries.
            return (
                find_head_fault(log, altered_head) is not None
                or altered_head.verified_statement_if_present(log) is None
            )
        except (BrokenHead, BrokenStatement):
            return True

    assert not is_detected(item)
    assert [other for other in item_variants(item, "pk", "sk", *UNVERIFIED_ATTRIBUTES) if not is_detected(other)] == []


def test_every_alteration_of_the_heads_key_is_detected(log):
    item = get_head(log)
    memory_aws.delete_item(item)
    for other in (other for name in ("pk", "sk") for other in key_variants(item, name)):
        memory_aws.put_item(other)
        assert verify_next_window(log, None, None).fault == Fault("truncated", 1), (other["pk"], other["sk"])
        memory_aws.delete_item(other)


def test_every_alteration_of_an_anchor_is_detected(log):
    anchors.store_anchor_if_absent(log, Head.from_item_or_empty(get_head(log)))
    data = read_anchor(log, LENGTH).encode()
    variants = list(one_bit_flip_per_byte(data))
    assert len(variants) == len(data)
    for other in variants:
        put_anchor(log, LENGTH, other)
        with pytest.raises(BrokenAnchor):
            anchors.load_latest_anchor_or_none(log)
    put_anchor(log, LENGTH, data)
    assert anchors.load_latest_anchor_or_none(log) == Head.from_item_or_empty(get_head(log))
