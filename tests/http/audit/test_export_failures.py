import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import audit_logs, memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.clock import Clock
from tests.harness.exports import (
    CreatedExport,
    append_entries,
    create_completed_export,
    create_export,
    post_export,
    read_ndjson_entries,
    unfinished_uploads,
)
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.workers import Workers

UNREADABLE = "The entry with sequence {} can't be read. GET …/audit-log/verify-integrity says more."

pytestmark = pytest.mark.usefixtures("no_index_retries")


def remove_attributes(item: Json, *names: str) -> None:
    """Remove attributes of a stored item."""
    memory_aws.put_item({name: value for name, value in item.items() if name not in names})


def await_end(api: ApiClient, workers: Workers, clock: Clock, export: CreatedExport) -> Json:
    """Return the export once it has ended, with the clock shifted until then."""
    workers.try_deliver()
    for _ in range(8):
        if (record := export.get(api))["status"] in ("completed", "failed"):
            return record
        clock.shift(minutes=4)
        workers.run_sweep()
        workers.try_deliver()
    raise AssertionError(record)


class TestUnreadableEntries:
    def test_the_error_names_a_missing_entry(self, api, organization_with_ten_entries, workers, clock):
        memory_aws.delete_item(audit_logs.entry_item(organization_with_ten_entries, 5))
        record = await_end(api, workers, clock, create_export(api, organization_with_ten_entries))
        assert (record["status"], record["error"]) == ("failed", UNREADABLE.format(5))
        assert (record["entryCount"], record["sha256"], record["evidence"]) == (None, None, None)
        assert (record["downloadUrl"], record["expiresAt"]) == (None, None)

    @pytest.mark.parametrize("names", [("body",), ("leaf",), ("id",), ("type",), ("actor",), ("created_at",)])
    def test_the_error_names_an_entry_without_an_attribute(self, api, organization_with_ten_entries, workers, names):
        remove_attributes(audit_logs.entry_item(organization_with_ten_entries, 10), *names)
        export = create_export(api, organization_with_ten_entries)
        workers.deliver()
        assert export.get(api)["error"] == UNREADABLE.format(10)

    @pytest.mark.parametrize("altered", [{"body": b"no json"}, {"body": b""}, {"body": "text"}, {"leaf": b"short"}])
    def test_the_error_names_an_unreadable_entry(self, api, organization_with_ten_entries, workers, altered):
        for export_format in ("ndjson", "csv"):
            export = create_export(api, organization_with_ten_entries, format=export_format)
            audit_logs.alter_item(audit_logs.entry_item(organization_with_ten_entries, 1), **altered)
            workers.deliver()
            assert export.get(api)["error"] == UNREADABLE.format(1)

    def test_the_error_names_an_entry_without_its_long_body(self, api, ada, workers):
        organization = create_organization(api, ada)
        workers.deliver()
        append_entries(organization.id, 2, 9_000)
        memory_aws.delete_item({"pk": f"B#{organization.id}", "sk": audit_logs.entry_item(organization, 3)["sk"]})
        export = create_export(api, organization)
        workers.deliver()
        assert export.get(api)["error"] == UNREADABLE.format(3)

    def test_an_omitted_entry_needs_only_its_hash(self, api, organization_with_ten_entries, workers):
        remove_attributes(audit_logs.entry_item(organization_with_ten_entries, 4), "body")
        assert read_ndjson_entries(
            create_completed_export(
                api, workers, organization_with_ten_entries, filters={"type": "organization.created"}
            )
        )

    def test_a_duplicated_sequence_is_an_error(self, api, organization_with_ten_entries, workers):
        second = audit_logs.entry_item(organization_with_ten_entries, 3)
        memory_aws.put_item({**second, "sk": second["sk"][:-1] + ("0" if second["sk"][-1] != "0" else "1")})
        export = create_export(api, organization_with_ten_entries)
        workers.deliver()
        assert export.get(api)["error"] == UNREADABLE.format(4)

    def test_the_error_names_the_first_missing_entry_of_a_truncated_log(
        self, api, organization_with_ten_entries, workers, clock
    ):
        export = create_export(api, organization_with_ten_entries)
        ledger.append_pending_and_return_longest_wait_ms(organization_with_ten_entries.id)
        memory_aws.delete_item(audit_logs.entry_item(organization_with_ten_entries, 11))
        assert await_end(api, workers, clock, export)["error"] == UNREADABLE.format(11)

    def test_the_error_names_an_altered_head(self, api, organization_with_ten_entries, workers):
        export = create_export(api, organization_with_ten_entries)
        ledger.append_pending_and_return_longest_wait_ms(organization_with_ten_entries.id)
        audit_logs.alter_item(audit_logs.head_item(organization_with_ten_entries), peaks=b"short")
        workers.try_deliver()
        assert export.get(api)["error"].startswith("The head of the log was altered.")


