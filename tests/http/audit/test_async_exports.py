import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.audit.exports.entities import MAX_RUNNING_EXPORTS
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.exports import (
    append_entries,
    create_completed_export,
    create_export,
    download_file,
    post_export,
    read_ndjson_entries,
    unfinished_uploads,
)
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization

UNREADABLE = "The entry with sequence {} can't be read. GET …/audit-log/verify-integrity says more."
ENTRY_ATTRIBUTES = ("body", "leaf", "id", "type", "actor", "created_at")
NO_FILTERS = {"type": None, "actorId": None, "targetId": None, "from": None, "to": None}


def list_downloads(log, export):
    return log.entries(type="organization.audit_export.downloaded", targetId=export.id)[::-1]


class TestStartExport:
    def test_filters_in_the_query_are_rejected_and_nothing_is_exported(self, api, new_log):
        owner, path = new_log.organization.owner, f"{new_log.path}/export-async"
        query = {"type": "organization.member.*", "actorId": owner.id, "to": "2026-11-20T00:00:00Z", "sheet": "7"}
        rejected = api.post(path, caller=owner, json={}, query=query)
        assert rejected.errors == dict.fromkeys(("query/type", "query/actorId", "query/to"), "misplaced")
        assert "/filters/type" in rejected.text
        assert new_log.entries(type="organization.audit_export.*") == []

    def test_the_export_has_the_requested_format_and_filters(self, api, organization, grace):
        filters = {"type": "organization.member.*", "actorId": grace.id.upper(), "from": "2026-11-20T10:30:00+01:00"}
        record = post_export(api, organization, format="csv", filters=filters).json
        assert record["format"] == "csv"
        changed_filters = {"actorId": grace.id, "from": "2026-11-20T09:30:00.000Z"}
        assert record["filters"] == {**NO_FILTERS, **filters, **changed_filters}

    @pytest.mark.parametrize(
        "body",
        [None, {}, {"filters": None}, {"filters": {}}, {"format": None}, {"format": "ndjson", "filters": NO_FILTERS}],
    )
    def test_absent_null_and_empty_filters_export_everything_as_ndjson(self, api, organization, body):
        response = api.post(f"{organization.path}/audit-log/export-async", caller=organization.owner, json=body)
        record = response.json
        assert (response.status, record["format"], record["filters"]) == (202, "ndjson", NO_FILTERS)

    @pytest.mark.parametrize("body", [{"format": "xml"}, {"compress": True}, {"filters": []}])
    def test_an_invalid_field_is_rejected(self, api, organization, body):
        assert [*post_export(api, organization, **body).errors] == [f"/{name}" for name in body]

    def test_a_filter_outside_of_filters_is_rejected_with_its_place(self, api, organization):
        (error,) = post_export(api, organization, type="organization.member.*").json["errors"]
        assert error["pointer"] == "/type"
        assert error["detail"] == "There is no such field. Put it into `filters`."

    @pytest.mark.parametrize(
        "filters",
        [
            *({"limit": 3}, {"since": "2026-11-20T09:30:00Z"}, {"actorId": "x" * 129}),
            *({"type": "*.member"}, {"type": 3}, {"from": "yesterday"}, {"to": 1763631000}),
            {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"},
        ],
    )
    def test_an_invalid_filter_is_rejected(self, api, organization, filters):
        assert [*post_export(api, organization, filters=filters).errors] == [f"/filters/{next(iter(filters))}"]


class TestRunningExportQuota:
    def test_an_organization_has_at_most_ten_running_exports(self, api, organization, ada, workers):
        assert MAX_RUNNING_EXPORTS == 10
        for _ in range(10):
            create_export(api, organization)
        rejected = post_export(api, organization).expect_problem("409 limit_exceeded")
        detail = "The maximum number of running audit exports is reached: 10. Wait until one has ended."
        assert rejected.json["detail"] == detail
        assert post_export(api, create_organization(api, ada)).status == 202
        workers.deliver()
        assert post_export(api, organization).status == 202

    def test_concurrent_requests_respect_the_quota(self, api, organization):
        for _ in range(8):
            create_export(api, organization)
        with ThreadPoolExecutor(5) as threads:
            responses = list(threads.map(lambda _: post_export(api, organization), range(5)))
        assert sorted(response.status for response in responses) == [202, 202, 409, 409, 409]


class TestGetAuditExport:
    def test_a_completed_export_describes_its_file(self, log, api, workers, clock):
        timestamp = clock.freeze()
        record = log.export()
        assert (record["status"], record["version"], record["error"]) == ("completed", 3, None)
        assert record["entryCount"] == 11  # The last entry is the request for the export.
        assert record["expiresAt"] == after(timestamp, days=7)
        url = urlsplit(record["downloadUrl"])
        query = parse_qs(url.query)
        assert url.path.endswith(f"/{log.id}/{record['id']}/audit-log.ndjson.gz")
        assert query["X-Amz-Expires"] == ["900"]
        name = f"{log.organization.record['slug']}-audit-log-{timestamp[:10]}.ndjson.gz"
        assert query["response-content-disposition"] == [f'attachment; filename="{name}"']
        assert len(download_file(record)) == record["sizeBytes"]
        (completion,) = log.entries(type="organization.audit_export.completed", targetId=record["id"])
        assert completion["actor"] == {"type": "system", "id": None, "name": None}
        assert completion["data"] == {**record, "downloadUrl": None}

    def test_the_download_url_is_neither_cached_nor_logged(self, log, api, workers):
        export = log.create_export()
        queued = log.get(f"/export-async/{export.id}")
        headers, owner = {"If-None-Match": queued.etag, "If-Match": '"ignored by reads"'}, log.organization.owner
        assert api.get(export.path, caller=owner, headers=headers).status == 304
        workers.deliver()
        completed = api.get(export.path, caller=owner, headers=headers)
        assert (completed.json["status"], completed.headers["Cache-Control"]) == ("completed", "no-store")
        assert "X-Amz" not in json.dumps(log.entries())


class TestDownloadEntries:
    def test_a_download_is_logged_once_in_15_minutes(self, log, api, workers, clock):
        export = log.create_export()
        for _ in range(2):
            export.get(api)
        workers.deliver()
        counts: list[int] = []
        for minutes in (0, 1, 13, 1.1, 1, 14.1):
            clock.shift(minutes=minutes)
            assert export.get(api)["downloadUrl"]
            counts.append(len(list_downloads(log, export)))
        assert counts == [1, 1, 1, 2, 2, 3]

    def test_each_downloading_caller_is_logged(self, new_log, api, workers, grace):
        organization = new_log.organization
        export = create_export(api, organization)
        workers.deliver()
        key = create_api_key(api, organization, "audit-log:read", name="Collector")
        before = export.get(api)
        for _ in range(2):
            for caller in (organization.owner, grace, key):
                record = api.get(export.path, caller=caller).json
                assert (bool(record["downloadUrl"]), record["version"]) == (True, before["version"])
        downloads = list_downloads(new_log, export)
        assert [entry["actor"]["id"] for entry in downloads] == [organization.owner.id, grace.id, key.id]
        assert all(entry["changes"] == [] for entry in downloads)
        assert downloads[0]["data"] == {**before, "downloadUrl": None}

    def test_concurrent_downloads_are_logged_once(self, log, api, workers):
        export = log.create_export()
        workers.deliver()
        with ThreadPoolExecutor(4) as threads:
            responses = list(threads.map(lambda _: log.get(f"/export-async/{export.id}"), range(4)))
        assert [response.status for response in responses] == [200] * 4
        assert len(list_downloads(log, export)) == 1


class TestExportExpiry:
    def test_an_export_expires_after_a_week_even_before_the_removal_of_its_file(self, log, api, workers, clock):
        export = log.create_export()
        workers.deliver()
        file_of_first = export.get(api)
        clock.shift(days=3)
        second = log.export(format="csv")
        clock.shift(days=3, hours=23)
        assert export.get(api)["status"] == "completed"
        download_count = len(list_downloads(log, export))
        clock.shift(hours=1, seconds=1)
        for _ in range(2):
            assert log.get(f"/export-async/{export.id}").status_and_code == "410 export_expired"
            workers.run_until_idle()
        assert len(list_downloads(log, export)) == download_count
        with pytest.raises(files.FileNotFound):
            download_file(file_of_first)
        assert download_file(second)
        clock.shift(days=3)
        workers.run_until_idle()
        assert files.find_original_of_first_key(settings().exports_bucket, log.id) is None

    def test_the_purge_of_the_organization_removes_its_files(self, log, api, ada, workers, clock, run_tasks_after):
        other_organization, bucket = create_organization(api, ada), settings().exports_bucket
        with clock.shift_temporarily(days=29):
            foreign_export = create_completed_export(api, workers, other_organization)
        api.delete(log.organization.path, caller=ada)
        clock.shift(days=29)
        files.start_upload(bucket, f"{log.id}/left/by-a-worker-that-died", "application/gzip")
        files.write_file(bucket, f"{log.id}/left/too", b"")
        run_tasks_after(days=1, minutes=3)
        assert files.find_original_of_first_key(bucket, log.id) is None
        assert unfinished_uploads() == []
        assert download_file(foreign_export)


def await_end(api, workers, clock, export):
    """Return the export once it has ended, with the clock shifted until then."""
    workers.try_deliver()
    for _ in range(8):
        if (record := export.get(api))["status"] in ("completed", "failed"):
            return record
        clock.shift(minutes=4)
        workers.run_sweep()
        workers.try_deliver()
    raise AssertionError(record)


def duplicate_sequence(log):
    item = log.entry(3)
    memory_aws.put_item({**item, "sk": item["sk"][:-1] + ("0" if item["sk"][-1] != "0" else "1")})


def remove_separate_body(log):
    append_entries(log.id, 1, 9_000)
    memory_aws.delete_item({"pk": f"B#{log.id}", "sk": log.entry(13)["sk"]})


class TestUnreadableEntries:
    @pytest.mark.parametrize(
        ("tamper", "sequence", "status"),
        [
            *((lambda log, name=name: log.remove_attributes(10, name), 10, "failed") for name in ENTRY_ATTRIBUTES),
            *((lambda log, body=body: log.alter(1, body=body), 1, "failed") for body in (b"no json", b"", "text")),
            *((lambda log, leaf=leaf: log.alter(1, leaf=leaf), 1, "failed") for leaf in (b"short", bytes(33))),
            (duplicate_sequence, 4, "failed"),
            (remove_separate_body, 13, "failed"),
            # The index may not have them yet.
            (lambda log: log.remove(5), 5, "running"),
            (lambda log: log.remove(11, 12), 11, "running"),
        ],
    )
    def test_the_error_names_the_first_unreadable_entry(self, log, api, workers, clock, tamper, sequence, status):
        exports = [log.create_export(format=name) for name in ("ndjson", "csv")]
        ledger.append_pending_and_return_longest_wait_ms(log.id)
        tamper(log)
        workers.try_deliver()
        assert exports[0].get(api)["status"] == status
        for export in exports:
            record = await_end(api, workers, clock, export)
            empty = dict.fromkeys(("entryCount", "sha256", "evidence", "downloadUrl", "expiresAt"))
            assert record | empty | {"status": "failed", "error": UNREADABLE.format(sequence)} == record

    def test_an_omitted_entry_needs_only_its_hash(self, log, api, workers):
        log.remove_attributes(4, "body")
        filters = {"type": "organization.created"}
        assert read_ndjson_entries(log.export(filters=filters))

    def test_the_error_names_an_altered_head(self, log, api, workers):
        export = log.create_export()
        ledger.append_pending_and_return_longest_wait_ms(log.id)
        log.alter_head(peaks=b"short")
        workers.try_deliver()
        assert export.get(api)["error"].startswith("The head of the log was altered.")


@pytest.mark.parametrize("catches_up", [True, False])
def test_an_export_waits_for_a_lagging_index_and_fails_if_it_never_catches_up(log, api, workers, clock, *, catches_up):
    entry = log.entry(6)
    log.remove_attributes(6, "index1pk", "index1sk")
    export = log.create_export()
    for _ in range(2 if catches_up else 3):
        workers.try_deliver()
        assert export.get(api)["status"] == "running"
        clock.shift(seconds=31)
        workers.run_sweep()
    if catches_up:
        memory_aws.put_item(entry)
    workers.deliver()
    record = export.get(api)
    if catches_up:
        assert (record["status"], record["entryCount"]) == ("completed", 11)
    else:
        assert record["error"] == UNREADABLE.format(6)


class TestFileStoreFailures:
    @pytest.mark.parametrize("name", ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "GetObject"])
    def test_the_export_fails_after_repeated_errors(self, log, api, workers, clock, name):
        export, attempts = log.create_export(), 0
        while (record := export.get(api))["status"] in ("queued", "running"):
            with inject_fault(Fault.INTERNAL_ERROR, call_name=f"s3:{name}", times=None):
                workers.run_sweep()
                workers.try_deliver()
            clock.shift(minutes=4)
            attempts += 1
            assert attempts < 10
        assert attempts >= 6
        assert record["status"] == "failed"
        assert record["error"].endswith("failed again and again. Start it again.")

    def test_the_export_fails_if_its_parts_are_lost(self, log, api, workers, clock):
        export = log.create_export()
        with inject_fault(Fault.INTERNAL_ERROR, call_name="s3:UploadPart", times=None):
            workers.try_deliver()
        files.delete_files_and_uploads_with_prefix(settings().exports_bucket, log.id)
        assert await_end(api, workers, clock, export)["status"] == "failed"


