import json

import pytest

from chalicelib.features.audit.log import tasks
from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.work import jobs, queues
from tests.conftest import Configure
from tests.harness import cloud, rfc6962
from tests.harness.anchors import anchor, anchored, cut_off, end_of, overtake, put, read, waits
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased
from tests.harness.invitations import invite
from tests.harness.log_lines import measures, written
from tests.harness.logs import alter, entry, grow, head, leaf_of, log_of, signed, verify
from tests.harness.organizations import Founded, found
from tests.harness.parcels import mutate
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("impatient")


class TestAnchorSchedule:
    def test_a_grown_log_is_anchored_once(self, api: Api, ten: Founded, workers: Workers) -> None:
        assert waits(ten.id)
        anchor(workers)
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)
        grow(api, workers, ten, 3)
        anchor(workers)
        assert anchored(ten.id) == [13, 10]

    def test_an_unchanged_log_is_not_read(self, ten: Founded, workers: Workers) -> None:
        anchor(workers)
        workers.anchor()
        assert workers.calls.names == ["dynamodb:Query"] * ledger.UNANCHORED_SHARDS
        assert bodies("jobs") == []
        assert anchored(ten.id) == [10]

    def test_an_anchor_is_the_checkpoint_of_that_time(self, api: Api, ten: Founded, workers: Workers) -> None:
        anchor(workers)
        note, _, peaks = read(ten.id, 10).rpartition("\n\n")
        assert f"{note}\n" == verify(api, ten)["checkpoint"]
        leaves = [rfc6962.leaf_hash(entry_) for entry_ in reversed(log_of(api, ten))]
        rfc6962.check_note(f"{note}\n", ten.id, leaves, api.get("/status").json["auditPublicKey"])
        assert len(peaks.split()) == 2, "ten entries form one subtree of eight and one of two"

    @pytest.mark.usefixtures("ten")
    def test_an_anchor_is_uploaded_with_the_checksum_that_object_lock_requires(self, workers: Workers) -> None:
        anchor(workers)
        put_object = next(call for call in workers.calls.made if call.name == "s3:PutObject")
        assert put_object.parameters["ChecksumAlgorithm"] == "CRC32"

    def test_each_log_has_its_own_anchors(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        other_organizations = [found(api, ada) for _ in range(9)]
        workers.deliver()
        anchor(workers)
        assert [
            anchored(log) for log in (ten.id, *(other_organization.id for other_organization in other_organizations))
        ] == [[10], *[[1]] * 9]

    def test_logs_are_queued_in_the_order_of_their_waiting_time(
        self, api: Api, ada: Person, workers: Workers, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        organizations = [found(api, ada) for _ in range(3)]
        workers.deliver()
        anchor(workers)
        for n in (2, 0, 1, 2):
            clock.shift(minutes=1)
            grow(api, workers, organizations[n])
        workers.anchor()
        assert [json.loads(body)["pk"] for body in bodies("jobs")] == [f"Q#{organizations[n].id}" for n in (2, 0, 1)]

    def test_logs_beyond_the_time_limit_are_queued_by_the_next_run(
        self, api: Api, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organizations = [found(api, ada) for _ in range(3)]
        workers.deliver()
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        monkeypatch.setattr(ledger, "_PAGE_SIZE", 2)
        for organization in organizations:
            alter(head(organization), index2pk="ANCHOR#0")
        with monkeypatch.context() as without_time:
            without_time.setattr(tasks, "_QUEUE_TIMEOUT_SECONDS", -1)
            anchor(workers)
            assert sum(waits(organization.id) for organization in organizations) == 1
        anchor(workers)
        assert [anchored(organization.id) for organization in organizations] == [[1]] * 3

    def test_without_a_bucket_no_log_is_queued_and_the_request_log_says_so(
        self, ten: Founded, workers: Workers, configure: Configure, caplog: pytest.LogCaptureFixture
    ) -> None:
        queues.forward(anchor_message(ten.id))
        configure(anchors_bucket="")
        anchor(workers)
        (log_line,) = [vars(record) for record in caplog.records if vars(record).get("operation") == "anchor"]
        assert (log_line["bucket"], log_line["queued"], log_line["awsCalls"]) == (None, 0, 0)
        assert waits(ten.id)
        assert workers.calls.of("s3") == []


def anchor_message(log_id: str) -> queues.Message:
    """Return the queue message that anchors a log."""
    pk, sk = head_key(log_id)
    return {"task": "audit.anchor", "pk": pk, "sk": sk}


class TestAnchorLog:
    def test_repeated_messages_anchor_once(self, api: Api, ten: Founded, workers: Workers) -> None:
        grow(api, workers, ten)
        for _ in range(3):
            queues.forward(anchor_message(ten.id))
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [11]

    def test_concurrent_workers_anchor_once(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store_anchor, concurrent_calls = anchors.store_anchor, [lambda: tasks.anchor_log(anchor_message(ten.id))]

        def store_after_the_others(log_id: str, newest: Head) -> bool:
            while concurrent_calls:
                concurrent_calls.pop()()
            return store_anchor(log_id, newest)

        monkeypatch.setattr(anchors, "store_anchor", store_after_the_others)
        anchor(workers)
        assert concurrent_calls == []
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    def test_a_log_that_grows_meanwhile_is_anchored_again_in_the_next_hour(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store_anchor = anchors.store_anchor

        def store_after_an_append(log_id: str, newest: Head) -> bool:
            mutate("meanwhile", log_id)
            ledger.append_pending(log_id)
            return store_anchor(log_id, newest)

        with monkeypatch.context() as with_append:
            with_append.setattr(anchors, "store_anchor", store_after_an_append)
            anchor(workers)
        assert anchored(ten.id) == [10]
        assert waits(ten.id)
        anchor(workers)
        assert anchored(ten.id) == [11, 10]

    def test_a_log_that_another_worker_has_just_anchored_is_not_reported_as_truncated(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        overtake(monkeypatch, lambda: tasks.anchor_log(anchor_message(ten.id)))
        anchor(workers)
        assert anchored(ten.id) == [11]
        assert not [record for record in caplog.records if "refused" in vars(record)]

    def test_an_anchor_of_a_crashed_worker_is_marked_as_written(self, ten: Founded, workers: Workers) -> None:
        anchors.store_anchor(ten.id, Head.from_item(head(ten)))
        anchor(workers)
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    def test_a_log_with_an_erased_entry_is_anchored(
        self, api: Api, ten: Founded, workers: Workers, mary: Person, clock: Clock
    ) -> None:
        anchor(workers)
        grow(api, workers, ten)
        invite(api, ten, mary)
        erased(api, workers, clock, ten, email=mary.email)
        erased_types = [entry_["type"] for entry_ in log_of(api, ten) if entry_.get("erased")]
        assert erased_types == ["organization.invitation.created"]
        anchor(workers)
        assert anchored(ten.id) == [13, 10]

    def test_an_unknown_log_writes_nothing(self, workers: Workers) -> None:
        queues.enqueue("audit.anchor", head_key("01939d3c-0000-7000-8000-0000000000ff"))
        workers.deliver()
        assert cloud.stored() == []


class TestLogsLongerThanASlice:
    @pytest.fixture(autouse=True)
    def _minimal_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks, "WINDOW_ENTRIES", 4)
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)

    def test_a_long_log_is_checked_in_slices(self, ten: Founded, workers: Workers) -> None:
        queues.forward(anchor_message(ten.id))
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    @pytest.mark.usefixtures("ten")
    def test_each_slice_continues_where_the_previous_one_ended(self, workers: Workers) -> None:
        workers.anchor()
        first, second, third = workers.deliver()
        assert "reached" not in json.loads(first)
        assert json.loads(second)["reached"] != json.loads(third)["reached"]

    def test_a_forged_progress_is_ignored(self, ten: Founded, workers: Workers) -> None:
        queues.forward({**anchor_message(ten.id), "reached": "made up"})
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [10]

    def test_progress_is_valid_only_for_the_anchor_that_it_started_from(
        self, api: Api, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        anchor(workers)
        earlier = end_of(ten)
        grow(api, workers, ten, 8)
        forwarded: list[queues.Message] = []
        with monkeypatch.context() as without_queue:
            without_queue.setattr(queues, "forward", forwarded.append)
            tasks.anchor_log(anchor_message(ten.id))
        fork = [*(entry(ten, sequence) for sequence in range(11, 19)), head(ten)]
        cut_off(ten, earlier)
        grow(api, workers, ten, 2)
        anchor(workers)
        assert anchored(ten.id) == [12, 10]
        cut_off(ten, earlier)
        for item in fork:
            cloud.put(item)
        (message,) = forwarded
        queues.forward(message)
        workers.deliver()
        assert anchored(ten.id) == [12, 10]


class TestRejectedLogs:
    """A log is anchored only if its head is consistent with its last anchor."""

    def assert_rejected(
        self, organization: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, *reason: object
    ) -> None:
        """Assert that each run rejects the log and writes nothing."""
        before = anchored(organization.id)
        for _ in range(2):
            caplog.clear()
            anchor(workers)
            log_lines = [vars(record) for record in caplog.records if "refused" in vars(record)]
            rejections = [(log_line["tenant"], log_line["refused"], log_line["sequence"]) for log_line in log_lines]
            assert rejections == [(organization.id, *reason)]
            assert anchored(organization.id) == before
            assert waits(organization.id)

    def test_a_truncated_log_is_rejected(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        earlier = end_of(ten)
        grow(api, workers, ten, 3)
        anchor(workers)
        cut_off(ten, earlier)
        self.assert_rejected(ten, workers, caplog, "truncated", 11)

    @pytest.mark.parametrize("entries", [3, 4])
    def test_a_log_that_was_truncated_and_grew_again_is_rejected(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, entries: int
    ) -> None:
        earlier = end_of(ten)
        grow(api, workers, ten, 3)
        anchor(workers)
        cut_off(ten, earlier)
        grow(api, workers, ten, entries)
        self.assert_rejected(ten, workers, caplog, "forked", None)

    @pytest.mark.parametrize("sequence", [11, 12])
    def test_a_log_with_an_altered_entry_is_rejected(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, sequence: int
    ) -> None:
        anchor(workers)
        grow(api, workers, ten, 2)
        item = entry(ten, sequence)
        body = item["body"].replace(b"Ada", b"Eve")
        alter(item, body=body, leaf=leaf_of(body))
        self.assert_rejected(ten, workers, caplog, "modified", sequence)

    def test_a_log_without_one_of_its_entries_is_rejected(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        cloud.remove(entry(ten, 4))
        self.assert_rejected(ten, workers, caplog, "missing", 4)

    @pytest.mark.parametrize(
        ("altered", "reason"),
        [({"note": "nothing"}, "bad_signature"), ({"peaks": bytes(64)}, "forked"), ({"peaks": b""}, "bad_signature")],
    )
    def test_a_log_with_an_altered_head_is_rejected(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, altered: dict[str, object], reason: str
    ) -> None:
        alter(head(ten), **altered)
        self.assert_rejected(ten, workers, caplog, reason, None)

    def test_a_log_with_a_forged_anchor_is_rejected(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(ten.id, 5, b"nothing")
        self.assert_rejected(ten, workers, caplog, "bad_signature", None)

    def test_rejected_logs_are_counted(self, ten: Founded, workers: Workers) -> None:
        alter(head(ten), note=signed(ten, 10, bytes(32)))
        with written() as lines:
            anchor(workers)
        assert [measures(line, "stage") for line in lines if "AnchorsRefused" in line] == [{"AnchorsRefused": 1}]

    def test_a_repaired_log_is_anchored(self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture) -> None:
        item = entry(ten, 4)
        cloud.remove(item)
        self.assert_rejected(ten, workers, caplog, "missing", 4)
        cloud.put(item)
        anchor(workers)
        assert anchored(ten.id) == [10]

    def test_other_logs_are_still_anchored(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        other_organization = found(api, ada)
        workers.deliver()
        cloud.remove(entry(ten, 4))
        anchor(workers)
        assert (anchored(ten.id), anchored(other_organization.id)) == ([], [1])
