"""CSV exports contain no formulas, and the offline verifier accepts nothing but signed exports and parts of them."""

import base64
import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO, StringIO
from typing import Any, Final
from unittest.mock import patch

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.exports.logic import omitted_runs
from chalicelib.features.audit.exports.logic.entry_formats import escape_formulas, file_header_bytes, format_entry
from chalicelib.features.audit.exports.logic.omitted_runs import OmittedRuns
from chalicelib.features.audit.exports.logic.verify import InvalidInput, verify_checkpoint_note
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash
from tests.harness import exported_logs, rfc6962
from tests.harness.exported_logs import PUBLIC_KEY, ExportedLog, build_exported_log, unproven_range, verify_export

FORMULA_CHARACTERS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
FORMULA_STARTS: Final = tuple(FORMULA_CHARACTERS)
IGNORED_CHARACTERS: Final = " \t\r\n\f\v\0\u00a0\u3000\u200b\u200e\ufeff\u2028'\"`\u2018\u2019\u201c\u201d\uff07"

ESCAPING_APOSTROPHE: Final = re.compile(
    r"(\A|[;|\t])'(?=[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\"'`\xab\xb4\xbb\u2018-\u201f\uff02\uff07]*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20])"
)
"""An apostrophe that escapes the characters after it."""

formula_like = st.text(FORMULA_CHARACTERS + IGNORED_CHARACTERS + "ab1,;{[|%", max_size=12)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | formula_like
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
names = st.none() | texts


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """Return an entry as in NDJSON, with arbitrary texts. It may be erased, or pending."""
    entry: dict[str, Any] = {
        "id": draw(texts),
        "type": draw(texts),
        "occurredAt": draw(texts),
        "organizationId": None,
        "actor": {name: draw(names) for name in ("type", "id", "name")},
        "target": {name: draw(names) for name in ("type", "id", "name")},
        "context": {name: draw(names) for name in ("operationId", "requestId", "ipAddress", "userAgent")},
        "changes": draw(st.lists(st.fixed_dictionaries({"field": texts, "from": values, "to": values}), max_size=2)),
        "data": draw(st.none() | st.dictionaries(texts, values, max_size=3)),
    }
    if draw(st.booleans()):
        reference = {name: draw(names) for name in ("type", "id", "name")}
        actor = {**entry["actor"], "asserted": True} if draw(st.booleans()) else reference
        entry |= {"version": 1, "receivedAt": draw(texts), "actor": actor, "reportedBy": reference}
        targets = [reference] * draw(st.integers(0, 2))
        entry |= {"target": targets[0] if targets else None, "targets": targets}
    elif draw(st.booleans()):
        entry |= {"actor": None, "target": None, "context": None, "changes": [], "data": None, "erased": True}
    sequence = draw(st.none() | st.integers(1, 10**9))
    integrity = {"leafHash": draw(st.sampled_from(["0" * 64])), "treeSize": sequence} if sequence else None
    return entry | {"sequence": sequence, "integrity": integrity}


def csv_row(entry):
    return format_entry("csv", rfc8785.dumps(entry)).decode()


def unescape(cell: str) -> str:
    return ESCAPING_APOSTROPHE.sub(r"\1", cell)


def to_text(value: Any) -> str:
    return "" if value is None else str(value)


def is_formula(text):
    """Return whether a text starts like a formula, also after characters that a spreadsheet ignores."""
    hidden = text.lstrip(IGNORED_CHARACTERS)
    return text.startswith(FORMULA_STARTS) or (hidden.startswith(FORMULA_STARTS) and not text.startswith("'"))


@given(entries())
@example(
    {
        **dict.fromkeys(("sequence", "integrity", "data", "actor", "target", "context")),
        "id": "",
        "occurredAt": "",
        "type": 'a;=1|"+1\t@A1',
        "changes": [{"field": ";=1", "from": None, "to": "|-1"}],
    }
)
def test_no_cell_starts_like_a_formula(entry):
    row = csv_row(entry)
    assert re.fullmatch(r'"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*\r\n', row), "every cell is quoted"
    assert [cell for cell in next(csv.reader([row], strict=True)) if is_formula(cell)] == []
    for separator in ";\t|":
        assert [part for part in row.split(separator)[1:] if is_formula(part)] == []


