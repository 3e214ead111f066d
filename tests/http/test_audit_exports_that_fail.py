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


def without(item: Json, *names: str) -> None:
    """Take attributes out of a stored item."""
    cloud.put({name: value for name, value in item.items() if name not in names})


def ended(api: Api, workers: Workers, clock: Clock, started: Started) -> Json:
    """The export once it has ended; time passes until then."""
    workers.attempt()
    for _ in range(8):
        if (record := started.now(api))["status"] in ("completed", "failed"):
            return record
        clock.shift(minutes=4)
        workers.sweep()
        workers.attempt()
    raise AssertionError(record)


class TestALogThatCanNotBeRead:
    def test_an_entry_that_is_gone_is_named(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        cloud.remove(logs.entry(ten, 5))
        record = ended(api, workers, clock, begin_export(api, ten))
        assert (record["status"], record["error"]) == ("failed", UNREADABLE.format(5))
        assert (record["entryCount"], record["sha256"], record["evidence"]) == (None, None, None)
        assert (record["downloadUrl"], record["expiresAt"]) == (None, None)

    @pytest.mark.parametrize("names", [("body",), ("leaf",), ("id",), ("type",), ("actor",), ("created_at",)])
    def test_one_of_which_something_is_gone_is_named_at_once(
        self, api: Api, ten: Founded, workers: Workers, names: tuple[str, ...]
    ) -> None:
        without(logs.entry(ten, 10), *names)
        started = begin_export(api, ten)
        workers.deliver()
        assert started.now(api)["error"] == UNREADABLE.format(10)

    @pytest.mark.parametrize("altered", [{"body": b"no json"}, {"body": b""}, {"body": "text"}, {"leaf": b"short"}])
    def test_one_that_was_altered_beyond_showing_is_named(
        self, api: Api, ten: Founded, workers: Workers, altered: dict[str, Any]
    ) -> None:
        for form in ("ndjson", "csv"):
            started = begin_export(api, ten, format=form)
            logs.alter(logs.entry(ten, 1), **altered)
            workers.deliver()
            assert started.now(api)["error"] == UNREADABLE.format(1)

    def test_one_whose_long_text_is_gone_is_named(self, api: Api, ada: Person, workers: Workers) -> None:
        organization = found(api, ada)
        workers.deliver()
        fill(organization.id, 2, 9_000)
        cloud.remove({"pk": f"B#{organization.id}", "sk": logs.entry(organization, 3)["sk"]})
        started = begin_export(api, organization)
        workers.deliver()
        assert started.now(api)["error"] == UNREADABLE.format(3)

    def test_one_that_is_not_wanted_is_needed_for_its_hash_only(self, api: Api, ten: Founded, workers: Workers) -> None:
        without(logs.entry(ten, 4), "body")
        assert lines(completed(api, workers, ten, filters={"type": "organization.created"}))

    def test_two_at_one_place_are_one_too_many(self, api: Api, ten: Founded, workers: Workers) -> None:
        second = logs.entry(ten, 3)
        cloud.put({**second, "sk": second["sk"][:-1] + ("0" if second["sk"][-1] != "0" else "1")})
        started = begin_export(api, ten)
        workers.deliver()
        assert started.now(api)["error"] == UNREADABLE.format(4)

    def test_a_log_cut_off_at_its_end_is_named(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        started = begin_export(api, ten)
        ledger.append_pending(ten.id)
        cloud.remove(logs.entry(ten, 11))
        assert ended(api, workers, clock, started)["error"] == UNREADABLE.format(11)

    def test_a_head_that_was_altered_is_said(self, api: Api, ten: Founded, workers: Workers) -> None:
        started = begin_export(api, ten)
        ledger.append_pending(ten.id)
        logs.alter(logs.head(ten), peaks=b"short")
        workers.attempt()
        assert started.now(api)["error"].startswith("The head of the log was altered.")


class TestAnIndexThatIsLate:
    def test_is_waited_for(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        entry = logs.entry(ten, 6)
        without(entry, "index1pk", "index1sk")
        started = begin_export(api, ten)
        for _ in range(2):
            workers.attempt()
            assert started.now(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.sweep()
        cloud.put(entry)
        workers.deliver()
        record = started.now(api)
        assert (record["status"], record["entryCount"]) == ("completed", 11)

    def test_is_not_waited_for_without_end(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        without(logs.entry(ten, 6), "index1pk", "index1sk")
        started = begin_export(api, ten)
        workers.attempt()
        for _ in range(3):
            assert started.now(api)["status"] == "running"
            clock.shift(seconds=31)
            workers.sweep()
            workers.attempt()
        assert started.now(api)["error"] == UNREADABLE.format(6)


class TestAFileStoreThatDoesNotAnswer:
    @pytest.mark.parametrize(
        "name", ["s3:CreateMultipartUpload", "s3:UploadPart", "s3:CompleteMultipartUpload", "s3:GetObject"]
    )
    def test_is_tried_again_and_again_and_then_given_up(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock, name: str
    ) -> None:
        started = begin_export(api, ten)
        turns = 0
        while (record := started.now(api))["status"] in ("queued", "running"):
            with failing(Fault.BROKEN, name=name, times=None):
                workers.sweep()
                workers.attempt()
            clock.shift(minutes=4)
            turns += 1
            assert turns < 10
        assert turns >= 6
        assert record["status"] == "failed"
        assert record["error"].endswith("failed again and again. Start it again.")

    def test_for_a_while_is_waited_for(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        started = begin_export(api, ten)
        for _ in range(4):
            with failing(Fault.THROTTLED, name="s3:UploadPart", times=None):
                workers.sweep()
                workers.attempt()
            clock.shift(minutes=4)
        assert ended(api, workers, clock, started)["status"] == "completed"

    def test_that_loses_what_was_put_into_it_can_not_be_helped(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        started = begin_export(api, ten)
        with failing(Fault.BROKEN, name="s3:UploadPart", times=None):
            workers.attempt()
        files.delete_prefix(settings().exports_bucket, ten.id)
        assert ended(api, workers, clock, started)["status"] == "failed"


class TestAFailedExport:
    @pytest.fixture
    def failed(self, api: Api, ten: Founded, workers: Workers) -> Started:
        entry = logs.entry(ten, 10)
        without(entry, "body")
        started = begin_export(api, ten)
        workers.deliver()
        cloud.put(entry)
        return started

    def test_says_so_in_the_log(self, api: Api, ten: Founded, failed: Started) -> None:
        (entry,) = log_of(api, ten, type="organization.audit_export.failed")
        assert entry["actor"]["type"] == "system"
        assert entry["data"] == failed.now(api)
        assert entry["changes"] == [
            {"field": "status", "from": "queued", "to": "failed"},
            {"field": "checkpoint", "from": None, "to": entry["data"]["checkpoint"]},
            {"field": "error", "from": None, "to": UNREADABLE.format(10)},
        ]

    def test_is_handed_out_to_nobody(self, api: Api, ten: Founded, failed: Started) -> None:
        failed.now(api)
        assert log_of(api, ten, type="organization.audit_export.downloaded") == []

    def test_leaves_no_files_once_no_worker_can_be_at_it(
        self, api: Api, failed: Started, workers: Workers, clock: Clock
    ) -> None:
        workers.settle()
        assert being_made()
        clock.shift(minutes=4)
        workers.settle()
        assert being_made() == []
        assert files.find_first_key(settings().exports_bucket, "") is None
        assert failed.now(api)["status"] == "failed"

    def test_stays_to_be_asked_for(self, api: Api, failed: Started, workers: Workers, clock: Clock) -> None:
        before = failed.now(api)
        clock.shift(days=8)
        workers.settle()
        assert failed.now(api) == before

    def test_makes_room_and_can_be_started_again(
        self, api: Api, ten: Founded, failed: Started, workers: Workers
    ) -> None:
        for _ in range(10):
            begin_export(api, ten)
        assert asked_to_export(api, ten).code == "409 limit_exceeded"
        workers.deliver()
        again = completed(api, workers, ten)
        assert again["id"] != failed.id
