import base64

import pytest

from chalicelib.features.audit.log.logic import log_verification
from tests.harness import memory_aws
from tests.harness.anchors import append_before_next_anchor_read, put_anchor, read_anchor
from tests.harness.audit_logs import sign_checkpoint
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.stored_logs import StoredLog

INTACT = (None, None)
OTHER_KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture
def anchored_log_and_earlier_items(api, workers, request):
    """A log that grew from ten to thirteen entries and got an anchor, and its newest items from before."""

    def create() -> tuple[CreatedOrganization, list[memory_aws.Item], bytes]:
        log = StoredLog(api, workers, request.getfixturevalue("organization_with_ten_entries"))
        earlier = log.head_and_chains()
        log.append(3)
        log.anchor()
        return log.organization, earlier, read_anchor(log.id, 13).encode()

    organization, earlier, anchor = cached_scenario("anchored", create)
    put_anchor(organization.id, 13, anchor)
    return StoredLog(api, workers, organization), earlier


@pytest.fixture
def log(anchored_log_and_earlier_items):
    return anchored_log_and_earlier_items[0]


@pytest.fixture
def truncated_log(anchored_log_and_earlier_items):
    """The log, shortened to ten entries."""
    log, earlier = anchored_log_and_earlier_items
    log.truncate(earlier)
    return log


class TestIntactLog:
    def test_is_consistent_with_its_anchor(self, log):
        assert log.anchored_sizes == [13]
        assert log.failure() == INTACT
        log.append(3)
        assert log.failure() == INTACT
        log.anchor()
        assert log.failure() == INTACT

    def test_may_grow_and_get_an_anchor_during_its_verification(self, log, monkeypatch):
        append_before_next_anchor_read(monkeypatch, log.anchor)
        assert log.failure() == INTACT
        assert log.anchored_sizes == [14, 13]

    def test_is_valid_without_an_anchor(self, api, ada, workers):
        log = StoredLog(api, workers, create_organization(api, ada))
        assert log.failure() == INTACT
        workers.deliver()
        assert log.failure() == INTACT

    def test_is_valid_by_an_anchor_signed_with_a_retired_key_until_the_key_is_not_accepted_any_more(
        self, api, log, configure
    ):
        retired_key = api.get("/status").json["auditPublicKey"]
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=retired_key)
        assert log.failure() == INTACT
        configure(audit_former_public_keys="")
        assert log.failure() == ("bad_signature", None)

    def test_is_also_compared_with_a_checkpoint_of_the_caller(self, log):
        for size, failure in ((5, ("forked", None)), (13, ("forked", None)), (14, ("truncated", 14))):
            assert log.failure(checkpoint=log.sign_checkpoint(size)) == failure

    def test_is_not_reported_valid_while_its_anchor_is_unreadable(self, log):
        for name in ("s3:ListObjectsV2", "s3:GetObject"):
            with inject_fault(Fault.TIMED_OUT, call_name=name) as injected_fault:
                answer = log.get("/verify-integrity")
            assert injected_fault.failed_call == name
            assert answer.status_and_code == "503 unavailable"
            assert answer.headers["Retry-After"]


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
        assert truncated_log.anchored_sizes == [13]
        assert truncated_log.failure()[0] == failure

    def test_is_detected_in_the_window_that_contains_the_anchor(self, truncated_log, monkeypatch):
        truncated_log.append(5)
        for window in (1, 4, 12, 13, 14):
            monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", window)
            *valid_reports, last = truncated_log.verify_all_windows()
            assert last["failure"] == "forked"
            assert [report["valid"] for report in valid_reports] == [True] * (-(-13 // window) - 1)


class TestWindows:
    def test_only_the_first_one_reads_the_anchor(self, log, monkeypatch):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 6)
        query, s3_calls = dict[str, str](), []
        for _ in range(3):
            answer = log.get("/verify-integrity", **query)
            s3_calls.append(answer.calls.names_of_service("s3"))
            query = {"cursor": answer.json["nextCursor"]}
        assert query == {"cursor": None}
        assert s3_calls == [["s3:ListObjectsV2", "s3:GetObject"], [], []]

    def test_a_new_anchor_is_used_by_the_next_verification(self, log, monkeypatch):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 7)
        cursor = log.verify()["nextCursor"]
        log.append()
        log.anchor()
        assert log.failure(cursor=cursor) == INTACT


class TestForgedAnchor:
    """An attacker with access to the bucket can only make a log look altered, never intact."""

    def test_is_a_bad_signature(self, api, log, ada, workers):
        other = create_organization(api, ada)
        workers.deliver()
        log.anchor()
        own = read_anchor(log.id, 13)
        note, _, peaks = own.rpartition("\n\n")
        forged_texts = {
            "empty": "",
            "text": "nothing",
            "binary": "é\x00\n\n",
            "misnamed": own,
            "of another log": read_anchor(other.id, 1),
            "renumbered": own.replace("\n13\n", "\n14\n"),
            "unsigned": note,
            "truncated": own[:-5],
            "of another tree": f"{sign_checkpoint(log.organization, 14, bytes(32))}\n{peaks}",
        }
        for defect, data in {
            **{defect: text.encode() for defect, text in forged_texts.items()},
            "bytes": b"\xff",
        }.items():
            put_anchor(log.id, 14, data)
            assert log.failure() == ("bad_signature", None), defect
        assert log.verify()["treeSize"] == 13

    def test_has_no_effect_before_the_newest_anchor(self, log):
        put_anchor(log.id, 12, b"nothing")
        assert log.failure() == INTACT