class TestFailedExport:
    @pytest.fixture
    def failed_export(self, log, api, workers):
        """An export that failed at an unreadable entry, which is restored then."""
        entry = log.entry(10)
        log.remove_attributes(10, "body")
        export = log.create_export()
        workers.deliver()
        memory_aws.put_item(entry)
        return export

    def test_the_failure_is_in_the_log_and_stays_readable_without_a_download(
        self, log, api, failed_export, run_tasks_after
    ):
        record = failed_export.get(api)
        (entry,) = log.entries(type="organization.audit_export.failed")
        assert (entry["actor"]["type"], entry["data"]) == ("system", record)
        before = {"status": "queued", "checkpoint": None, "error": None}
        assert record["error"] == UNREADABLE.format(10)
        assert entry["changes"] == [{"field": name, "from": before[name], "to": record[name]} for name in before]
        run_tasks_after(days=8)
        assert failed_export.get(api) == record
        assert log.entries(type="organization.audit_export.downloaded") == []

    def test_its_files_are_removed_once_no_worker_can_hold_it(self, api, failed_export, workers, run_tasks_after):
        workers.run_until_idle()
        assert unfinished_uploads()
        run_tasks_after(minutes=4)
        assert unfinished_uploads() == []
        assert files.find_original_of_first_key(settings().exports_bucket, "") is None
        assert failed_export.get(api)["status"] == "failed"

    @pytest.mark.usefixtures("failed_export")
    def test_it_frees_the_quota_and_can_be_started_again(self, log, api, workers):
        assert log.export()
        for _ in range(10):
            log.create_export()
        assert post_export(api, log.organization).status_and_code == "409 limit_exceeded"


def test_the_exports_of_an_organization_are_listed_newest_first_without_urls_and_evidence(
    api, workers, organization, ada, grace, mary, clock
):
    started = []
    for caller in (ada, grace, ada):
        clock.shift(seconds=1)
        started.append(post_export(api, organization, caller=caller, filters={"type": "organization.created"}))
    post_export(api, create_organization(api, ada)).expect(202)
    workers.run_until_idle()
    exports = [api.get(each.location, caller=ada).expect(200).json for each in reversed(started)]
    assert all(each["evidence"] and each["downloadUrl"] for each in exports)
    path = f"{organization.path}/audit-log/export-async"
    pages = api.get_pages(path, caller=grace, query={"limit": 2})
    assert [len(page["items"]) for page in pages] == [2, 1]
    listed = [item for page in pages for item in page["items"]]
    assert listed == [{**each, "evidence": None, "downloadUrl": None} for each in exports]
    assert api.get(path, caller=mary).status_and_code == "403 insufficient_role"
    entries = list_entries(api, organization, type="organization.audit_export.downloaded")
    assert len(entries) == len(exports)  # The list logs no downloads.
