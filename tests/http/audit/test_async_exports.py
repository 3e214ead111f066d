import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.audit.exports.entities import MAX_RUNNING_EXPORTS
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import exports
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.exports import create_completed_export, create_export, download_file, post_export
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization

NO_FILTERS = {"type": None, "actorId": None, "targetId": None, "from": None, "to": None}


def export_entries(api: ApiClient, organization: CreatedOrganization, export_id: str) -> list[Json]:
    """Return the entries about an export, the oldest first."""
    return list_entries(api, organization, targetId=export_id)[::-1]


def export_history(api: ApiClient, organization: CreatedOrganization, export_id: str) -> list[str]:
    return [
        entry["type"].removeprefix("organization.audit_export.")
        for entry in export_entries(api, organization, export_id)
    ]


class TestStartExport:
    def test_filters_in_the_query_are_rejected_and_nothing_is_exported(self, api, organization):
        query = {"type": "organization.member.*", "actorId": organization.owner.id, "to": "2026-11-20T00:00:00Z"}
        path = f"{organization.path}/audit-log/export-async"
        rejected = api.post(path, caller=organization.owner, json={}, query={**query, "sheet": "7"})
        assert rejected.status_and_code == "422 validation_failed"
        assert rejected.errors == dict.fromkeys(("query/type", "query/actorId", "query/to"), "misplaced")
        assert "/filters/type" in rejected.text
        assert not export_history(api, organization, "")

    def test_a_request_without_a_body_exports_the_whole_log_as_ndjson(self, api, organization):
        response = api.post(f"{organization.path}/audit-log/export-async", caller=organization.owner)
        assert response.status == 202
        record = response.json
        assert record == {
            "id": record["id"],
            "createdAt": record["createdAt"],
            "updatedAt": record["createdAt"],
            "version": 1,
            "status": "queued",
            "format": "ndjson",
            "filters": NO_FILTERS,
            "entryCount": None,
            "sizeBytes": None,
            "sha256": None,
            "checkpoint": None,
            "evidence": None,
            "downloadUrl": None,
            "error": None,
            "expiresAt": None,
        }
        assert response.location == f"{organization.path}/audit-log/export-async/{record['id']}"
        assert response.headers["Cache-Control"] == "no-store"
        assert api.get(response.location, caller=organization.owner).json == record

    def test_the_export_has_the_requested_format_and_filters(self, api, organization, grace):
        filters = {"type": "organization.member.*", "actorId": grace.id.upper(), "from": "2026-11-20T10:30:00+01:00"}
        record = post_export(api, organization, format="csv", filters=filters).json
        assert record["format"] == "csv"
        assert record["filters"] == {
            **NO_FILTERS,
            "type": "organization.member.*",
            "actorId": grace.id,
            "from": "2026-11-20T09:30:00.000Z",
        }

    @pytest.mark.parametrize(
        "body", [{}, {"filters": None}, {"filters": {}}, {"format": None}, {"format": "ndjson", "filters": NO_FILTERS}]
    )
    def test_absent_null_and_empty_filters_export_everything(self, api, organization, body):
        response = api.post(f"{organization.path}/audit-log/export-async", caller=organization.owner, json=body)
        assert (response.status, response.json["filters"]) == (202, NO_FILTERS)

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"format": "xml"}, "/format"),
            ({"compress": True}, "/compress"),
            ({"filters": []}, "/filters"),
            ({"filters": {"limit": 3}}, "/filters/limit"),
            ({"filters": {"type": "*.member"}}, "/filters/type"),
            ({"filters": {"type": 3}}, "/filters/type"),
            ({"filters": {"from": "yesterday"}}, "/filters/from"),
            ({"filters": {"to": 1763631000}}, "/filters/to"),
            ({"filters": {"since": "2026-11-20T09:30:00Z"}}, "/filters/since"),
            ({"filters": {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"}}, "/filters/from"),
            ({"filters": {"actorId": "x" * 129}}, "/filters/actorId"),
        ],
    )
    def test_an_invalid_body_is_rejected(self, api, organization, body, pointer):
        rejected = post_export(api, organization, **body)
        assert rejected.status_and_code == "422 validation_failed"
        assert set(rejected.errors) == {pointer}

    def test_only_admins_and_keys_with_the_scope_may_export(self, api, organization, grace, edith, mary, stranger):
        assert post_export(api, organization, caller=grace).status == 202
        for person in (edith, mary):
            assert post_export(api, organization, caller=person).status_and_code == "403 insufficient_role"
        assert post_export(api, organization, caller=stranger).status_and_code == "404 not_found"
        for scope in ("audit-log:read", "audit-log:write", "admin"):
            assert post_export(api, organization, caller=create_api_key(api, organization, scope)).status == 202
        for scope in ("read", "write", "members:write"):
            key = create_api_key(api, organization, scope)
            assert post_export(api, organization, caller=key).status_and_code == "403 insufficient_scope"

    def test_the_request_is_in_the_log(self, api, organization, grace):
        record = post_export(api, organization, caller=grace, format="csv").json
        (entry,) = export_entries(api, organization, record["id"])
        assert entry["type"] == "organization.audit_export.requested"
        assert entry["actor"]["id"] == grace.id
        assert entry["data"] == record

    def test_a_repeated_idempotency_key_starts_one_export(self, api, organization):
        path, headers = f"{organization.path}/audit-log/export-async", {"Idempotency-Key": "nightly-2026-11-20"}
        first, repeated = (api.post(path, caller=organization.owner, headers=headers) for _ in range(2))
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert repeated.json == first.json
        assert [e["type"] for e in list_entries(api, organization)].count("organization.audit_export.requested") == 1


class TestRunningExportQuota:
    def test_an_organization_has_at_most_ten_running_exports(self, api, organization, ada, workers):
        assert MAX_RUNNING_EXPORTS == 10
        for _ in range(10):
            create_export(api, organization)
        rejected = post_export(api, organization)
        assert rejected.status_and_code == "409 limit_exceeded"
        assert rejected.json["detail"] == "At most 10 running audit exports are allowed. Wait until one has ended."
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
    def test_a_completed_export_describes_its_file(self, api, organization_with_ten_entries, workers, clock):
        timestamp = clock.freeze()
        record = create_completed_export(api, workers, organization_with_ten_entries)
        assert (record["status"], record["version"], record["error"]) == ("completed", 3, None)
        assert record["entryCount"] == 11  # The last entry is the request for the export.
        assert record["expiresAt"] == after(timestamp, days=7)
        url = urlsplit(record["downloadUrl"])
        query = parse_qs(url.query)
        assert url.path.endswith(f"/{organization_with_ten_entries.id}/{record['id']}/audit-log.ndjson.gz")
        assert query["X-Amz-Expires"] == ["900"]
        name = f"{organization_with_ten_entries.record['slug']}-audit-log-{timestamp[:10]}.ndjson.gz"
        assert query["response-content-disposition"] == [f'attachment; filename="{name}"']
        assert len(download_file(record)) == record["sizeBytes"]

    def test_the_download_url_is_neither_cached_nor_logged(self, api, organization_with_ten_entries, workers):
        started = create_export(api, organization_with_ten_entries)
        workers.deliver()
        response = api.get(started.path, caller=organization_with_ten_entries.owner)
        assert response.headers["Cache-Control"] == "no-store"
        assert "X-Amz" not in json.dumps(list_entries(api, organization_with_ten_entries))

    def test_an_unchanged_export_is_not_modified(self, api, organization_with_ten_entries, workers):
        started = create_export(api, organization_with_ten_entries)
        if_none_match = {"If-None-Match": api.get(started.path, caller=organization_with_ten_entries.owner).etag}
        assert api.get(started.path, caller=organization_with_ten_entries.owner, headers=if_none_match).status == 304
        workers.deliver()
        assert (
            api.get(started.path, caller=organization_with_ten_entries.owner, headers=if_none_match).json["status"]
            == "completed"
        )

    def test_if_match_is_ignored_by_reads(self, api, organization_with_ten_entries, workers):
        started = create_export(api, organization_with_ten_entries)
        workers.deliver()
        assert (
            api.get(started.path, caller=organization_with_ten_entries.owner, headers={"If-Match": '"stale"'}).status
            == 200
        )

    def test_the_completion_is_in_the_log_as_an_action_of_the_system(self, api, organization_with_ten_entries, workers):
        record = create_completed_export(api, workers, organization_with_ten_entries)
        requested, completion, _ = export_entries(api, organization_with_ten_entries, record["id"])
        assert completion["type"] == "organization.audit_export.completed"
        assert completion["actor"] == {"type": "system", "id": None, "name": None}
        assert completion["context"]["operationId"] == "audit_exports.run"
        assert completion["data"] == {**record, "downloadUrl": None}
        assert requested["data"]["status"] == "queued"
        changes = {change["field"]: (change["from"], change["to"]) for change in completion["changes"]}
        assert changes == {
            "status": ("queued", "completed"),
            "entryCount": (None, 11),
            "sizeBytes": (None, record["sizeBytes"]),
            "sha256": (None, record["sha256"]),
            "checkpoint": (None, record["checkpoint"]),
            "evidence": (None, []),
            "expiresAt": (None, record["expiresAt"]),
        }

    def test_only_callers_with_the_scope_in_the_organization_see_the_export(
        self, api, organization_with_ten_entries, workers, ada, stranger
    ):
        record = create_completed_export(api, workers, organization_with_ten_entries)
        path = f"audit-log/export-async/{record['id']}"
        other_organization, foreign_organization = create_organization(api, ada), create_organization(api, stranger)
        assert (
            api.get(f"{organization_with_ten_entries.path}/{path}", caller=stranger).status_and_code == "404 not_found"
        )
        assert api.get(f"{other_organization.path}/{path}", caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{foreign_organization.path}/{path}", caller=stranger).status_and_code == "404 not_found"
        reader, plain = (
            create_api_key(api, organization_with_ten_entries, "audit-log:read"),
            create_api_key(api, organization_with_ten_entries, "read"),
        )
        assert api.get(f"{organization_with_ten_entries.path}/{path}", caller=reader).json["downloadUrl"]
        assert (
            api.get(f"{organization_with_ten_entries.path}/{path}", caller=plain).status_and_code
            == "403 insufficient_scope"
        )


class TestDownloadEntries:
    def test_a_download_is_logged_once_in_15_minutes(self, api, organization_with_ten_entries, workers, clock):
        started = create_export(api, organization_with_ten_entries)
        for _ in range(2):
            started.get(api)
        workers.deliver()
        counts: list[int] = []
        for minutes in (0, 1, 13, 1.1, 1, 14.1):
            clock.shift(minutes=minutes)
            assert started.get(api)["downloadUrl"]
            counts.append(export_history(api, organization_with_ten_entries, started.id).count("downloaded"))
        assert counts == [1, 1, 1, 2, 2, 3]

    def test_each_downloading_caller_is_logged(self, api, organization, workers, grace):
        started = create_export(api, organization)
        workers.deliver()
        key = create_api_key(api, organization, "audit-log:read", name="Collector")
        before = started.get(api)
        for _ in range(2):
            for caller in (organization.owner, grace, key):
                assert api.get(started.path, caller=caller).json["version"] == before["version"]
        downloads = [e for e in export_entries(api, organization, started.id) if e["type"].endswith(".downloaded")]
        assert [entry["actor"]["id"] for entry in downloads] == [organization.owner.id, grace.id, key.id]
        assert all(entry["changes"] == [] for entry in downloads)
        assert downloads[0]["data"] == {**before, "downloadUrl": None}

    def test_concurrent_downloads_are_logged_once(self, api, organization_with_ten_entries, workers):
        started = create_export(api, organization_with_ten_entries)
        workers.deliver()
        with ThreadPoolExecutor(4) as threads:
            responses = list(
                threads.map(lambda _: api.get(started.path, caller=organization_with_ten_entries.owner), range(4))
            )
        assert [response.status for response in responses] == [200] * 4
        assert export_history(api, organization_with_ten_entries, started.id).count("downloaded") == 1


class TestExportExpiry:
    def test_an_export_expires_after_a_week_even_before_its_removal(
        self, api, organization_with_ten_entries, workers, clock
    ):
        started = create_export(api, organization_with_ten_entries)
        workers.deliver()
        clock.shift(days=6, hours=23)
        assert started.get(api)["status"] == "completed"
        clock.shift(hours=1, seconds=1)
        for _ in range(2):
            expired = api.get(started.path, caller=organization_with_ten_entries.owner)
            assert expired.status_and_code == "410 export_expired"
            workers.run_until_idle()
        assert export_history(api, organization_with_ten_entries, started.id).count("downloaded") == 1

    def test_the_file_of_an_expired_export_is_removed(self, api, organization_with_ten_entries, workers, clock):
        first = create_completed_export(api, workers, organization_with_ten_entries)
        clock.shift(days=3)
        second = create_completed_export(api, workers, organization_with_ten_entries, format="csv")
        clock.shift(days=4, seconds=1)
        workers.run_until_idle()
        with pytest.raises(files.FileNotFound):
            download_file(first)
        assert download_file(second)
        clock.shift(days=3)
        workers.run_until_idle()
        assert files.find_first_key(settings().exports_bucket, organization_with_ten_entries.id) is None

    def test_the_purge_of_the_organization_removes_its_files(
        self, api, organization_with_ten_entries, ada, workers, clock
    ):
        other_organization = create_organization(api, ada)
        clock.shift(days=29)
        foreign_export = create_completed_export(api, workers, other_organization)
        clock.shift(days=-29)
        api.delete(organization_with_ten_entries.path, caller=ada)
        clock.shift(days=29)
        files.start_upload(
            settings().exports_bucket,
            f"{organization_with_ten_entries.id}/left/by-a-worker-that-died",
            "application/gzip",
        )
        files.write_file(settings().exports_bucket, f"{organization_with_ten_entries.id}/left/too", b"")
        clock.shift(days=1, minutes=3)
        workers.run_until_idle()
        assert files.find_first_key(settings().exports_bucket, organization_with_ten_entries.id) is None
        assert exports.unfinished_uploads() == []
        assert download_file(foreign_export)
