"""Whichever byte of a log somebody alters, it is found: each one of what is stored is altered here, and not some.

What verification makes of an item is asked of its rules, bit by bit; where the item stands decides whether it comes
before them, so that is altered in the table itself.
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
from tests.catalogue.conftest import Begin
from tests.harness import cloud
from tests.harness.anchors import put, read
from tests.harness.cloud import Item
from tests.property.test_tampering import ERASED, LENGTH, MARK, a_long_log, entry, head

SHORT: Final = 2
LONG: Final = 7
STANDS: Final = ("pk", "sk", "index1pk", "index1sk")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the tests doesn't lag: a gap in it is a gap."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


@pytest.fixture
def log(begin: Begin) -> str:
    """A log with short and long entries, and an erased one."""
    name: str = begin(a_long_log)
    return name


def flipped(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one bit altered: each bit of each byte."""
    for at in range(len(data)):
        for bit in range(8):
            yield data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def one_bit_a_byte(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one byte altered: one bit of each, and not always the same."""
    return (found for n, found in enumerate(flipped(data)) if n % 8 == n // 8 % 8)


def moved(item: Item, name: str) -> Iterator[Item]:
    """Yield the item with a key that differs in one character, each in turn."""
    for at, character in enumerate(item[name]):
        other = chr(ord(character) ^ 1 << at % 7)
        yield {**item, name: item[name][:at] + other + item[name][at + 1 :]}


def others(value: Any) -> Iterator[Any]:
    """Yield what the table can hold that differs from a value in one bit, and what is of another type."""
    match value:
        case bytes():
            yield from flipped(value)
            yield from (b"", value[:-1], value + b"\0", value.decode("latin-1"))
        case str():
            yield from (found for data in flipped(value.encode()) if (found := decoded(data)) is not None)
            yield from ("", value[:-1], f"{value} ", value.encode())
        case int():
            yield from (value ^ 1 << bit for bit in range(value.bit_length() + 1))
            yield from (-value, value + 0.5, str(value))
    yield None


def decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def altered(item: Item, *spared: str) -> Iterator[Item]:
    """Yield the item with one attribute altered, or gone, in every way."""
    for name in set(item) - set(spared):
        yield {other: value for other, value in item.items() if other != name}
        yield from ({**item, name: value} for value in others(item[name]))


def text_of(log: str, sequence: int) -> Any:
    """Return the bytes of an entry that stand in an item of their own, if they do."""
    found = table.get(body_key(log, entry(log, sequence)["sk"]))
    return found and found["body"]


def before(log: str, sequence: int) -> VerifiedPrefix:
    """Return the log as it was verified up to an entry."""
    return VerifiedPrefix(CompactRange().extend(entry(log, n)["leaf"] for n in range(1, sequence)))


@pytest.mark.parametrize("sequence", [SHORT, LONG, ERASED], ids=["short", "long", "erased"])
def test_of_an_entry(log: str, sequence: int) -> None:
    item, verified, text = entry(log, sequence), before(log, sequence), text_of(log, sequence)
    assert ("body" in item, text is None, "erased" in item) == (sequence == SHORT, sequence != LONG, sequence == ERASED)

    def seen(other: Item) -> bool:
        return isinstance(verified.extend(log, [StoredEntry(other, text or other.get("body"))]), Fault)

    assert not seen(item)
    assert [other for other in altered(item, *STANDS) if not seen(other)] == []


def test_of_a_long_entrys_text(log: str) -> None:
    item, verified, text = entry(log, LONG), before(log, LONG), text_of(log, LONG)
    assert text

    def seen(other: object) -> bool:
        return isinstance(verified.extend(log, [StoredEntry(item, other)]), Fault)

    assert not seen(text)
    assert [other for other in others(text) if not seen(other)] == []


@pytest.mark.parametrize("name", STANDS)
def test_of_where_an_entry_stands(log: str, name: str) -> None:
    item = entry(log, SHORT)
    cloud.remove(item)
    for other in moved(item, name):
        cloud.put(other)
        assert verify_next_window(log, None, None).fault, other[name]
        cloud.remove(other)
    cloud.put(item)
    assert verify_next_window(log, None, None).fault is None


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_of_where_a_long_entrys_text_stands(log: str, name: str) -> None:
    item = table.get(body_key(log, entry(log, LONG)["sk"]))
    assert item
    cloud.remove(item)
    for other in moved(item, name):
        cloud.put(other)
        fault = verify_next_window(log, None, None).fault
        assert fault == Fault("missing", LONG), other[name]
        cloud.remove(other)


def test_of_the_head(log: str) -> None:
    item = head(log)

    def seen(other: Item) -> bool:
        try:
            head = Head.from_item(other)
            # Without a statement it is the seals that tell: see test_suppressed_entries.
            return find_head_fault(log, head) is not None or head.read_statement(log) is None
        except (BrokenHead, BrokenStatement):
            return True

    assert not seen(item)
    assert [other for other in altered(item, "pk", "sk", *MARK) if not seen(other)] == []


def test_of_where_the_head_stands(log: str) -> None:
    item = head(log)
    cloud.remove(item)
    for other in (other for name in ("pk", "sk") for other in moved(item, name)):
        cloud.put(other)
        assert verify_next_window(log, None, None).fault == Fault("truncated", 1), (other["pk"], other["sk"])
        cloud.remove(other)


def test_of_an_anchor(log: str) -> None:
    anchors.store_anchor(log, Head.from_item(head(log)))
    data = read(log, LENGTH).encode()
    variants = list(one_bit_a_byte(data))
    assert len(variants) == len(data)
    for other in variants:
        put(log, LENGTH, other)
        with pytest.raises(BrokenAnchor):
            anchors.load_latest_anchor(log)
    put(log, LENGTH, data)
    assert anchors.load_latest_anchor(log) == Head.from_item(head(log))
