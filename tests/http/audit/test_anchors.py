import json

import pytest

from chalicelib.features.audit.log import tasks
from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.work import jobs, queues
from tests.harness import memory_aws, rfc6962
from tests.harness.anchors import (
    anchored_sizes,
    append_before_next_anchor_read,
    awaits_anchor,
    head_and_chain_items,
    read_anchor,
    run_anchoring,
    truncate_log,
)
from tests.harness.audit_logs import (
    add_entries,
    alter_item,
    entry_item,
    head_item,
    list_entries,
    verify_integrity,
)
from tests.harness.erasures import complete_erasure
from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_organization
from tests.harness.sample_entity import create_logged_parcel
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("no_index_retries")


class TestAnchorSchedule:
    def test_a_grown_log_is_anchored_once(self, api, organization_with_ten_entries, workers):
        assert awaits_anchor(organization_with_ten_entries.id)
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [10]
        assert not awaits_anchor(organization_with_ten_entries.id)
        add_entries(api, workers, organization_with_ten_entries, 3)
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [13, 10]

    def test_an_unchanged_log_is_not_read(self, organization_with_ten_entries, workers):
        run_anchoring(workers)
        workers.run_hourly_anchoring()
        assert workers.last_calls.call_names == ["dynamodb:Query"] * ledger.UNANCHORED_SHARDS
        assert queued_bodies("jobs") == []
        assert anchored_sizes(organization_with_ten_entries.id) == [10]

    def test_an_anchor_is_the_checkpoint_of_that_time(self, api, organization_with_ten_entries, workers):
        run_anchoring(workers)
        note, _, peaks = read_anchor(organization_with_ten_entries.id, 10).rpartition("\n\n")
        assert f"{note}\n" == verify_integrity(api, organization_with_ten_entries)["checkpoint"]
        leaves = [rfc6962.leaf_hash(entry_) for entry_ in reversed(list_entries(api, organization_with_ten_entries))]
        rfc6962.check_checkpoint(
            f"{note}\n", organization_with_ten_entries.id, leaves, api.get("/status").json["auditPublicKey"]
        )
        assert len(peaks.split()) == 2, "ten entries form one subtree of eight and one of two"

    @pytest.mark.usefixtures("organization_with_ten_entries")
    def test_an_anchor_is_uploaded_with_the_checksum_that_object_lock_requires(self, workers):
        run_anchoring(workers)
        put_object = next(call for call in workers.last_calls.call_list if call.name == "s3:PutObject")
        assert put_object.parameters["ChecksumAlgorithm"] == "CRC32"

    def test_each_log_has_its_own_anchors(self, api, organization_with_ten_entries, ada, workers):
        other_organizations = [create_organization(api, ada) for _ in range(9)]
        workers.deliver()
        run_anchoring(workers)
        assert [
            anchored_sizes(log)
            for log in (
                organization_with_ten_entries.id,
                *(other_organization.id for other_organization in other_organizations),
            )
        ] == [[10], *[[1]] * 9]

    def test_logs_are_queued_in_the_order_of_their_waiting_time(self, api, ada, workers, clock, monkeypatch):
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        organizations = [create_organization(api, ada) for _ in range(3)]
        workers.deliver()
        run_anchoring(workers)
        for n in (2, 0, 1, 2):
            clock.shift(minutes=1)
            add_entries(api, workers, organizations[n])
        workers.run_hourly_anchoring()
        assert [json.loads(body)["pk"] for body in queued_bodies("jobs")] == [
            f"Q#{organizations[n].id}" for n in (2, 0, 1)
        ]

    def test_logs_beyond_the_time_limit_are_queued_by_the_next_run(self, api, ada, workers, monkeypatch):
        organizations = [create_organization(api, ada) for _ in range(3)]
        workers.deliver()
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        monkeypatch.setattr(ledger, "_PAGE_SIZE", 2)
        for organization in organizations:
            alter_item(head_item(organization), index2pk="ANCHOR#0")
        with monkeypatch.context() as without_time:
            without_time.setattr(tasks, "_QUEUE_TIMEOUT_SECONDS", -1)
            run_anchoring(workers)
            assert sum(awaits_anchor(organization.id) for organization in organizations) == 1
        run_anchoring(workers)
        assert [anchored_sizes(organization.id) for organization in organizations] == [[1]] * 3

    def test_without_a_bucket_no_log_is_queued_and_the_request_log_says_so(
        self, organization_with_ten_entries, workers, configure, caplog
    ):
        queues.enqueue_message(anchor_message(organization_with_ten_entries.id))
        configure(anchors_bucket="")
        run_anchoring(workers)
        (log_line,) = [vars(record) for record in caplog.records if vars(record).get("operation") == "anchor"]
        assert (log_line["bucket"], log_line["queued"], log_line["awsCalls"]) == (None, 0, 0)
        assert awaits_anchor(organization_with_ten_entries.id)
        assert workers.last_calls.names_of_service("s3") == []


def anchor_message(log_id: str) -> queues.Message:
    """Return the queue message that anchors a log."""
    pk, sk = head_key(log_id)
    return {"task": "audit.anchor", "pk": pk, "sk": sk}