@given(texts)
@example("'=1")
@example("' '=1")
@example("''")
@example("-")
@example(";=1")
@example(";'=1")
@example("a;\t=1")
@example("a\t\tb|")
def test_an_escaped_cell_can_be_unescaped(text):
    assert unescape(escape_formulas(text)) == text


@settings(max_examples=50)
@given(st.lists(entries(), max_size=3))
def test_csv_rows_equal_ndjson_lines(drawn_entries):
    text = file_header_bytes("csv").decode() + "".join(map(csv_row, drawn_entries))
    rows = csv.DictReader(StringIO(text, newline=""), strict=True)
    for row, drawn_entry in zip(rows, drawn_entries, strict=True):
        line = format_entry("ndjson", rfc8785.dumps(drawn_entry))
        assert line == rfc8785.dumps(drawn_entry) + b"\n"
        assert line.count(b"\n") == 1
        entry, cells = json.loads(line), {name: unescape(cell) for name, cell in row.items()}
        assert [cells[name] for name in ("sequence", "id", "occurredAt", "type")] == [
            to_text(entry[name]) for name in ("sequence", "id", "occurredAt", "type")
        ]
        prefixes = {"actor": "actor", "target": "target", "context": "", "integrity": "", "reportedBy": "reportedBy"}
        for name_of_object, prefix in prefixes.items():
            for name, value in (entry.get(name_of_object) or {}).items():
                expected = "true" if name == "asserted" else to_text(value)
                assert cells[prefix + name.title() if prefix else name] == expected
        assert [cells[name] for name in ("version", "receivedAt")] == [
            to_text(entry.get(name)) for name in ("version", "receivedAt")
        ]
        assert (json.loads(cells["targets"]) if cells["targets"] else None) == entry.get("targets")
        assert json.loads(cells["changes"]) == entry["changes"]
        assert (json.loads(cells["data"]) if cells["data"] else None) == entry["data"]
        assert cells["erased"] == ("true" if "erased" in entry else "")


@given(st.integers(1, 70).flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(1, size)), st.data())))
def test_entries_and_evidence_form_the_tree_however_the_work_is_sliced(drawn):
    size, included, data = drawn
    leaves = [leaf_hash(b"%d" % sequence) for sequence in range(1, size + 1)]
    omitted = OmittedRuns([], CompactRange())
    omitted_sequences = [sequence for sequence in range(1, size + 1) if sequence not in included]
    for sequence in omitted_sequences:
        omitted.add_leaves(sequence, leaves[sequence - 1 : sequence])
        if data.draw(st.booleans()):
            omitted = OmittedRuns.from_item(omitted.to_item())
    evidence = omitted.close_last_run_and_return_runs()
    assert evidence is not None
    covered = [sequence for run in evidence for sequence in range(run["from"], run["to"] + 1)]
    assert covered == omitted_sequences
    for run in evidence:
        roots = rfc6962.subtree_roots(leaves, run["from"] - 1, run["to"])
        assert run["hashes"] == [root.hex() for root in roots]
        assert run["to"] + 1 not in omitted_sequences


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_amount_of_evidence_is_limited(runs, max_hashes):
    with patch.object(omitted_runs, "MAX_EVIDENCE_HASHES", max_hashes):
        omitted = OmittedRuns([], CompactRange())
        for n in range(runs):
            omitted.add_leaves(2 * n + 1, [leaf_hash(b"")])
            omitted = OmittedRuns.from_item(omitted.to_item())
        assert (omitted.close_last_run_and_return_runs() is None) is (runs > max_hashes)


A_LOG: Final = build_exported_log([1, 3, 4], erased_sequences=[2])
AN_EXPORT: Final = b"".join(A_LOG.lines)

Json = dict[str, Any]

_VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "id": st.uuids().map(str),
    "organizationId": st.none() | st.uuids().map(str),
    "occurredAt": st.datetimes().map(lambda time: f"{time.isoformat(timespec='milliseconds')}Z"),
    "type": st.from_regex(r"[a-z_]{1,9}(\.[a-z_]{1,9}){0,2}", fullmatch=True),
    "erased": st.none() | st.just(value=False),
    "leafHash": st.binary(min_size=32, max_size=32).map(bytes.hex),
    "treeSize": st.integers(1, 60),
    "erasureSignature": st.none() | st.binary(max_size=70).map(lambda data: base64.b64encode(data).decode()),
}
"""Values for a field of an erased entry, as they are written in exports."""

