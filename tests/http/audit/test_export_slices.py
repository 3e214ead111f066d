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
from tests.harness import exports, memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.exports import (
    append_entries,
    create_completed_export,
    create_export,
    download_file,
    read_ndjson_entries,
    verify_export_file,
)
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.workers import Workers

LONG_BODY_CHARS = 9_000
"""Characters of an entry whose body is stored in an item of its own."""


@pytest.fixture
def organization_with_long_log(
    api: ApiClient, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> CreatedOrganization:
    """An organization with a long log, read with few long bodies at a time."""
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 5)
    organization = create_organization(api, ada)
    workers.deliver()
    append_entries(organization.id, 40, LONG_BODY_CHARS)
    return organization


def decompressed_members(record: Json) -> list[bytes]:
    """Return the text of each gzip member of a file, one for each part."""
    compressed, texts = download_file(record), list[bytes]()
    while compressed:
        member = zlib.decompressobj(wbits=31)
        texts.append(member.decompress(compressed))
        compressed = member.unused_data
    return texts


class TestMultipartUpload:
    def test_a_long_file_is_uploaded_in_parts(self, api, organization_with_long_log, workers, monkeypatch):
        exports.set_min_part_bytes(monkeypatch, min_bytes=60_000)
        part_sizes: list[int] = []
        upload_part = files.upload_part

        def record_size(*args: Any) -> None:
            part_sizes.append(len(args[-1]))
            upload_part(*args)

        monkeypatch.setattr(files, "upload_part", record_size)
        record = create_completed_export(api, workers, organization_with_long_log)
        assert len(part_sizes) > 2
        assert all(size >= 60_000 for size in part_sizes[:-1])
        assert sum(part_sizes) == record["sizeBytes"]
        assert len(decompressed_members(record)) == len(part_sizes)
        assert len(read_ndjson_entries(record)) == 42
        assert "42 of 42 entries" in verify_export_file(record)

    def test_no_part_is_smaller_than_s3_allows(self):
        assert files.MIN_PART_BYTES == 5 * 1024 * 1024

    @pytest.mark.parametrize("export_format", ["ndjson", "csv"])
    def test_the_content_does_not_depend_on_slices_and_parts(
        self, api, organization_with_long_log, workers, monkeypatch, export_format
    ):
        body: dict[str, Any] = {
            "format": export_format,
            "filters": {"type": "organization.*", "to": "2999-01-01T00:00:00Z"},
        }
        complete_text = gzip.decompress(
            download_file(create_completed_export(api, workers, organization_with_long_log, **body))
        )
        limits = ((600, -1, 10**9), (-1, 60, 10**9), (-1, 60, 60_000), (600, -1, 1))
        for slice_seconds, checkpoint_seconds, min_part_bytes in limits:
            monkeypatch.setattr(jobs, "_SLICE_SECONDS", slice_seconds)
            monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", checkpoint_seconds)
            exports.set_min_part_bytes(monkeypatch, min_part_bytes)
            record = create_completed_export(api, workers, organization_with_long_log, **body)
            assert gzip.decompress(download_file(record)).startswith(complete_text)
            assert record["entryCount"] == sum(text.count(b"\n") for text in decompressed_members(record)) - (
                export_format == "csv"
            )

    def test_evidence_continues_across_slices(self, api, organization_with_long_log, workers, monkeypatch):
        for sequence in (3, 4, 11, 30):
            item = next(
                i
                for i in memory_aws.all_items()
                if i["pk"] == f"A#{organization_with_long_log.id}" and i.get("sequence") == sequence
            )
            memory_aws.put_item({**item, "type": "page.created"})
        in_one_slice = create_completed_export(api, workers, organization_with_long_log, filters={"type": "page.*"})
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
        in_many_slices = create_completed_export(api, workers, organization_with_long_log, filters={"type": "page.*"})
        assert [(run["from"], run["to"]) for run in in_one_slice["evidence"]] == [(1, 2), (5, 10), (12, 29), (31, 42)]
        assert in_many_slices["evidence"][:3] == in_one_slice["evidence"][:3]
        assert in_many_slices["evidence"][3]["from"] == 31
        assert "4 of" in verify_export_file(in_many_slices)


