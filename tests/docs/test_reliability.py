"""`docs/operations/reliability.md` matches the last soak, and the assertions of the soak detect violations."""

from dataclasses import replace
from typing import Any, Final

import pytest

from benchmarks.soak import assertions, document
from benchmarks.soak.journal import AcknowledgedChange

_EVENT: Final = AcknowledgedChange("o", "PATCH", "/spaces/s", 200, "s", 2)


def entry(sequence: int, version: int, kind: str = "space.updated", target: str = "s") -> dict[str, Any]:
    """Return an entry of a log. Its subject is a space by default."""
    subject = {"type": kind.partition(".")[0], "id": target, "name": None}
    return {"id": f"e{sequence}", "sequence": sequence, "type": kind, "target": subject, "data": {"version": version}}


def test_the_page_is_generated_from_the_results():
    assert document.PAGE_FILE.read_text() == document.render_page(), "run `make soak`, and commit what it writes"


@pytest.mark.parametrize(
    ("logs", "count"),
    [
        ({"o": [entry(1, 1), entry(2, 2)]}, 0),
        ({"o": [entry(1, 1)]}, 1),
        ({"o": [entry(1, 2), entry(2, 2)]}, 1),
        ({"o": [], "other": [entry(1, 2)]}, 1),
    ],
    ids=["one entry", "no entry", "two entries", "entry in another log"],
)
def test_an_acknowledged_change_without_exactly_one_entry_is_reported(logs, count):
    assert len(assertions.find_changes_without_entry([_EVENT], logs)) == count


def test_a_response_without_a_record_is_ignored():
    assert assertions.find_changes_without_entry([replace(_EVENT, target=None)], {"o": []}) == []


@pytest.mark.parametrize(
    ("entries", "count"),
    [
        ([entry(1, 2), entry(2, 1), entry(3, 3), entry(4, 3, "space.deleted")], 0),
        ([entry(1, 1), entry(3, 2)], 1),
        ([entry(1, 1), entry(2, 3)], 1),
        ([entry(1, 1), entry(2, 1)], 1),
    ],
    ids=["versions out of order", "missing entry", "missing version", "repeated version"],
)
def test_missing_and_repeated_entries_are_reported(entries, count):
    assert len(assertions.find_gaps(entries)) == count


@pytest.mark.parametrize(
    ("versions", "deleted", "count"),
    [
        ({"s": 2}, {"t"}, 0),
        ({"s": 1}, set(), 1),  # an outdated record
        ({"s": 3}, set(), 1),  # a version without an entry
        ({"never": 1}, set(), 1),  # a record without entries
        ({"t": 1}, set(), 1),  # a record that is not deleted
        ({}, {"s"}, 1),  # a deletion without an entry
    ],
)
def test_a_record_that_differs_from_its_log_is_reported(versions, deleted, count):
    log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
    assert len(assertions.find_version_mismatches(log, versions, deleted)) == count


@pytest.mark.parametrize(
    ("listed", "count"),
    [({"s"}, 0), (set(), 1), ({"s", "u"}, 1), ({"s", "t"}, 1)],
    ids=["all", "missing from list", "no entry", "deleted"],
)
def test_a_list_that_differs_from_the_log_is_reported(listed, count):
    log = (entry(1, 1, "space.created"), entry(2, 1, "space.created", "t"), entry(3, 1, "space.deleted", "t"))
    assert len(assertions.find_partial_records(log, listed, {"space.created"})) == count


def test_an_event_that_was_neither_delivered_nor_failed_is_reported():
    log = [entry(1, 1), entry(2, 2), entry(3, 3)]
    assert assertions.find_undelivered_events(log, {"e1"}, {"e2"}) == ["space.updated e3"]
