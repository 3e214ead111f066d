"""Test replays: which deliveries are requeued, in which order, and how a replay survives interruptions."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.replays import tasks
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks import tasks as webhook_tasks
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.work import jobs, queues
from tests.harness import memory_aws
from tests.harness.faults import Fault, inject_fault
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    WebhookClient,
    get_finished_replay,
    received_names,
    request_replay,
    start_replay,
    store_delivery,
)

URL = "https://hooks.example.com/atrium"


def store_deliveries(
    webhook: CreatedWebhook, statuses: Iterable[DeliveryStatus], first_at: str | None = None
) -> list[str]:
    """Store deliveries to a webhook, one millisecond apart, by default from a second ago; return their ids."""
    start = first_at or after(now(), seconds=-1)
    return [store_delivery(webhook, after(start, seconds=n / 1000), status) for n, status in enumerate(statuses)]


def list_pending_ids(webhook: WebhookClient) -> list[str]:
    """Return the ids of the pending deliveries, the oldest first."""
    return [delivery["id"] for delivery in webhook.list_deliveries(status="pending")]


def run_without_sending(workers):
    """Run the replay itself as far as it can go, without sending its deliveries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "enqueue_deliveries", lambda _messages: None)
        patch.setattr(queues, "enqueue_delivery_to_slow_recipient", lambda _message: None)
        workers.try_deliver()


@pytest.fixture
def idle_webhook(new_webhook, workers):
    """A webhook that subscribes to none of the events that occur here."""
    webhook = new_webhook(URL, events=["organization.purged"])
    workers.deliver()
    return webhook


class TestSelection:
    @pytest.mark.parametrize(
        ("status", "expected_indexes"),
        [(None, [1, 2, 3]), ("failed", [1, 3]), ("skipped", [2]), ("succeeded", [0]), ("pending", [])],
    )
    def test_replays_failed_and_skipped_deliveries_or_those_of_a_status(
        self, api, idle_webhook, workers, status, expected_indexes
    ):
        delivery_ids = store_deliveries(idle_webhook, ("succeeded", "failed", "skipped", "failed"))
        replay = start_replay(api, idle_webhook, status=status)
        assert (replay["requeued"], replay["deliveryStatus"]) == (len(expected_indexes), status)
        run_without_sending(workers)
        assert list_pending_ids(idle_webhook) == [delivery_ids[n] for n in expected_indexes]
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == len(expected_indexes)

    def test_of_pending_deliveries_includes_that_of_its_own_event(self, api, new_webhook, workers):
        webhook = new_webhook(URL, events=["organization.webhook.*"])
        workers.deliver()
        replay = start_replay(api, webhook, status="pending")
        run_without_sending(workers)
        assert (replay["requeued"], get_finished_replay(api, webhook, replay)["requeued"]) == (1, 2)

    def test_includes_both_ends_of_the_time_range(self, api, idle_webhook, workers, clock):
        delivery_ids, timestamps = [], []
        clock.freeze()
        for _ in range(5):
            clock.shift(minutes=1)
            timestamps.append(now())
            delivery_ids += store_deliveries(idle_webhook, ["failed"], timestamps[-1])
        clock.shift(minutes=1)
        assert start_replay(api, idle_webhook, **{"from": timestamps[1], "to": timestamps[3]})["requeued"] == 3
        run_without_sending(workers)
        assert list_pending_ids(idle_webhook) == delivery_ids[1:4]

    def test_excludes_pending_and_later_deliveries_and_those_of_other_webhooks(
        self, api, new_webhook, idle_webhook, workers, clock
    ):
        other = new_webhook(URL, events=["organization.purged"])
        clock.freeze()
        store_deliveries(idle_webhook, ["pending", "succeeded"])
        store_deliveries(other, ["failed"])
        replay = start_replay(api, idle_webhook)
        clock.shift(seconds=1)
        store_deliveries(idle_webhook, ["failed"], now())
        run_without_sending(workers)
        assert (replay["requeued"], get_finished_replay(api, idle_webhook, replay)["requeued"]) == (0, 0)
        assert other.delivery_statuses() == ["failed"]

    def test_excludes_deliveries_past_their_retention(self, api, idle_webhook, workers, clock):
        store_deliveries(idle_webhook, ["failed"])
        clock.shift(days=RETENTION_DAYS, seconds=1)
        replay = start_replay(api, idle_webhook)
        run_without_sending(workers)
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == 0


