"""Logs are anchored hourly, unless they are inconsistent with their last anchor, with which they are also verified."""

import base64
import json
import time

import pytest

from chalicelib.features.audit.log import tasks
from chalicelib.features.audit.log.logic import anchors, log_verification, unanchored_heads
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.work import queues
from tests.harness import memory_aws, rfc6962
from tests.harness.anchors import (
    anchor_key,
    anchor_message,
    append_before_next_anchor_read,
    hide_anchor,
    put_anchor,
    read_anchor,
)
from tests.harness.audit_logs import sign_checkpoint
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.erasures import complete_erasure
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import create_invitation
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.organizations import create_organization
from tests.harness.sample_entity import create_logged_parcel
from tests.harness.stored_logs import INTACT, StoredLog
from tests.harness.workers import queued_bodies

BAD_SIGNATURE = ("bad_signature", None)


@pytest.fixture
def three_logs(api, ada, workers):
    logs = [StoredLog(api, workers, create_organization(api, ada)) for _ in range(3)]
    workers.deliver()
    return logs


class TestAnchorSchedule:
    def test_a_log_is_anchored_once_for_each_size(self, log, workers):
        assert log.awaits_anchor
        log.anchor()
        (put_object,) = (call for call in workers.last_calls.call_list if call.name == "s3:PutObject")
        assert put_object.parameters["ChecksumAlgorithm"] == "CRC32", "Object Lock requires a checksum"
        assert put_object.parameters["IfNoneMatch"] == "*", "the bucket denies other writes"
        assert not log.awaits_anchor
        workers.run_hourly_anchoring()
        assert workers.last_calls.call_names == ["dynamodb:Query"] * ledger.UNANCHORED_SHARDS
        assert (queued_bodies("jobs"), log.anchored_sizes) == ([], [10])
        log.append(3)
        log.anchor()
        assert log.anchored_sizes == [13, 10]

    def test_an_anchor_is_the_checkpoint_of_that_time(self, api, log):
        log.anchor()
        note, _, peaks = read_anchor(log.id, 10).rpartition("\n\n")
        assert f"{note}\n" == log.verify()["checkpoint"]
        leaves = [rfc6962.leaf_hash(entry) for entry in reversed(log.entries())]
        rfc6962.check_checkpoint(f"{note}\n", log.id, leaves, api.get("/status").json["auditPublicKey"])
        assert len(peaks.split()) == 2, "ten entries form one subtree of eight and one of two"

    def test_logs_are_queued_in_the_order_of_their_waiting_time(self, three_logs, workers, clock, monkeypatch):
        three_logs[0].anchor()
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        for n in (2, 0, 1, 2):
            clock.shift(minutes=1)
            three_logs[n].append()
        workers.run_hourly_anchoring()
        queued = [json.loads(body)["pk"] for body in queued_bodies("jobs")]
        assert queued == [f"Q#{three_logs[n].id}" for n in (2, 0, 1)]

    def test_logs_beyond_the_time_limit_are_queued_by_the_next_run(self, three_logs, monkeypatch):
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        monkeypatch.setattr(unanchored_heads, "_PAGE_SIZE", 2)
        for log in three_logs:
            log.alter_head(index2pk="ANCHOR#0")
        with monkeypatch.context() as without_time:
            without_time.setattr(tasks, "_QUEUE_TIMEOUT_SECONDS", -1)
            three_logs[0].anchor()
            assert sum(log.awaits_anchor for log in three_logs) == 1
        three_logs[0].anchor()
        assert [log.anchored_sizes for log in three_logs] == [[1]] * 3

    def test_without_a_bucket_no_log_is_queued_and_the_request_log_says_so(self, log, workers, configure, caplog):
        queues.enqueue_message(anchor_message(log.id))
        configure(anchors_bucket="")
        log.anchor()
        (log_line,) = [vars(record) for record in caplog.records if vars(record).get("operation") == "anchor"]
        assert (log_line["bucket"], log_line["queued"], log_line["awsCalls"]) == (None, 0, 0)
        assert log.awaits_anchor
        assert workers.last_calls.names_of_service("s3") == []


class TestAnchorLog:
    def test_a_log_that_grows_meanwhile_is_anchored_again_in_the_next_hour(self, log, monkeypatch):
        store_anchor = anchors.store_anchor_if_absent

        def store_after_growth(log_id: str, newest: Head) -> bool:
            create_logged_parcel("meanwhile", log_id)
            ledger.append_pending_and_return_longest_wait_ms(log_id)
            return store_anchor(log_id, newest)

        with monkeypatch.context() as with_growth:
            with_growth.setattr(anchors, "store_anchor_if_absent", store_after_growth)
            log.anchor()
        assert (log.anchored_sizes, log.awaits_anchor) == ([10], True)
        log.anchor()
        assert log.anchored_sizes == [11, 10]

    def test_a_log_that_another_worker_has_just_anchored_is_not_reported_as_truncated(self, log, monkeypatch, caplog):
        append_before_next_anchor_read(monkeypatch, lambda: tasks.anchor_log(anchor_message(log.id)))
        log.anchor()
        assert log.anchored_sizes == [11]
        assert not [record for record in caplog.records if "refused" in vars(record)]

    def test_a_log_with_an_erased_entry_is_anchored(self, api, log, workers, mary, clock):
        log.anchor()
        log.append()
        create_invitation(api, log.organization, mary)
        erasure = complete_erasure(api, workers, clock, log.organization, email=mary.email)
        log.anchor()
        assert (erasure["erasedEntries"], log.anchored_sizes) == (1, [13, 10])


