from typing import Any

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import cloud, logs
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.exports import Started, asked_to_export, begin_export, being_made, completed, fill, lines
from tests.harness.faults import Fault, failing
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.workers import Workers

UNREADABLE = "The entry with sequence {} can't be read. GET …/audit-log/verify-integrity says more."

pytestmark = pytest.mark.usefixtures("impatient")


def remove_attributes(item: Json, *names: str) -> None:
    """Remove attributes of a stored item."""
    cloud.put({name: value for name, value in item.items() if name not in names})


def await_end(api: Api, workers: Workers, clock: Clock, export: Started) -> Json:
    """Return the export once it has ended, with the clock shifted until then."""
    workers.attempt()
    for _ in range(8):
        if (record := export.now(api))["status"] in ("completed", "failed"):
            return record
        clock.shift(minutes=4)
        workers.sweep()
        workers.attempt()
    raise AssertionError(record)


class TestUnreadableEntries:
    def test_the_error_names_a_missing_entry(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        cloud.remove(logs.entry(ten, 5))
        record = await_end(api, workers, clock, begin_export(api, ten))
        assert (record["status"], record["error"]) == ("failed", UNREADABLE.format(5))
        assert (record["entryCount"], record["sha256"], record["evidence"]) == (None, None, None)
        assert (record["downloadUrl"], record["expiresAt"]) == (None, None)

    @pytest.mark.parametrize("names", [("body",), ("leaf",), ("id",), ("type",), ("actor",), ("created_at",)])
    def test_the_error_names_an_entry_without_an_attribute(
        self, api: Api, ten: Founded, workers: Workers, names: tuple[str, ...]
    ) -> None:
        remove_attributes(logs.entry(ten, 10), *names)
        export = begin_export(api, ten)
        workers.deliver()
        assert export.now(api)["error"] == UNREADABLE.format(10)

    @pytest.mark.parametrize("altered", [{"body": b"no json"}, {"body": b""}, {"body": "text"}, {"leaf": b"short"}])
    def test_the_error_names_an_unreadable_entry(
        self, api: Api, ten: Founded, workers: Workers, altered: dict[str, Any]
    ) -> None:
        for export_format in ("ndjson", "csv"):
            export = begin_export(api, ten, format=export_format)
            logs.alter(logs.entry(ten, 1), **altered)
            workers.deliver()
            assert export.now(api)["error"] == UNREADABLE.format(1)

    def test_the_error_names_an_entry_without_its_long_body(self, api: Api, ada: Person, workers: Workers) -> None:
        organization = found(api, ada)
        workers.deliver()
        fill(organization.id, 2, 9_000)
        cloud.remove({"pk": f"B#{organization.id}", "sk": logs.entry(organization, 3)["sk"]})
        export = begin_export(api, organization)
        workers.deliver()
        assert export.now(api)["error"] == UNREADABLE.format(3)

    def test_an_omitted_entry_needs_only_its_hash(self, api: Api, ten: Founded, workers: Workers) -> None:
        remove_attributes(logs.entry(ten, 4), "body")
        assert lines(completed(api, workers, ten, filters={"type": "organization.created"}))

    def test_a_duplicated_sequence_is_an_error(self, api: Api, ten: Founded, workers: Workers) -> None:
        second = logs.entry(ten, 3)
        cloud.put({**second, "sk": second["sk"][:-1] + ("0" if second["sk"][-1] != "0" else "1")})
        export = begin_export(api, ten)
        workers.deliver()
        assert export.now(api)["error"] == UNREADABLE.format(4)

    def test_the_error_names_the_first_missing_entry_of_a_truncated_log(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        export = begin_export(api, ten)
        ledger.append_pending(ten.id)
        cloud.remove(logs.entry(ten, 11))
        assert await_end(api, workers, clock, export)["error"] == UNREADABLE.format(11)

    def test_the_error_names_an_altered_head(self, api: Api, ten: Founded, workers: Workers) -> None:
        export = begin_export(api, ten)
        ledger.append_pending(ten.id)
        logs.alter(logs.head(ten), peaks=b"short")
        workers.attempt()
        assert export.now(api)["error"].startswith("The head of the log was altered.")


class TestIndexLag:
    def test_the_export_waits_for_a_lagging_index(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        entry = logs.entry(ten, 6)
        remove_attributes(entry, "index1pk", "index1sk")
        export = begin_export(api, ten)
        for _ in range(2):
            workers.attempt()
            assert export.now(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.sweep()
        cloud.put(entry)
        workers.deliver()
        record = export.now(api)
        assert (record["status"], record["entryCount"]) == ("completed", 11)

    def test_the_export_fails_if_the_index_never_catches_up(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        remove_attributes(logs.entry(ten, 6), "index1pk", "index1sk")
        export = begin_export(api, ten)
        workers.attempt()
        for _ in range(3):
            assert export.now(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.sweep()
            workers.attempt()
        assert export.now(api)["error"] == UNREADABLE.format(6)


class TestFileStoreFailures:
    @pytest.mark.parametrize(
        "name", ["s3:CreateMultipartUpload", "s3:UploadPart", "s3:CompleteMultipartUpload", "s3:GetObject"]
    )
    def test_the_export_fails_after_repeated_errors(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock, name: str
    ) -> None:
        export = begin_export(api, ten)
        attempts = 0
        while (record := export.now(api))["status"] in ("queued", "running"):
            with failing(Fault.BROKEN, name=name, times=None):
                workers.sweep()
                workers.attempt()
            clock.shift(minutes=4)
            attempts += 1
            assert attempts < 10
        assert attempts >= 6
        assert record["status"] == "failed"
        assert record["error"].endswith("failed again and again. Start it again.")

    def test_temporary_throttling_is_retried(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        export = begin_export(api, ten)
        for _ in range(4):
            with failing(Fault.THROTTLED, name="s3:UploadPart", times=None):
                workers.sweep()
                workers.attempt()
            clock.shift(minutes=4)
        assert await_end(api, workers, clock, export)["status"] == "completed"

    def test_the_export_fails_if_its_parts_are_lost(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        export = begin_export(api, ten)
        with failing(Fault.BROKEN, name="s3:UploadPart", times=None):
            workers.attempt()
        files.delete_prefix(settings().exports_bucket, ten.id)
        assert await_end(api, workers, clock, export)["status"] == "failed"


class TestFailedExport:
    @pytest.fixture
    def failed_export(self, api: Api, ten: Founded, workers: Workers) -> Started:
        """An export that failed at an unreadable entry, which is restored then."""
        entry = logs.entry(ten, 10)
        remove_attributes(entry, "body")
        export = begin_export(api, ten)
        workers.deliver()
        cloud.put(entry)
        return export

    def test_the_failure_is_in_the_log(self, api: Api, ten: Founded, failed_export: Started) -> None:
        (entry,) = log_of(api, ten, type="organization.audit_export.failed")
        assert entry["actor"]["type"] == "system"
        assert entry["data"] == failed_export.now(api)
        assert entry["changes"] == [
            {"field": "status", "from": "queued", "to": "failed"},
            {"field": "checkpoint", "from": None, "to": entry["data"]["checkpoint"]},
            {"field": "error", "from": None, "to": UNREADABLE.format(10)},
        ]

    def test_a_failed_export_is_never_downloaded(self, api: Api, ten: Founded, failed_export: Started) -> None:
        failed_export.now(api)
        assert log_of(api, ten, type="organization.audit_export.downloaded") == []

    def test_files_of_a_failed_export_are_removed_once_no_worker_can_hold_it(
        self, api: Api, failed_export: Started, workers: Workers, clock: Clock
    ) -> None:
        workers.settle()
        assert being_made()
        clock.shift(minutes=4)
        workers.settle()
        assert being_made() == []
        assert files.find_first_key(settings().exports_bucket, "") is None
        assert failed_export.now(api)["status"] == "failed"

    def test_a_failed_export_stays_readable(
        self, api: Api, failed_export: Started, workers: Workers, clock: Clock
    ) -> None:
        before = failed_export.now(api)
        clock.shift(days=8)
        workers.settle()
        assert failed_export.now(api) == before

    def test_a_failed_export_frees_the_quota_and_can_be_started_again(
        self, api: Api, ten: Founded, failed_export: Started, workers: Workers
    ) -> None:
        for _ in range(10):
            begin_export(api, ten)
        assert asked_to_export(api, ten).code == "409 limit_exceeded"
        workers.deliver()
        second_export = completed(api, workers, ten)
        assert second_export["id"] != failed_export.id
