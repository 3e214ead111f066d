import pytest

from tests.harness import memory_aws
from tests.harness.anchors import (
    anchored_sizes,
    awaits_anchor,
    head_and_chain_items,
    put_anchor,
    run_anchoring,
    truncate_log,
)
from tests.harness.audit_logs import (
    add_entries,
    alter_item,
    entry_item,
    hash_leaf,
    head_item,
    sign_checkpoint,
)
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("no_index_retries")


class TestRejectedLogs:
    """A log is anchored only if its head is consistent with its last anchor."""

    def assert_rejected(
        self, organization: CreatedOrganization, workers: Workers, caplog: pytest.LogCaptureFixture, *reason: object
    ) -> None:
        """Assert that each run rejects the log and writes nothing."""
        before = anchored_sizes(organization.id)
        for _ in range(2):
            caplog.clear()
            run_anchoring(workers)
            log_lines = [vars(record) for record in caplog.records if "refused" in vars(record)]
            rejections = [(log_line["tenant"], log_line["refused"], log_line["sequence"]) for log_line in log_lines]
            assert rejections == [(organization.id, *reason)]
            assert anchored_sizes(organization.id) == before
            assert awaits_anchor(organization.id)

    def test_a_truncated_log_is_rejected(self, api, organization_with_ten_entries, workers, caplog):
        earlier = head_and_chain_items(organization_with_ten_entries)
        add_entries(api, workers, organization_with_ten_entries, 3)
        run_anchoring(workers)
        truncate_log(organization_with_ten_entries, earlier)
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "truncated", 11)

    @pytest.mark.parametrize("entries", [3, 4])
    def test_a_log_that_was_truncated_and_grew_again_is_rejected(
        self, api, organization_with_ten_entries, workers, caplog, entries
    ):
        earlier = head_and_chain_items(organization_with_ten_entries)
        add_entries(api, workers, organization_with_ten_entries, 3)
        run_anchoring(workers)
        truncate_log(organization_with_ten_entries, earlier)
        add_entries(api, workers, organization_with_ten_entries, entries)
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "forked", None)

    @pytest.mark.parametrize("sequence", [11, 12])
    def test_a_log_with_an_altered_entry_is_rejected(
        self, api, organization_with_ten_entries, workers, caplog, sequence
    ):
        run_anchoring(workers)
        add_entries(api, workers, organization_with_ten_entries, 2)
        item = entry_item(organization_with_ten_entries, sequence)
        body = item["body"].replace(b"Ada", b"Eve")
        alter_item(item, body=body, leaf=hash_leaf(body))
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "modified", sequence)

    def test_a_log_without_one_of_its_entries_is_rejected(self, organization_with_ten_entries, workers, caplog):
        memory_aws.delete_item(entry_item(organization_with_ten_entries, 4))
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "missing", 4)

    @pytest.mark.parametrize(
        ("altered", "reason"),
        [({"note": "nothing"}, "bad_signature"), ({"peaks": bytes(64)}, "forked"), ({"peaks": b""}, "bad_signature")],
    )
    def test_a_log_with_an_altered_head_is_rejected(
        self, organization_with_ten_entries, workers, caplog, altered, reason
    ):
        alter_item(head_item(organization_with_ten_entries), **altered)
        self.assert_rejected(organization_with_ten_entries, workers, caplog, reason, None)

    def test_a_log_with_a_forged_anchor_is_rejected(self, organization_with_ten_entries, workers, caplog):
        put_anchor(organization_with_ten_entries.id, 5, b"nothing")
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "bad_signature", None)

    def test_rejected_logs_are_counted(self, organization_with_ten_entries, workers):
        alter_item(
            head_item(organization_with_ten_entries), note=sign_checkpoint(organization_with_ten_entries, 10, bytes(32))
        )
        with capture_log_records() as lines:
            run_anchoring(workers)
        assert [embedded_metrics(line, "stage") for line in lines if "AnchorsRefused" in line] == [
            {"AnchorsRefused": 1}
        ]

    def test_a_repaired_log_is_anchored(self, organization_with_ten_entries, workers, caplog):
        item = entry_item(organization_with_ten_entries, 4)
        memory_aws.delete_item(item)
        self.assert_rejected(organization_with_ten_entries, workers, caplog, "missing", 4)
        memory_aws.put_item(item)
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [10]

    def test_other_logs_are_still_anchored(self, api, organization_with_ten_entries, ada, workers):
        other_organization = create_organization(api, ada)
        workers.deliver()
        memory_aws.delete_item(entry_item(organization_with_ten_entries, 4))
        run_anchoring(workers)
        assert (anchored_sizes(organization_with_ten_entries.id), anchored_sizes(other_organization.id)) == ([], [1])