class TestReplayRequest:
    def test_an_invalid_body_and_an_inactive_webhook_are_rejected(self, api, idle_webhook):
        for body, expected_errors in (
            ({"from": None}, {"/from": "required"}),
            ({"from": "yesterday"}, {"/from": "malformed"}),
            ({"to": "2019-12-31T23:59:59Z"}, {"/from": "out_of_range"}),
            ({"status": "queued"}, {"/status": "not_one_of"}),
            ({"status": "failed,skipped"}, {"/status": "not_one_of"}),
        ):
            assert request_replay(api, idle_webhook, **body).errors == expected_errors
        idle_webhook.update(enabled=False)
        request_replay(api, idle_webhook).expect_problem("409 invalid_transition", '{"enabled": true}')

    def test_the_replay_expires_with_the_deliveries_and_belongs_to_its_webhook(self, api, new_webhook, idle_webhook):
        replay = start_replay(api, idle_webhook, status="failed")
        (item,) = [item for item in memory_aws.all_items() if item.get("id") == replay["id"]]
        assert item["ttl"] == timestamp_ms(after(replay["createdAt"], days=RETENTION_DAYS)) // 1000
        assert new_webhook(URL).get(f"/replays/{replay['id']}").status_and_code == "404 not_found"

    def test_is_rejected_while_too_many_replays_run(self, api, new_webhook, idle_webhook, workers, monkeypatch):
        assert Replay.quota.limit == 10
        monkeypatch.setattr(Replay, "quota", replace(Replay.quota, limit=2))
        for webhook in (idle_webhook, new_webhook(URL)):
            start_replay(api, webhook)
        assert request_replay(api, idle_webhook).status_and_code == "409 limit_exceeded"
        workers.deliver()
        assert request_replay(api, idle_webhook).status == 202


class TestInterruptions:
    @pytest.fixture(autouse=True)
    def small_batches(self, monkeypatch):
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 2)
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 3)

    def test_a_long_replay_continues_in_slices(self, api, idle_webhook, workers, monkeypatch):
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        delivery_ids = store_deliveries(idle_webhook, ["failed", "succeeded"] * 8)
        replay = start_replay(api, idle_webhook)
        for _ in range(8):
            run_without_sending(workers)
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("completed", 8)
        assert list_pending_ids(idle_webhook) == delivery_ids[::2]

    def test_an_interrupted_replay_requeues_no_delivery_twice(self, api, idle_webhook, workers, clock):
        delivery_ids = store_deliveries(idle_webhook, ["failed"] * 7)
        replay = start_replay(api, idle_webhook)
        fault = inject_fault(Fault.TIMED_OUT, call_name="dynamodb:TransactWriteItems", first_call=6, times=None)
        with fault as injected_fault:
            run_without_sending(workers)
        assert injected_fault.failed_call
        assert 0 < len(list_pending_ids(idle_webhook)) < 7
        clock.shift(minutes=4)
        workers.run_sweep()
        run_without_sending(workers)
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("completed", 7)
        assert list_pending_ids(idle_webhook) == delivery_ids
        assert {delivery["version"] for delivery in idle_webhook.list_deliveries()} == {2}

    def test_deliveries_that_change_during_the_replay_are_not_requeued(self, api, idle_webhook, workers, monkeypatch):
        store_deliveries(idle_webhook, ["failed"] * 4)
        replay, requeue = start_replay(api, idle_webhook), tasks._requeue_batch_and_save_position  # noqa: SLF001

        def retry_first_then_requeue(*args: Any) -> Replay:
            monkeypatch.setattr(tasks, "_requeue_batch_and_save_position", requeue)
            assert idle_webhook.retry(idle_webhook.list_deliveries()[0]).status == 202
            return requeue(*args)

        monkeypatch.setattr(tasks, "_requeue_batch_and_save_position", retry_first_then_requeue)
        run_without_sending(workers)
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == 3
        assert {delivery["version"] for delivery in idle_webhook.list_deliveries()[1:]} == {2}

    @pytest.mark.parametrize(
        ("end", "reason"),
        [
            (lambda webhook: webhook.update(enabled=False), "The webhook is paused: nothing is sent to it any more."),
            (lambda webhook: webhook.delete(), "The webhook was deleted."),
        ],
        ids=["disabled", "deleted"],
    )
    def test_fails_when_the_webhook_is_disabled_or_deleted(self, api, idle_webhook, workers, end, reason):
        store_deliveries(idle_webhook, ["failed"] * 3)
        replay = start_replay(api, idle_webhook)
        end(idle_webhook)
        workers.deliver()
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["error"], record["requeued"]) == ("failed", reason, 0)

    def test_a_replay_that_keeps_failing_is_abandoned(self, api, idle_webhook, workers, clock, monkeypatch):
        store_deliveries(idle_webhook, ["failed"])
        replay = start_replay(api, idle_webhook)
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "_process_next_page", lambda *_: 1 / 0)
            for _ in range(jobs.MAX_FAILURES):
                workers.try_deliver()
                clock.shift(minutes=4)
                workers.run_sweep()
        workers.try_deliver()
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("failed", 0)
        assert "start it again" in record["error"]