def truncate_and_append(count):
    def tamper(log: StoredLog) -> None:
        earlier = log.head_and_chains()
        log.append(3)
        log.anchor()
        log.truncate(earlier)
        log.append(count)

    return tamper


def alter_after_anchoring(sequence):
    def tamper(log: StoredLog) -> None:
        log.anchor()
        log.append(2)
        log.alter_body(sequence, with_leaf=True)

    return tamper


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (truncate_and_append(0), ("truncated", 11)),
        (truncate_and_append(3), ("forked", None)),
        (truncate_and_append(4), ("forked", None)),
        (alter_after_anchoring(11), ("modified", 11)),
        (alter_after_anchoring(12), ("modified", 12)),
        (lambda log: log.remove(4), ("missing", 4)),
        (lambda log: log.alter_head(note="nothing"), BAD_SIGNATURE),
        (lambda log: log.alter_head(note=sign_checkpoint(log.organization, 10, bytes(32))), ("forked", None)),
        (lambda log: log.alter_head(peaks=bytes(64)), ("forked", None)),
        (lambda log: log.alter_head(peaks=b""), BAD_SIGNATURE),
        (lambda log: put_anchor(log.id, 5, b"nothing"), BAD_SIGNATURE),
    ],
)
def test_each_run_rejects_and_counts_an_altered_log_and_writes_nothing(log, tamper, reason):
    tamper(log)
    before = log.anchored_sizes
    for _ in range(2):
        with capture_log_records() as records:
            log.anchor()
        refused = [(each["tenant"], each["refused"], each.get("sequence")) for each in records if "refused" in each]
        assert refused == [(log.id, *reason)]
        metrics = [embedded_metrics(record, "stage") for record in records if "AnchorsRefused" in record]
        assert metrics == [{"AnchorsRefused": 1}]
        assert (log.anchored_sizes, log.awaits_anchor) == (before, True)


def test_other_logs_are_still_anchored_and_a_repaired_log_too(log, short_log):
    item = log.entry(4)
    memory_aws.delete_item(item)
    log.anchor()
    assert (log.anchored_sizes, short_log.anchored_sizes) == ([], [1])
    memory_aws.put_item(item)
    log.anchor()
    assert (log.anchored_sizes, short_log.anchored_sizes) == ([10], [1])


@pytest.fixture
def anchored_log_and_earlier_items(log):
    """A log that grew from ten to thirteen entries and got an anchor, and its newest items from before."""

    def create() -> tuple[list[memory_aws.Item], bytes]:
        earlier = log.head_and_chains()
        log.append(3)
        log.anchor()
        return earlier, read_anchor(log.id, 13).encode()

    earlier, anchor = extended_scenario("anchored", create)
    put_anchor(log.id, 13, anchor)
    return log, earlier


@pytest.fixture
def anchored_log(anchored_log_and_earlier_items):
    return anchored_log_and_earlier_items[0]


@pytest.fixture
def truncated_log(anchored_log_and_earlier_items):
    log, earlier = anchored_log_and_earlier_items
    log.truncate(earlier)
    return log


class TestAnchoredLog:
    def test_is_valid_although_it_grows_and_gets_an_anchor_during_its_verification(self, anchored_log, monkeypatch):
        assert (anchored_log.anchored_sizes, anchored_log.failure()) == ([13], INTACT)
        append_before_next_anchor_read(monkeypatch, anchored_log.anchor)
        assert anchored_log.failure() == INTACT
        assert anchored_log.anchored_sizes == [14, 13]
        anchored_log.append(3)
        assert anchored_log.failure() == INTACT

    def test_is_valid_by_an_anchor_signed_with_a_retired_key_until_the_key_is_not_accepted_any_more(
        self, api, anchored_log, configure
    ):
        retired_key = api.get("/status").json["auditPublicKey"]
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode(), audit_former_public_keys=retired_key)
        assert anchored_log.failure() == INTACT
        configure(audit_former_public_keys="")
        assert anchored_log.failure() == BAD_SIGNATURE

    def test_is_also_compared_with_a_checkpoint_of_the_caller(self, anchored_log):
        failures = [anchored_log.failure(checkpoint=anchored_log.sign_checkpoint(size)) for size in (5, 13, 14)]
        assert failures == [("forked", None), ("forked", None), ("truncated", 14)]

    @pytest.mark.parametrize("name", ["s3:ListObjectVersions", "s3:GetObject"])
    def test_is_not_reported_valid_while_its_anchor_is_unreadable(self, anchored_log, name):
        with inject_fault(Fault.TIMED_OUT, call_name=name) as injected_fault:
            answer = anchored_log.get("/verify-integrity")
        assert (injected_fault.failed_call, answer.status_and_code) == (name, "503 unavailable")

    def test_is_compared_with_its_anchor_only_in_the_first_window(self, anchored_log, monkeypatch):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 6)
        query, s3_calls = dict[str, str](), []
        for _ in range(3):
            answer = anchored_log.get("/verify-integrity", **query)
            s3_calls.append(answer.calls.names_of_service("s3"))
            query = {"cursor": answer.json["nextCursor"]}
            anchored_log.append()
            anchored_log.anchor()
        assert (answer.json["valid"], answer.json["nextCursor"]) == (True, None)
        assert s3_calls == [["s3:ListObjectVersions", "s3:GetObject"], [], []]