class TestAnchorLog:
    def test_repeated_messages_anchor_once(self, api, organization_with_ten_entries, workers):
        add_entries(api, workers, organization_with_ten_entries)
        for _ in range(3):
            queues.enqueue_message(anchor_message(organization_with_ten_entries.id))
        assert len(workers.deliver()) == 3
        assert anchored_sizes(organization_with_ten_entries.id) == [11]

    def test_concurrent_workers_anchor_once(self, organization_with_ten_entries, workers, monkeypatch):
        store_anchor, concurrent_calls = (
            anchors.store_anchor_if_absent,
            [lambda: tasks.anchor_log(anchor_message(organization_with_ten_entries.id))],
        )

        def store_after_the_others(log_id: str, newest: Head) -> bool:
            while concurrent_calls:
                concurrent_calls.pop()()
            return store_anchor(log_id, newest)

        monkeypatch.setattr(anchors, "store_anchor_if_absent", store_after_the_others)
        run_anchoring(workers)
        assert concurrent_calls == []
        assert anchored_sizes(organization_with_ten_entries.id) == [10]
        assert not awaits_anchor(organization_with_ten_entries.id)

    def test_a_log_that_grows_meanwhile_is_anchored_again_in_the_next_hour(
        self, organization_with_ten_entries, workers, monkeypatch
    ):
        store_anchor = anchors.store_anchor_if_absent

        def store_after_an_append(log_id: str, newest: Head) -> bool:
            create_logged_parcel("meanwhile", log_id)
            ledger.append_pending_and_return_longest_wait_ms(log_id)
            return store_anchor(log_id, newest)

        with monkeypatch.context() as with_append:
            with_append.setattr(anchors, "store_anchor_if_absent", store_after_an_append)
            run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [10]
        assert awaits_anchor(organization_with_ten_entries.id)
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [11, 10]

    def test_a_log_that_another_worker_has_just_anchored_is_not_reported_as_truncated(
        self, organization_with_ten_entries, workers, monkeypatch, caplog
    ):
        append_before_next_anchor_read(
            monkeypatch, lambda: tasks.anchor_log(anchor_message(organization_with_ten_entries.id))
        )
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [11]
        assert not [record for record in caplog.records if "refused" in vars(record)]

    def test_an_anchor_of_a_crashed_worker_is_marked_as_written(self, organization_with_ten_entries, workers):
        anchors.store_anchor_if_absent(
            organization_with_ten_entries.id, Head.from_item_or_empty(head_item(organization_with_ten_entries))
        )
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [10]
        assert not awaits_anchor(organization_with_ten_entries.id)

    def test_a_log_with_an_erased_entry_is_anchored(self, api, organization_with_ten_entries, workers, mary, clock):
        run_anchoring(workers)
        add_entries(api, workers, organization_with_ten_entries)
        create_invitation(api, organization_with_ten_entries, mary)
        complete_erasure(api, workers, clock, organization_with_ten_entries, email=mary.email)
        erased_types = [
            entry_["type"] for entry_ in list_entries(api, organization_with_ten_entries) if entry_.get("erased")
        ]
        assert erased_types == ["organization.invitation.created"]
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [13, 10]

    def test_an_unknown_log_writes_nothing(self, workers):
        queues.enqueue("audit.anchor", head_key("01939d3c-0000-7000-8000-0000000000ff"))
        workers.deliver()
        assert memory_aws.all_items() == []


class TestLogsLongerThanASlice:
    @pytest.fixture(autouse=True)
    def _minimal_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks, "WINDOW_ENTRIES", 4)
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)

    def test_a_long_log_is_checked_in_slices(self, organization_with_ten_entries, workers):
        queues.enqueue_message(anchor_message(organization_with_ten_entries.id))
        assert len(workers.deliver()) == 3
        assert anchored_sizes(organization_with_ten_entries.id) == [10]
        assert not awaits_anchor(organization_with_ten_entries.id)

    @pytest.mark.usefixtures("organization_with_ten_entries")
    def test_each_slice_continues_where_the_previous_one_ended(self, workers):
        workers.run_hourly_anchoring()
        first, second, third = workers.deliver()
        assert "reached" not in json.loads(first)
        assert json.loads(second)["reached"] != json.loads(third)["reached"]

    def test_a_forged_progress_is_ignored(self, organization_with_ten_entries, workers):
        queues.enqueue_message({**anchor_message(organization_with_ten_entries.id), "reached": "made up"})
        assert len(workers.deliver()) == 3
        assert anchored_sizes(organization_with_ten_entries.id) == [10]

    def test_progress_is_valid_only_for_the_anchor_that_it_started_from(
        self, api, organization_with_ten_entries, workers, monkeypatch
    ):
        run_anchoring(workers)
        earlier = head_and_chain_items(organization_with_ten_entries)
        add_entries(api, workers, organization_with_ten_entries, 8)
        forwarded: list[queues.Message] = []
        with monkeypatch.context() as without_queue:
            without_queue.setattr(queues, "enqueue_message", forwarded.append)
            tasks.anchor_log(anchor_message(organization_with_ten_entries.id))
        fork = [
            *(entry_item(organization_with_ten_entries, sequence) for sequence in range(11, 19)),
            head_item(organization_with_ten_entries),
        ]
        truncate_log(organization_with_ten_entries, earlier)
        add_entries(api, workers, organization_with_ten_entries, 2)
        run_anchoring(workers)
        assert anchored_sizes(organization_with_ten_entries.id) == [12, 10]
        truncate_log(organization_with_ten_entries, earlier)
        for item in fork:
            memory_aws.put_item(item)
        (message,) = forwarded
        queues.enqueue_message(message)
        workers.deliver()
        assert anchored_sizes(organization_with_ten_entries.id) == [12, 10]
