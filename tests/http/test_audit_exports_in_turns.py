import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.storage import files
from chalicelib.kernel.work import jobs, queues
from tests.harness import cloud, exports
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.exports import begin_export, completed, fetched, fill, lines, proven
from tests.harness.organizations import Founded, found
from tests.harness.workers import Workers

LONG = 9_000
"""Letters of an entry whose text stands in an item of its own."""


@pytest.fixture
def large(api: Api, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> Founded:
    """An organization with a long log, of which few entries are held at once."""
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 5)
    organization = found(api, ada)
    workers.deliver()
    fill(organization.id, 40, LONG)
    return organization


def parts_of(record: Json) -> list[bytes]:
    """What each part of a file says: every member of it, unpacked."""
    packed, texts = fetched(record), list[bytes]()
    while packed:
        member = zlib.decompressobj(wbits=31)
        texts.append(member.decompress(packed))
        packed = member.unused_data
    return texts


class TestPartByPart:
    def test_a_long_file_is_put_together_of_parts(
        self, api: Api, large: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        exports.let_parts_be_small(monkeypatch, least=60_000)
        put: list[int] = []
        put_part = files.upload_part

        def counting(*words: Any) -> None:
            put.append(len(words[-1]))
            put_part(*words)

        monkeypatch.setattr(files, "upload_part", counting)
        record = completed(api, workers, large)
        assert len(put) > 2
        assert all(size >= 60_000 for size in put[:-1])
        assert sum(put) == record["sizeBytes"]
        assert len(parts_of(record)) == len(put)
        assert len(lines(record)) == 42
        assert "42 of 42 entries" in proven(record)

    def test_no_part_is_smaller_than_s3_allows(self) -> None:
        assert files.MIN_PART_BYTES == 5 * 1024 * 1024

    @pytest.mark.parametrize("form", ["ndjson", "csv"])
    def test_however_it_was_put_together_it_says_the_same(
        self, api: Api, large: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch, form: str
    ) -> None:
        asked: dict[str, Any] = {"format": form, "filters": {"type": "organization.*", "to": "2999-01-01T00:00:00Z"}}
        whole = gzip.decompress(fetched(completed(api, workers, large, **asked)))
        for turn_seconds, keep_seconds, least in ((600, -1, 10**9), (-1, 60, 10**9), (-1, 60, 60_000), (600, -1, 1)):
            monkeypatch.setattr(jobs, "_SLICE_SECONDS", turn_seconds)
            monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", keep_seconds)
            exports.let_parts_be_small(monkeypatch, least)
            record = completed(api, workers, large, **asked)
            assert gzip.decompress(fetched(record)).startswith(whole)
            assert record["entryCount"] == sum(text.count(b"\n") for text in parts_of(record)) - (form == "csv")

    def test_evidence_goes_on_from_turn_to_turn(
        self, api: Api, large: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for sequence in (3, 4, 11, 30):
            item = next(i for i in cloud.stored() if i["pk"] == f"A#{large.id}" and i.get("sequence") == sequence)
            cloud.put({**item, "type": "page.created"})
        at_once = completed(api, workers, large, filters={"type": "page.*"})
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
        turn_by_turn = completed(api, workers, large, filters={"type": "page.*"})
        assert [(run["from"], run["to"]) for run in at_once["evidence"]] == [(1, 2), (5, 10), (12, 29), (31, 42)]
        assert turn_by_turn["evidence"][:3] == at_once["evidence"][:3]
        assert turn_by_turn["evidence"][3]["from"] == 31
        assert "4 of" in proven(turn_by_turn)


class TestTurnByTurn:
    @pytest.fixture
    def short_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)

    @pytest.mark.usefixtures("short_turns")
    def test_each_turn_says_how_far_it_is(
        self, api: Api, large: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[str, int]] = []
        pass_on = jobs.release

        def looking(*words: Any, **progress: Any) -> Any:
            passed = pass_on(*words, **progress)
            record = started.now(api)
            seen.append((record["status"], record["entryCount"]))
            assert record["downloadUrl"] is None
            assert record["checkpoint"]
            return passed

        monkeypatch.setattr(jobs, "release", looking)
        started = begin_export(api, large)
        workers.deliver()
        assert [status for status, _ in seen] == ["running"] * len(seen)
        counts = [count for _, count in seen]
        assert counts == sorted(set(counts))
        assert len(counts) > 5
        assert started.now(api)["entryCount"] == 42

    @pytest.mark.usefixtures("short_turns")
    def test_a_lost_message_is_made_up_for_by_the_schedule(
        self, api: Api, large: Founded, workers: Workers, clock: Clock
    ) -> None:
        started = begin_export(api, large)
        for _ in range(12):
            for queue in cloud.queues():
                queue._messages.clear()  # noqa: SLF001 - a message that is lost
            clock.shift(minutes=1.1)
            workers.sweep()
            workers.attempt()
        assert started.now(api)["status"] == "completed"

    def test_a_message_that_comes_again_changes_nothing(self, api: Api, large: Founded, workers: Workers) -> None:
        started = begin_export(api, large)
        workers.deliver()
        before = cloud.stored()
        queues.enqueue("audit_exports.run", started.key)
        workers.deliver()
        assert workers.calls.names == ["dynamodb:GetItem"]
        assert cloud.stored() == before

    def test_one_that_is_being_made_is_left_to_its_worker(
        self, api: Api, large: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started, sealed, asked = begin_export(api, large), logs.iter_sequenced, list[list[str]]()

        def interrupted(*words: Any, reread: bool) -> Iterator[Any]:
            queues.enqueue("audit_exports.run", started.key)
            workers.attempt()
            asked.append(workers.calls.names)
            return sealed(*words, reread=reread)

        monkeypatch.setattr(async_export, "logs", reading(interrupted))
        workers.deliver()
        assert asked == [["dynamodb:GetItem"]]
        assert started.now(api)["status"] == "completed"


def reading(sealed: Callable[..., Iterator[Any]]) -> SimpleNamespace:
    """Return what reads a log, as exports see it: its sealed entries otherwise than everybody else does."""
    return SimpleNamespace(**{**vars(logs), "iter_sequenced": sealed})


class Folder:
    """A file store that keeps nothing in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def upload_part(self, _bucket: str, _name: str, _upload: str, number: int, data: bytes) -> None:
        (self._folder / f"{number:05d}").write_bytes(data)

    def complete_upload(self, *_: object) -> None:
        assert len(list(self._folder.iterdir())) > 5

    def read_file(self, *_: object) -> Iterator[bytes]:
        return (part.read_bytes() for part in sorted(self._folder.iterdir()))


class TestMemory:
    ENTRIES, LETTERS = 4_000, 24_000

    def test_a_worker_holds_a_part_of_the_file_and_no_more(
        self, api: Api, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        organization, folder = found(api, ada), Folder(tmp_path)
        workers.deliver()
        fill(organization.id, 100, self.LETTERS)
        (some,) = logs.iter_sequenced(organization.id, 1, 101)

        def endless(log: str, _after: int, _until: int, **_: bool) -> Iterator[list[StoredEntry]]:
            for sequence in range(1, self.ENTRIES, len(some)):
                places = (ledger.sequence_attributes(log, sequence + n, self.ENTRIES) for n in range(len(some)))
                yield [StoredEntry({**e.item, **place}, e.body) for e, place in zip(some, places, strict=True)]

        started = begin_export(api, organization)
        monkeypatch.setattr(async_export, "logs", reading(endless))
        for name in ("upload_part", "complete_upload", "read_file"):
            monkeypatch.setattr(files, name, getattr(folder, name))
        tracemalloc.start()
        try:
            workers.deliver()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        record = started.now(api)
        assert record["entryCount"] == self.ENTRIES
        assert record["sizeBytes"] > 10 * files.MIN_PART_BYTES
        assert peak < 5 * files.MIN_PART_BYTES