_ANY_VALUE: Final[st.SearchStrategy[Any]] = (
    st.none() | st.booleans() | st.integers() | st.text() | st.just([]) | st.just({"type": "user"})
)


@st.composite
def logs(draw: st.DrawFn, min_size: int = 1) -> ExportedLog:
    """Return logs of any length, appended in any batches, with any entries erased."""
    size = draw(st.integers(min_size, 40))
    sequences = st.sets(st.integers(1, size))
    return build_exported_log(sorted({*draw(sequences), size}), draw(sequences))


def parts_of(log: ExportedLog, *, includes_whole: bool = True) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(1, log.size), max_size=log.size if includes_whole else log.size - 1)


def is_rejected(log: ExportedLog, export: Iterable[bytes], evidence: Any = ()) -> bool:
    """Return whether the verifier reports a fault."""
    try:
        verify_export(log, export, evidence)
    except InvalidInput:
        return True
    return False


@given(logs(), st.data())
def test_a_complete_log_and_any_part_with_its_evidence_verify(log, data):
    message = f": {log.size} of {log.size} entries are proven to be in the signed tree, sequence 1 to {log.size}: "
    assert message in verify_export(log, log.lines)
    part, other = data.draw(parts_of(log)), data.draw(parts_of(log))
    message = verify_export(log, log.lines_of(part), log.evidence_for(part))
    assert f": {len(part)} of {log.size} entries are proven" in message
    assert is_rejected(log, log.lines_of(part), log.evidence_for(other)) == (part != other)


def test_every_range_of_a_log_verifies_with_its_evidence():
    log = build_exported_log([11])
    for first in range(1, log.size + 1):
        for last in range(first, log.size + 1):
            part = range(first, last + 1)
            assert f", sequence {first} to {last}: " in verify_export(log, log.lines_of(part), log.evidence_for(part))


@given(logs(), st.data())
def test_altered_removed_added_and_moved_hashes_of_the_evidence_are_detected(log, data):
    part = data.draw(parts_of(log, includes_whole=False))
    evidence = log.evidence_for(part)
    hashes: list[str] = data.draw(st.sampled_from(evidence))["hashes"]
    if data.draw(st.booleans()):
        index = data.draw(st.integers(0, len(hashes) - 1))
        hashes[index] = f"{int(hashes[index], 16) ^ 1 << data.draw(st.integers(0, 255)):064x}"
    else:
        others = st.lists(st.sampled_from([*hashes, "0" * 64]), max_size=len(hashes) + 1)
        hashes[:] = data.draw(others.filter(lambda other: other != hashes))
    assert is_rejected(log, log.lines_of(part), evidence)


def flip_bits(data: bytes, shift: int) -> Iterator[tuple[int, bytes]]:
    """Yield each position, and the data with one bit flipped in the byte there. The bit varies with the position."""
    return ((at, data[:at] + bytes([data[at] ^ 1 << (at + shift) % 8]) + data[at + 1 :]) for at in range(len(data)))


@pytest.mark.parametrize("shift", [0, 3])
def test_a_flipped_bit_of_any_byte_of_a_line_or_of_the_checkpoint_is_detected(shift):
    expected_message = verify_export(A_LOG, A_LOG.lines)
    for number, line in enumerate(A_LOG.lines):
        exempt = set(unproven_range(line))
        for at, flipped in flip_bits(line, shift):
            export = [*A_LOG.lines[:number], flipped, *A_LOG.lines[number + 1 :]]
            # Unproven bytes may change without detection. The message is then the same.
            is_harmless = at in exempt and not is_rejected(A_LOG, export)
            assert is_rejected(A_LOG, export) or is_harmless, (number, at)
            assert not is_harmless or verify_export(A_LOG, export) == expected_message
    for _, flipped in flip_bits(A_LOG.checkpoint.encode(), shift):
        with pytest.raises(InvalidInput, match="checkpoint"):
            verify_checkpoint_note(flipped, base64.b64decode(PUBLIC_KEY))


