import base64
from collections.abc import Callable

import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.core.encoding import to_base64url
from tests.harness import memory_aws
from tests.harness.anchors import (
    anchored_sizes,
    append_before_next_anchor_read,
    head_and_chain_items,
    put_anchor,
    read_anchor,
    run_anchoring,
    truncate_log,
)
from tests.harness.api import ApiClient
from tests.harness.audit_logs import add_entries, head_item, sign_checkpoint, verification_failure, verify_integrity
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("no_index_retries")


@pytest.fixture
def items_before_growth(
    api: ApiClient, organization_with_ten_entries: CreatedOrganization, workers: Workers
) -> list[memory_aws.Item]:
    """Return the newest items of `ten` from before the log grew to thirteen entries and got an anchor."""
    items_before_growth = head_and_chain_items(organization_with_ten_entries)
    add_entries(api, workers, organization_with_ten_entries, 3)
    run_anchoring(workers)
    assert anchored_sizes(organization_with_ten_entries.id) == [13]
    return items_before_growth


@pytest.mark.usefixtures("items_before_growth")
class TestIntactLog:
    def test_is_consistent_with_its_anchor(self, api, organization_with_ten_entries, workers):
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
        add_entries(api, workers, organization_with_ten_entries, 3)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
        run_anchoring(workers)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)

    def test_may_grow_and_get_an_anchor_during_its_verification(
        self, api, organization_with_ten_entries, monkeypatch, workers
    ):
        append_before_next_anchor_read(monkeypatch, lambda: run_anchoring(workers))
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
        assert anchored_sizes(organization_with_ten_entries.id) == [14, 13]

    def test_is_valid_without_an_anchor(self, api, ada, workers):
        other = create_organization(api, ada)
        assert verification_failure(api, other) == (None, None)
        workers.deliver()
        assert verification_failure(api, other) == (None, None)

    def test_is_valid_by_an_anchor_signed_with_a_retired_key(self, api, organization_with_ten_entries, configure):
        retired_key = api.get("/status").json["auditPublicKey"]
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode(), audit_former_public_keys=retired_key)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)

    def test_is_also_compared_with_a_checkpoint_of_the_caller(self, api, organization_with_ten_entries):
        for size in (5, 13):
            checkpoint = to_base64url(sign_checkpoint(organization_with_ten_entries, size, bytes(32)).encode())
            assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == ("forked", None)
        checkpoint = to_base64url(sign_checkpoint(organization_with_ten_entries, 14, bytes(32)).encode())
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == ("truncated", 14)

    def test_is_not_reported_valid_while_its_anchor_is_unreadable(self, api, organization_with_ten_entries):
        path = f"{organization_with_ten_entries.path}/audit-log/verify-integrity"
        for name in ("s3:ListObjectsV2", "s3:GetObject"):
            with inject_fault(Fault.TIMED_OUT, call_name=name) as injected_fault:
                answer = api.get(path, caller=organization_with_ten_entries.owner)
            assert injected_fault.failed_call == name
            assert answer.status_and_code == "503 unavailable"
            assert answer.headers["Retry-After"]