class TestIndexLag:
    def test_the_export_waits_for_a_lagging_index(self, api, organization_with_ten_entries, workers, clock):
        entry = audit_logs.entry_item(organization_with_ten_entries, 6)
        remove_attributes(entry, "index1pk", "index1sk")
        export = create_export(api, organization_with_ten_entries)
        for _ in range(2):
            workers.try_deliver()
            assert export.get(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.run_sweep()
        memory_aws.put_item(entry)
        workers.deliver()
        record = export.get(api)
        assert (record["status"], record["entryCount"]) == ("completed", 11)

    def test_the_export_fails_if_the_index_never_catches_up(self, api, organization_with_ten_entries, workers, clock):
        remove_attributes(audit_logs.entry_item(organization_with_ten_entries, 6), "index1pk", "index1sk")
        export = create_export(api, organization_with_ten_entries)
        workers.try_deliver()
        for _ in range(3):
            assert export.get(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.run_sweep()
            workers.try_deliver()
        assert export.get(api)["error"] == UNREADABLE.format(6)


class TestFileStoreFailures:
    @pytest.mark.parametrize(
        "name", ["s3:CreateMultipartUpload", "s3:UploadPart", "s3:CompleteMultipartUpload", "s3:GetObject"]
    )
    def test_the_export_fails_after_repeated_errors(self, api, organization_with_ten_entries, workers, clock, name):
        export = create_export(api, organization_with_ten_entries)
        attempts = 0
        while (record := export.get(api))["status"] in ("queued", "running"):
            with inject_fault(Fault.INTERNAL_ERROR, call_name=name, times=None):
                workers.run_sweep()
                workers.try_deliver()
            clock.shift(minutes=4)
            attempts += 1
            assert attempts < 10
        assert attempts >= 6
        assert record["status"] == "failed"
        assert record["error"].endswith("failed again and again. Start it again.")

    def test_temporary_throttling_is_retried(self, api, organization_with_ten_entries, workers, clock):
        export = create_export(api, organization_with_ten_entries)
        for _ in range(4):
            with inject_fault(Fault.THROTTLED, call_name="s3:UploadPart", times=None):
                workers.run_sweep()
                workers.try_deliver()
            clock.shift(minutes=4)
        assert await_end(api, workers, clock, export)["status"] == "completed"

    def test_the_export_fails_if_its_parts_are_lost(self, api, organization_with_ten_entries, workers, clock):
        export = create_export(api, organization_with_ten_entries)
        with inject_fault(Fault.INTERNAL_ERROR, call_name="s3:UploadPart", times=None):
            workers.try_deliver()
        files.delete_files_and_uploads_with_prefix(settings().exports_bucket, organization_with_ten_entries.id)
        assert await_end(api, workers, clock, export)["status"] == "failed"


class TestFailedExport:
    @pytest.fixture
    def failed_export(
        self, api: ApiClient, organization_with_ten_entries: CreatedOrganization, workers: Workers
    ) -> CreatedExport:
        """An export that failed at an unreadable entry, which is restored then."""
        entry = audit_logs.entry_item(organization_with_ten_entries, 10)
        remove_attributes(entry, "body")
        export = create_export(api, organization_with_ten_entries)
        workers.deliver()
        memory_aws.put_item(entry)
        return export

    def test_the_failure_is_in_the_log(self, api, organization_with_ten_entries, failed_export):
        (entry,) = list_entries(api, organization_with_ten_entries, type="organization.audit_export.failed")
        assert entry["actor"]["type"] == "system"
        assert entry["data"] == failed_export.get(api)
        assert entry["changes"] == [
            {"field": "status", "from": "queued", "to": "failed"},
            {"field": "checkpoint", "from": None, "to": entry["data"]["checkpoint"]},
            {"field": "error", "from": None, "to": UNREADABLE.format(10)},
        ]

    def test_a_failed_export_is_never_downloaded(self, api, organization_with_ten_entries, failed_export):
        failed_export.get(api)
        assert list_entries(api, organization_with_ten_entries, type="organization.audit_export.downloaded") == []

    def test_files_of_a_failed_export_are_removed_once_no_worker_can_hold_it(self, api, failed_export, workers, clock):
        workers.run_until_idle()
        assert unfinished_uploads()
        clock.shift(minutes=4)
        workers.run_until_idle()
        assert unfinished_uploads() == []
        assert files.find_first_key(settings().exports_bucket, "") is None
        assert failed_export.get(api)["status"] == "failed"

    def test_a_failed_export_stays_readable(self, api, failed_export, workers, clock):
        before = failed_export.get(api)
        clock.shift(days=8)
        workers.run_until_idle()
        assert failed_export.get(api) == before

    def test_a_failed_export_frees_the_quota_and_can_be_started_again(
        self, api, organization_with_ten_entries, failed_export, workers
    ):
        for _ in range(10):
            create_export(api, organization_with_ten_entries)
        assert post_export(api, organization_with_ten_entries).status_and_code == "409 limit_exceeded"
        workers.deliver()
        second_export = create_completed_export(api, workers, organization_with_ten_entries)
        assert second_export["id"] != failed_export.id