@given(st.data())
def test_any_altered_field_of_an_erased_entry_is_detected_at_its_sequence(data):
    log = data.draw(logs())
    sequence = data.draw(st.integers(1, log.size))
    erased = build_exported_log(sorted({*log.tree_sizes}), {*log.erasure_signatures, sequence})
    entry: Json = json.loads(erased.lines[sequence - 1])
    name = data.draw(
        st.sampled_from([*entry, *entry["integrity"]]).filter(lambda name: name not in {"sequence", "integrity"})
    )
    container = entry["integrity"] if name in entry["integrity"] else entry
    container[name] = data.draw(_VALUES.get(name, _ANY_VALUE).filter(lambda value: value != container[name]))
    altered = f"{json.dumps(entry, separators=(',', ':'))}\n".encode()
    with pytest.raises(InvalidInput, match=f"^The entry with sequence {sequence} was altered: "):
        verify_export(erased, [*erased.lines[: sequence - 1], altered, *erased.lines[sequence:]])


@given(logs(), st.data())
def test_any_false_erasure_is_detected_at_its_sequence(log, data):
    sequence, other = (data.draw(st.integers(1, log.size)) for _ in range(2))
    erased_log = build_exported_log(sorted({*log.tree_sizes}), range(1, log.size + 1))
    signatures = [None, *(erased_log.erasure_signatures[n] for n in erased_log.erasure_signatures if n != sequence)]
    forged = exported_logs.build_line(
        erased_log.entry_texts[sequence - 1],
        sequence,
        erased_log.leaf_hashes[sequence - 1],
        erased_log.tree_sizes[other - 1],
        data.draw(st.sampled_from(signatures)),
    )
    with pytest.raises(InvalidInput, match=f"sequence {sequence} was altered: it calls itself erased"):
        verify_export(log, [*log.lines[: sequence - 1], forged, *log.lines[sequence:]])


@settings(max_examples=200)
@given(st.integers(0, len(AN_EXPORT)), st.binary(max_size=3), st.integers(0, 3))
def test_any_inserted_or_removed_bytes_are_detected(at, inserted, removed_count):
    edited = AN_EXPORT[:at] + inserted + AN_EXPORT[at + removed_count :]
    line_starts = [sum(map(len, A_LOG.lines[:number])) for number in range(A_LOG.size)]
    exempt = {start + n for start, line in zip(line_starts, A_LOG.lines, strict=True) for n in unproven_range(line)}
    same = edited.removesuffix(b"\n") == AN_EXPORT.removesuffix(b"\n")
    assert is_rejected(A_LOG, BytesIO(edited)) or same or exempt.issuperset(range(at, at + max(removed_count, 1)))


@given(logs(), st.data())
def test_any_removed_or_repeated_line_is_detected_at_its_sequence(log, data):
    sequence = data.draw(st.integers(1, log.size))
    with pytest.raises(InvalidInput, match=f"sequence {sequence} is missing"):
        verify_export(log, log.lines[: sequence - 1] + log.lines[sequence:])
    with pytest.raises(InvalidInput, match=f"sequence {sequence} is there twice"):
        verify_export(log, log.lines[:sequence] + log.lines[sequence - 1 :])


@given(logs(min_size=2), st.data())
def test_reordered_lines_and_swapped_entries_are_detected(log, data):
    sequences = [*range(1, log.size + 1)]
    order = data.draw(st.permutations(sequences).filter(lambda order: order != sequences))
    first_moved = next(expected for expected, sequence in enumerate(order, 1) if expected != sequence)
    with pytest.raises(InvalidInput, match=f"sequence {first_moved} is out of order"):
        verify_export(log, [log.lines[sequence - 1] for sequence in order])
    # The signature of an erased entry contains its sequence, so the first erased entry that moved is reported.
    moved = [now for now, was in enumerate(order, 1) if now != was and was in log.erasure_signatures]
    with pytest.raises(InvalidInput, match=f"sequence {moved[0]} was altered: it calls" if moved else "another root"):
        verify_export(log, log.lines_in_order(order))
