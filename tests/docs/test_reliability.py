"""`docs/operations/reliability.md` is what the last soak has found, and what the soak looks for, it sees."""

from dataclasses import replace
from typing import Any, Final

import pytest

from benchmarks.soak import assertions, document
from benchmarks.soak.journal import ReceivedEvent

_TOLD: Final = ReceivedEvent("o", "PATCH", "/spaces/s", 200, "s", 2)


def entry(sequence: int, version: int, kind: str = "space.updated", target: str = "s") -> dict[str, Any]:
    """An entry about a record, a space unless it is another's."""
    about = {"type": kind.partition(".")[0], "id": target, "name": None}
    return {"id": f"e{sequence}", "sequence": sequence, "type": kind, "target": about, "data": {"version": version}}


def test_the_page_is_what_the_figures_say() -> None:
    assert document.FILE.read_text() == document.document(), "run `make soak`, and commit what it writes"


class TestAcknowledged:
    def test_what_is_in_its_log_once_is_well(self) -> None:
        assert assertions.acknowledged_without_entry([_TOLD], {"o": [entry(1, 1), entry(2, 2)]}) == []

    @pytest.mark.parametrize(
        "logs",
        [{"o": [entry(1, 1)]}, {"o": [entry(1, 2), entry(2, 2)]}, {"o": [], "other": [entry(1, 2)]}],
        ids=["never", "twice", "elsewhere"],
    )
    def test_what_is_not_is_found(self, logs: dict[str, list[dict[str, Any]]]) -> None:
        assert len(assertions.acknowledged_without_entry([_TOLD], logs)) == 1

    def test_an_answer_that_is_no_record_has_no_version_to_look_for(self) -> None:
        assert assertions.acknowledged_without_entry([replace(_TOLD, target=None)], {"o": []}) == []


class TestGaps:
    def test_a_record_may_pass_itself_on_the_way_into_the_log(self) -> None:
        assert assertions.gaps([entry(1, 2), entry(2, 1), entry(3, 3), entry(4, 3, "space.deleted")]) == []

    @pytest.mark.parametrize(
        "entries",
        [[entry(1, 1), entry(3, 2)], [entry(1, 1), entry(2, 3)], [entry(1, 1), entry(2, 1)]],
        ids=["an entry is left out", "a version is left out", "a version is there twice"],
    )
    def test_what_is_left_out_is_found(self, entries: list[dict[str, Any]]) -> None:
        assert len(assertions.gaps(entries)) == 1


class TestTorn:
    def test_records_that_are_as_their_log_says_are_whole(self) -> None:
        log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
        assert assertions.torn(log, {"s": 2}, {"t"}) == []

    @pytest.mark.parametrize(
        ("versions", "gone"),
        [({"s": 1}, set()), ({"s": 3}, set()), ({"never": 1}, set()), ({"t": 1}, set()), ({}, {"s"})],
        ids=["a change without its record", "a record without its entry", "no entry", "not deleted", "deleted unsaid"],
    )
    def test_a_record_that_is_not_is_found(self, versions: dict[str, int], gone: set[str]) -> None:
        log = [entry(1, 1), entry(2, 2), entry(3, 1, target="t"), entry(4, 1, "space.deleted", target="t")]
        assert len(assertions.torn(log, versions, gone)) == 1


class TestHalves:
    LOG: Final = (entry(1, 1, "space.created"), entry(2, 1, "space.created", "t"), entry(3, 1, "space.deleted", "t"))

    def test_what_lists_and_log_agree_about_is_whole(self) -> None:
        assert assertions.halves(self.LOG, {"s"}, {"space.created"}) == []

    @pytest.mark.parametrize("listed", [set(), {"s", "u"}, {"s", "t"}], ids=["nowhere", "without a word", "deleted"])
    def test_what_they_do_not_is_found(self, listed: set[str]) -> None:
        assert len(assertions.halves(self.LOG, listed, {"space.created"})) == 1


def test_an_event_that_neither_arrived_nor_is_explained_is_found() -> None:
    log = [entry(1, 1), entry(2, 2), entry(3, 3)]
    assert assertions.untold(log, {"e1"}, {"e2"}) == ["space.updated e3"]