def put_forged_anchor(log_id, size):
    time.sleep(0.002)  # The emulator sorts versions by their time in milliseconds.
    put_anchor(log_id, size, b"forged")


class TestRewrittenAnchor:
    """Object Lock keeps each version, but accepts new ones and delete markers. The oldest version is the anchor."""

    @pytest.mark.parametrize("tamper", [put_forged_anchor, hide_anchor])
    def test_still_reveals_a_truncated_log_and_is_reported(self, anchored_log_and_earlier_items, tamper):
        log, earlier = anchored_log_and_earlier_items
        assert log.failure() == INTACT
        tamper(log.id, 13)
        with capture_log_records() as records:
            assert log.failure() == INTACT
        (record,) = (each for each in records if "rewrittenAnchor" in each)
        assert record["rewrittenAnchor"] == anchor_key(log.id, 13)
        assert record["AnchorsRewritten"] == 1
        log.truncate(earlier)
        assert log.failure() == ("truncated", 11)
        log.append(3)
        with capture_log_records() as records:
            log.anchor()
        assert [each["refused"] for each in records if "AnchorsRewritten" in each] == ["forked"]

    def test_is_not_reported_once_a_later_anchor_exists(self, anchored_log):
        hide_anchor(anchored_log.id, 13)
        anchored_log.append()
        anchored_log.anchor()
        with capture_log_records() as records:
            assert anchored_log.failure() == INTACT
        assert not [each for each in records if "rewrittenAnchor" in each]


class TestLogTruncatedInTheTable:
    def test_is_reported_truncated_although_it_would_be_valid_without_its_anchor(self, truncated_log, configure):
        assert truncated_log.failure() == ("truncated", 11)
        configure(anchors_bucket="")
        assert truncated_log.failure() == INTACT
        checkpoint = truncated_log.save_checkpoint()
        configure(anchors_bucket="atrium-anchors")
        assert truncated_log.failure(checkpoint=checkpoint) == ("truncated", 11), "it extends the caller's checkpoint"

    def test_is_reported_truncated_if_only_pending_entries_remain(self, anchored_log_and_earlier_items):
        log, earlier = anchored_log_and_earlier_items
        log.truncate([{**earlier[0], "size": 0}])
        memory_aws.delete_item(log.head)
        log.rename("As if it were new")
        assert log.failure() == ("truncated", 1)

    @pytest.mark.parametrize(("size", "failure"), [(12, "truncated"), (13, "forked"), (14, "forked")])
    def test_remains_invalid_when_it_grows(self, truncated_log, size, failure):
        truncated_log.append(size - 10)
        assert truncated_log.failure()[0] == failure
        truncated_log.anchor()
        assert (truncated_log.anchored_sizes, truncated_log.failure()[0]) == ([13], failure)

    @pytest.mark.parametrize("window", [1, 4, 12, 13, 14])
    def test_is_detected_in_the_window_that_contains_the_anchor(self, truncated_log, monkeypatch, window):
        truncated_log.append(5)
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", window)
        *valid_reports, last = truncated_log.verify_all_windows()
        assert last["failure"] == "forked"
        assert [report["valid"] for report in valid_reports] == [True] * (-(-13 // window) - 1)


def test_a_forged_newest_anchor_makes_a_log_look_altered(anchored_log, short_log):
    put_anchor(anchored_log.id, 12, b"nothing")
    assert anchored_log.failure() == INTACT
    anchored_log.anchor()
    own = read_anchor(anchored_log.id, 13)
    note, _, peaks = own.rpartition("\n\n")
    forged = {
        "empty": "",
        "text": "nothing",
        "binary": "é\x00\n\n",
        "misnamed": own,
        "of another log": read_anchor(short_log.id, 1),
        "renumbered": own.replace("\n13\n", "\n14\n"),
        "unsigned": note,
        "truncated": own[:-5],
        "of another tree": f"{sign_checkpoint(anchored_log.organization, 14, bytes(32))}\n{peaks}",
    }
    for defect, data in {"bytes": b"\xff", **{defect: text.encode() for defect, text in forged.items()}}.items():
        put_anchor(anchored_log.id, 14, data)
        assert anchored_log.failure() == BAD_SIGNATURE, defect
    assert anchored_log.verify()["treeSize"] == 13