class TestMissedEvents:
    def test_are_sent_in_order_and_the_replay_counts_them(self, api, webhook, emit, workers, receiver, monkeypatch):
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 4)
        missed_names = [f"Missed {n}" for n in range(10)]
        emit("Heard")
        webhook.update(enabled=False)
        emit(*missed_names)
        webhook.update(enabled=True)
        replay = start_replay(api, webhook)
        assert (replay["status"], replay["requeued"], replay["to"]) == ("queued", 10, replay["createdAt"])
        workers.deliver()
        record = get_finished_replay(api, webhook, replay)
        assert record | {"status": "completed", "requeued": 10, "error": None} == record
        assert received_names(receiver) == ["Heard", *missed_names]
        assert set(webhook.delivery_statuses()) == {"succeeded"}

    def test_are_retried_when_they_fail_again(self, api, webhook, emit, workers, receiver, run_tasks_after):
        webhook.update(enabled=False)
        emit("Missed")
        webhook.update(enabled=True)
        receiver.default_reply = Reply(status=500)
        start_replay(api, webhook)
        workers.deliver()
        assert webhook.delivery_statuses() == ["pending"]
        receiver.default_reply = Reply()
        run_tasks_after(seconds=10)
        assert webhook.delivery_statuses() == ["succeeded"]


class TestOutage:
    """After an outage, one replay of the pending deliveries sends all of them at once, in order."""

    NAMES: Final = [f"Name {n}" for n in range(7)]

    @pytest.fixture(params=["500", "no response"])
    def recovered_webhook(self, webhook, emit, emit_each, silence, receiver, run_tasks_after, request, monkeypatch):
        """A webhook that has missed events for a while, and would accept them now."""
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 2)
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 3)
        if request.param == "500":
            receiver.default_reply = Reply(status=500)
            emit(*self.NAMES[:4])
            run_tasks_after(minutes=10)
            emit(*self.NAMES[4:])
            receiver.default_reply = Reply()
        else:
            with silence():
                emit_each(*self.NAMES)
                run_tasks_after(minutes=10)
        receiver.requests.clear()
        return webhook

    def test_each_event_is_sent_once_and_in_order(
        self, api, recovered_webhook, rename, workers, receiver, run_tasks_after
    ):
        replay = start_replay(api, recovered_webhook, status="pending")
        rename("Afterwards")
        workers.deliver()
        run_tasks_after(minutes=45)
        assert received_names(receiver) == [*self.NAMES, "Afterwards"]
        assert set(recovered_webhook.delivery_statuses()) == {"succeeded"}
        assert (replay["requeued"], get_finished_replay(api, recovered_webhook, replay)["requeued"]) == (7, 7)

    @pytest.mark.parametrize("is_stale", [True, False])
    def test_the_end_of_an_earlier_backlog_does_not_change_the_order(
        self, api, recovered_webhook, organization, workers, receiver, monkeypatch, is_stale
    ):
        def update_webhook(**attributes: Any) -> Webhook:
            key = Webhook.make_item_key(organization_id=organization.id, id=recovered_webhook.id)
            item = {**(memory_aws.get_item(*key) or {}), **attributes}
            memory_aws.put_item(item)
            return Webhook.from_item(item)

        def end_backlog_after_page(*args: Any) -> Replay:
            replay = process_page(*args)
            if replay.lease_until:
                webhook_tasks._clear_probe_and_set_drained_if_responsive(stale if is_stale else update_webhook())  # noqa: SLF001
            return replay

        stale = update_webhook(answers=True, caught_up=False, parked_until=after(now(), seconds=60))
        start_replay(api, recovered_webhook, status="pending")
        process_page = tasks._process_next_page  # noqa: SLF001
        monkeypatch.setattr(tasks, "_process_next_page", end_backlog_after_page)
        workers.deliver()
        assert received_names(receiver) == self.NAMES

    def test_an_interrupted_replay_sends_each_event_in_order(
        self, api, recovered_webhook, workers, receiver, run_tasks_after
    ):
        start_replay(api, recovered_webhook, status="pending")
        with inject_fault(Fault.TIMED_OUT, call_name="dynamodb:TransactWriteItems", first_call=6, times=None):
            workers.try_deliver()
        run_tasks_after(minutes=10)
        assert list(dict.fromkeys(received_names(receiver))) == self.NAMES
        assert set(recovered_webhook.delivery_statuses()) == {"succeeded"}

    def test_a_webhook_that_still_fails_is_retried_from_the_start(self, api, webhook, emit, workers, receiver):
        receiver.default_reply = Reply(status=500)
        emit("After")
        before = webhook.get_delivery()
        start_replay(api, webhook, status="pending")
        workers.deliver()
        after_replay = webhook.get_delivery()
        assert (after_replay["status"], len(after_replay["attempts"])) == ("pending", len(before["attempts"]) + 1)


def test_the_replays_of_a_webhook_are_listed_newest_first(api, new_webhook, idle_webhook, clock, workers):
    other, replays = new_webhook(URL), []
    for status in (None, "failed", "pending"):
        clock.shift(seconds=1)
        replays.append(start_replay(api, idle_webhook, status=status))
    other_replay = start_replay(api, other)
    workers.deliver()
    listed = idle_webhook.get_items("/replays", query={"limit": 2})
    assert listed == [get_finished_replay(api, idle_webhook, replay) for replay in replays[::-1]]
    assert [each["id"] for each in other.get_items("/replays")] == [other_replay["id"]]
