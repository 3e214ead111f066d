"""CSV exports contain no formulas and equal the NDJSON exports, and any part of a log can be proven."""

import csv
import json
import re
from io import StringIO
from typing import Any, Final
from unittest.mock import patch

import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.exports.logic import omitted_runs
from chalicelib.features.audit.exports.logic.entry_formats import escape_formulas, file_header_bytes, format_entry
from chalicelib.features.audit.exports.logic.omitted_runs import OmittedRuns
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash
from tests.harness import rfc6962

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
        entry |= {"actor": None, "target": None, "context": None, "changes": [], "data": None, "erased": True}
    sequence = draw(st.none() | st.integers(1, 10**9))
    integrity = {"leafHash": draw(st.sampled_from(["0" * 64])), "treeSize": sequence} if sequence else None
    return entry | {"sequence": sequence, "integrity": integrity}


def csv_row(entry):
    """Return the CSV row of an entry."""
    return format_entry("csv", rfc8785.dumps(entry)).decode()


def unescape(cell: str) -> str:
    """Return a cell's text before it was escaped."""
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
        for name_of_object, prefix in (("actor", "actor"), ("target", "target"), ("context", ""), ("integrity", "")):
            for name, value in (entry[name_of_object] or {}).items():
                assert cells[prefix + name.title() if prefix else name] == to_text(value)
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