class TestLogTruncatedInTheTable:
    def test_is_reported_truncated(self, api, organization_with_ten_entries, items_before_growth):
        truncate_log(organization_with_ten_entries, items_before_growth)
        assert verification_failure(api, organization_with_ten_entries) == ("truncated", 11)
        checkpoint = to_base64url(items_before_growth[0]["note"].encode())
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == ("truncated", 11), (
            "although it extends the caller's checkpoint"
        )

    def test_would_be_valid_without_its_anchor(
        self, api, organization_with_ten_entries, items_before_growth, configure
    ):
        truncate_log(organization_with_ten_entries, items_before_growth)
        configure(anchors_bucket="")
        assert verification_failure(api, organization_with_ten_entries) == (None, None)

    def test_is_reported_truncated_if_only_pending_entries_remain(
        self, api, organization_with_ten_entries, items_before_growth, ada
    ):
        truncate_log(organization_with_ten_entries, [{**items_before_growth[0], "size": 0}])
        memory_aws.delete_item(head_item(organization_with_ten_entries))
        assert (
            api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "As if it were new"}).status == 200
        )
        assert verification_failure(api, organization_with_ten_entries) == ("truncated", 1)

    @pytest.mark.parametrize(("size", "failure"), [(12, "truncated"), (13, "forked"), (14, "forked")])
    def test_remains_invalid_when_it_grows(
        self, api, organization_with_ten_entries, items_before_growth, workers, size, failure
    ):
        truncate_log(organization_with_ten_entries, items_before_growth)
        add_entries(api, workers, organization_with_ten_entries, size - 10)
        assert verify_integrity(api, organization_with_ten_entries)["failure"] == failure
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [13]
        assert verify_integrity(api, organization_with_ten_entries)["failure"] == failure

    @pytest.mark.parametrize("window", [1, 4, 12, 13, 14])
    def test_is_detected_in_the_window_that_contains_the_anchor(
        self, api, organization_with_ten_entries, items_before_growth, workers, window, monkeypatch
    ):
        truncate_log(organization_with_ten_entries, items_before_growth)
        add_entries(api, workers, organization_with_ten_entries, 5)
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", window)
        reports = [verify_integrity(api, organization_with_ten_entries)]
        while reports[-1]["nextCursor"]:
            reports.append(verify_integrity(api, organization_with_ten_entries, cursor=reports[-1]["nextCursor"]))
        assert reports[-1]["failure"] == "forked"
        assert all(report["valid"] for report in reports[:-1])
        assert len(reports) == -(-13 // window)


class TestWindows:
    @pytest.mark.usefixtures("items_before_growth")
    def test_only_the_first_one_reads_the_anchor(self, api, organization_with_ten_entries, monkeypatch):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 6)
        path, cursor = f"{organization_with_ten_entries.path}/audit-log/verify-integrity", None
        s3_calls = []
        for _ in range(3):
            answer = api.get(
                path, caller=organization_with_ten_entries.owner, query={"cursor": cursor} if cursor else {}
            )
            s3_calls.append(answer.calls.names_of_service("s3"))
            cursor = answer.json["nextCursor"]
        assert cursor is None
        assert s3_calls == [["s3:ListObjectsV2", "s3:GetObject"], [], []]

    @pytest.mark.usefixtures("items_before_growth")
    def test_a_new_anchor_is_used_by_the_next_verification(
        self, api, organization_with_ten_entries, workers, monkeypatch
    ):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 7)
        first = verify_integrity(api, organization_with_ten_entries)
        add_entries(api, workers, organization_with_ten_entries)
        run_anchoring(workers)
        assert verification_failure(api, organization_with_ten_entries, cursor=first["nextCursor"]) == (None, None)


Forge = Callable[[CreatedOrganization, CreatedOrganization], str]


@pytest.mark.usefixtures("items_before_growth")
class TestForgedAnchor:
    """An attacker with access to the bucket can only make a log look altered, never intact."""

    @pytest.mark.parametrize(
        "forge",
        [
            lambda _own, _other: "",
            lambda _own, _other: "nothing",
            lambda _own, _other: "é\x00\n\n",
            lambda own, _other: read_anchor(own.id, 13),
            lambda _own, other: read_anchor(other.id, 1),
            lambda own, _other: read_anchor(own.id, 13).replace("\n13\n", "\n14\n"),
            lambda own, _other: read_anchor(own.id, 13).rpartition("\n\n")[0],
            lambda own, _other: read_anchor(own.id, 13)[:-5],
            lambda own, _other: (
                sign_checkpoint(own, 14, bytes(32)) + "\n" + read_anchor(own.id, 13).rpartition("\n\n")[2]
            ),
        ],
        ids=[
            "empty",
            "text",
            "binary",
            "misnamed",
            "of another log",
            "renumbered",
            "unsigned",
            "truncated",
            "of another tree",
        ],
    )
    def test_is_a_bad_signature(self, api, organization_with_ten_entries, ada, workers, forge):
        other = create_organization(api, ada)
        workers.deliver()
        run_anchoring(workers)
        put_anchor(organization_with_ten_entries.id, 14, forge(organization_with_ten_entries, other).encode())
        assert verification_failure(api, organization_with_ten_entries) == ("bad_signature", None)
        assert verify_integrity(api, organization_with_ten_entries)["treeSize"] == 13

    def test_is_a_bad_signature_if_it_is_not_text(self, api, organization_with_ten_entries):
        put_anchor(organization_with_ten_entries.id, 14, b"\xff")
        assert verification_failure(api, organization_with_ten_entries) == ("bad_signature", None)

    def test_has_no_effect_before_the_newest_anchor(self, api, organization_with_ten_entries):
        put_anchor(organization_with_ten_entries.id, 12, b"nothing")
        assert verification_failure(api, organization_with_ten_entries) == (None, None)

    def test_is_a_bad_signature_if_its_key_is_not_accepted_any_more(
        self, api, organization_with_ten_entries, configure
    ):
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode())
        assert verification_failure(api, organization_with_ten_entries) == ("bad_signature", None)
