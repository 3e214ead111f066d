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


class TestAcknowledgedWithoutEntry:
    def test_a_change_with_one_entry_passes(self):
        assert assertions.find_changes_without_entry([_EVENT], {"o": [entry(1, 1), entry(2, 2)]}) == []

    @pytest.mark.parametrize(
        "logs",
        [{"o": [entry(1, 1)]}, {"o": [entry(1, 2), entry(2, 2)]}, {"o": [], "other": [entry(1, 2)]}],
        ids=["no entry", "two entries", "entry in another log"],
    )
    def test_a_change_without_exactly_one_entry_is_reported(self, logs):
        assert len(assertions.find_changes_without_entry([_EVENT], logs)) == 1

    def test_a_response_without_a_record_is_ignored(self):
        assert assertions.find_changes_without_entry([replace(_EVENT, target=None)], {"o": []}) == []


class TestGaps:
    def test_versions_may_be_logged_out_of_order(self):
        assert assertions.find_gaps([entry(1, 2), entry(2, 1), entry(3, 3), entry(4, 3, "space.deleted")]) == []

    @pytest.mark.parametrize(
        "entries",
        [[entry(1, 1), entry(3, 2)], [entry(1, 1), entry(2, 3)], [entry(1, 1), entry(2, 1)]],
        ids=["missing entry", "missing version", "repeated version"],
    )
    def test_missing_and_repeated_entries_are_reported(self, entries):
        assert len(assertions.find_gaps(entries)) == 1


class TestTorn:
    def test_records_that_match_their_log_pass(self):
        log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
        assert assertions.find_version_mismatches(log, {"s": 2}, {"t"}) == []

    @pytest.mark.parametrize(
        ("versions", "deleted"),
        [({"s": 1}, set()), ({"s": 3}, set()), ({"never": 1}, set()), ({"t": 1}, set()), ({}, {"s"})],
        ids=[
            "outdated record",
            "version without entry",
            "record without entries",
            "record not deleted",
            "deletion without entry",
        ],
    )
    def test_a_record_that_differs_from_its_log_is_reported(self, versions, deleted):
        log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
        assert len(assertions.find_version_mismatches(log, versions, deleted)) == 1


class TestHalves:
    LOG: Final = (entry(1, 1, "space.created"), entry(2, 1, "space.created", "t"), entry(3, 1, "space.deleted", "t"))

    def test_a_list_that_matches_the_log_passes(self):
        assert assertions.find_partial_records(self.LOG, {"s"}, {"space.created"}) == []

    @pytest.mark.parametrize(
        "listed", [set(), {"s", "u"}, {"s", "t"}], ids=["missing from list", "no entry", "deleted"]
    )
    def test_a_list_that_differs_from_the_log_is_reported(self, listed):
        assert len(assertions.find_partial_records(self.LOG, listed, {"space.created"})) == 1


def test_an_event_that_was_neither_delivered_nor_failed_is_reported():
    log = [entry(1, 1), entry(2, 2), entry(3, 3)]
    assert assertions.find_undelivered_events(log, {"e1"}, {"e2"}) == ["space.updated e3"]