class TestSlices:
    @pytest.fixture
    def short_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)

    @pytest.mark.usefixtures("short_slices")
    def test_each_slice_reports_its_progress(self, api, organization_with_long_log, workers, monkeypatch):
        progress_reports: list[tuple[str, int]] = []
        release = jobs.release

        def observe_release(*args: Any, **progress: Any) -> Any:
            released = release(*args, **progress)
            record = started.get(api)
            progress_reports.append((record["status"], record["entryCount"]))
            assert record["downloadUrl"] is None
            assert record["checkpoint"]
            return released

        monkeypatch.setattr(jobs, "release", observe_release)
        started = create_export(api, organization_with_long_log)
        workers.deliver()
        assert [status for status, _ in progress_reports] == ["running"] * len(progress_reports)
        counts = [count for _, count in progress_reports]
        assert counts == sorted(set(counts))
        assert len(counts) > 5
        assert started.get(api)["entryCount"] == 42

    @pytest.mark.usefixtures("short_slices")
    def test_the_sweep_replaces_a_lost_message(self, api, organization_with_long_log, workers, clock):
        started = create_export(api, organization_with_long_log)
        for _ in range(12):
            memory_aws.discard_queued_messages()
            clock.shift(minutes=1.1)
            workers.run_sweep()
            workers.try_deliver()
        assert started.get(api)["status"] == "completed"

    def test_a_repeated_message_changes_nothing(self, api, organization_with_long_log, workers):
        started = create_export(api, organization_with_long_log)
        workers.deliver()
        before = memory_aws.all_items()
        queues.enqueue("audit_exports.run", started.item_key)
        workers.deliver()
        assert workers.last_calls.call_names == ["dynamodb:GetItem"]
        assert memory_aws.all_items() == before

    def test_a_leased_export_is_left_to_its_worker(self, api, organization_with_long_log, workers, monkeypatch):
        started, iter_sequenced, calls_of_second_worker = (
            create_export(api, organization_with_long_log),
            logs.iter_sequenced_entry_chunks,
            list[list[str]](),
        )

        def interrupted(*args: Any, reread_from_table: bool) -> Iterator[Any]:
            queues.enqueue("audit_exports.run", started.item_key)
            workers.try_deliver()
            calls_of_second_worker.append(workers.last_calls.call_names)
            return iter_sequenced(*args, reread_from_table=reread_from_table)

        monkeypatch.setattr(async_export, "logs", entry_queries_with(interrupted))
        workers.deliver()
        assert calls_of_second_worker == [["dynamodb:GetItem"]]
        assert started.get(api)["status"] == "completed"


def entry_queries_with(iter_sequenced_entry_chunks: Callable[..., Iterator[Any]]) -> SimpleNamespace:
    """Return the module of entry queries with another `iter_sequenced_entry_chunks`, for exports only."""
    return SimpleNamespace(**{**vars(logs), "iter_sequenced_entry_chunks": iter_sequenced_entry_chunks})


class FolderFileStore:
    """A file store that holds its parts in a folder, not in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def upload_part(self, _bucket: str, _name: str, _upload: str, number: int, data: bytes) -> None:
        (self._folder / f"{number:05d}").write_bytes(data)

    def complete_upload(self, *_: object) -> None:
        assert len(list(self._folder.iterdir())) > 5

    def iter_file_chunks(self, *_: object) -> Iterator[bytes]:
        return (part.read_bytes() for part in sorted(self._folder.iterdir()))


class TestMemory:
    ENTRIES, CHARS_PER_ENTRY = 4_000, 24_000

    def test_a_worker_holds_only_a_part_of_the_file_in_memory(self, api, ada, workers, monkeypatch, tmp_path):
        organization, file_store = create_organization(api, ada), FolderFileStore(tmp_path)
        workers.deliver()
        append_entries(organization.id, 100, self.CHARS_PER_ENTRY)
        (batch,) = logs.iter_sequenced_entry_chunks(organization.id, 1, 101)

        def repeat_batch(log_id: str, _after: int, _until: int, **_: bool) -> Iterator[list[StoredEntry]]:
            for sequence in range(1, self.ENTRIES, len(batch)):
                attributes = (
                    ledger.entry_position_attributes(log_id, sequence + n, self.ENTRIES) for n in range(len(batch))
                )
                yield [StoredEntry({**e.item, **changed}, e.body) for e, changed in zip(batch, attributes, strict=True)]

        started = create_export(api, organization)
        monkeypatch.setattr(async_export, "logs", entry_queries_with(repeat_batch))
        for name in ("upload_part", "complete_upload", "iter_file_chunks"):
            monkeypatch.setattr(files, name, getattr(file_store, name))
        tracemalloc.start()
        try:
            workers.deliver()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        record = started.get(api)
        assert record["entryCount"] == self.ENTRIES
        assert record["sizeBytes"] > 10 * files.MIN_PART_BYTES
        assert peak < 5 * files.MIN_PART_BYTES
