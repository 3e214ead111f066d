"""Test replays: which deliveries are requeued, in which order, and how a replay survives interruptions."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.replays import tasks
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.webhooks import (
    LONG_AGO,
    CreatedWebhook,
    create_webhook,
    get_finished_replay,
    list_deliveries,
    request_replay,
    start_replay,
    update_webhook,
)
from tests.harness.workers import Workers, queued_bodies

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"
REPLAYED = "organization.webhook.replayed"


def store_deliveries(
    webhook: CreatedWebhook, statuses: Iterable[DeliveryStatus], first_at: str | None = None
) -> list[str]:
    """Store deliveries to a webhook, one millisecond apart, by default from a second ago; return their ids."""
    ids: list[str] = []
    for status in statuses:
        occurred_at = after(first_at or after(now(), seconds=-1), seconds=len(ids) / 1000)
        delivery = WebhookDelivery.create_pending_or_skipped(
            webhook.id,
            event_id=new_id(occurred_at),
            event_type=UPDATED,
            organization_id=webhook.organization.id,
            sequence=len(ids) + 1,
            occurred_at=occurred_at,
            now=occurred_at,
            attempt_at=None,
        )
        memory_aws.put_item(delivery.replace(status=status).item())
        ids.append(delivery.id)
    return ids


def list_pending_ids(api: ApiClient, webhook: CreatedWebhook) -> list[str]:
    """Return the ids of the pending deliveries, the oldest first."""
    return [delivery["id"] for delivery in list_deliveries(api, webhook, status="pending")]


def run_replay_without_sending(workers: Workers) -> None:
    """Run the replay itself as far as it can go, without sending its deliveries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chalicelib.kernel.work.queues.enqueue_deliveries", lambda _messages: None)
        workers.try_deliver()


@pytest.fixture
def idle_webhook(api: ApiClient, organization: CreatedOrganization, workers: Workers) -> CreatedWebhook:
    """Return a webhook that subscribes to none of the events that occur here."""
    webhook = create_webhook(api, organization, URL, events=["organization.purged"])
    workers.deliver()
    return webhook


class TestSelection:
    STATUSES: tuple[DeliveryStatus, ...] = ("succeeded", "failed", "skipped", "failed")

    def test_defaults_to_failed_and_skipped_deliveries(self, api, idle_webhook, workers):
        delivery_ids = store_deliveries(idle_webhook, self.STATUSES)
        assert start_replay(api, idle_webhook)["requeued"] == 3
        run_replay_without_sending(workers)
        assert list_pending_ids(api, idle_webhook) == delivery_ids[1:]

    @pytest.mark.parametrize(("status", "expected_indexes"), [("failed", [1, 3]), ("skipped", [2]), ("succeeded", [0])])
    def test_filters_by_status(self, api, idle_webhook, workers, status, expected_indexes):
        delivery_ids = store_deliveries(idle_webhook, self.STATUSES)
        replay = start_replay(api, idle_webhook, status=status)
        assert (replay["requeued"], replay["deliveryStatus"]) == (len(expected_indexes), status)
        run_replay_without_sending(workers)
        assert list_pending_ids(api, idle_webhook) == [delivery_ids[n] for n in expected_indexes]
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == len(expected_indexes)

    def test_includes_both_ends_of_the_time_range(self, api, idle_webhook, workers, clock):
        delivery_ids, timestamps = [], []
        clock.freeze()
        for _ in range(5):
            clock.shift(minutes=1)
            timestamps.append(now())
            delivery_ids += store_deliveries(idle_webhook, ["failed"], timestamps[-1])
        clock.shift(minutes=1)
        assert start_replay(api, idle_webhook, **{"from": timestamps[1], "to": timestamps[3]})["requeued"] == 3
        run_replay_without_sending(workers)
        assert list_pending_ids(api, idle_webhook) == delivery_ids[1:4]

    def test_excludes_pending_and_later_deliveries(self, api, idle_webhook, workers, clock):
        clock.freeze()
        store_deliveries(idle_webhook, ["pending", "succeeded"])
        replay = start_replay(api, idle_webhook)
        clock.shift(seconds=1)
        store_deliveries(idle_webhook, ["failed"], now())
        run_replay_without_sending(workers)
        assert (replay["requeued"], get_finished_replay(api, idle_webhook, replay)["requeued"]) == (0, 0)

    def test_excludes_deliveries_past_their_retention(self, api, idle_webhook, workers, clock):
        store_deliveries(idle_webhook, ["failed"])
        clock.shift(days=RETENTION_DAYS, seconds=1)
        replay = start_replay(api, idle_webhook)
        run_replay_without_sending(workers)
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == 0

    def test_excludes_deliveries_of_other_webhooks(self, api, organization, idle_webhook, workers):
        other = create_webhook(api, organization, URL, events=["organization.purged"])
        store_deliveries(other, ["failed"])
        assert start_replay(api, idle_webhook)["requeued"] == 0
        run_replay_without_sending(workers)
        assert [delivery["status"] for delivery in list_deliveries(api, other)] == ["failed"]


class TestReplayRequest:
    @pytest.mark.parametrize(
        ("body", "expected_errors"),
        [
            ({"from": None}, {"/from": "required"}),
            ({"from": "yesterday"}, {"/from": "malformed"}),
            ({"to": "2019-12-31T23:59:59Z"}, {"/from": "out_of_range"}),
            ({"until": LONG_AGO}, {"/until": "unknown_field"}),
            ({"status": "pending"}, {"/status": "not_one_of"}),
            ({"status": "failed,skipped"}, {"/status": "not_one_of"}),
        ],
    )
    def test_an_invalid_body_is_rejected(self, api, idle_webhook, body, expected_errors):
        answer = request_replay(api, idle_webhook, **body)
        assert answer.status_and_code == "422 validation_failed"
        assert answer.errors == expected_errors

    def test_for_an_inactive_webhook_is_rejected_with_the_remedy(self, api, idle_webhook):
        update_webhook(api, idle_webhook, enabled=False)
        answer = request_replay(api, idle_webhook)
        assert answer.status_and_code == "409 invalid_transition"
        assert '{"enabled": true}' in answer.json["detail"]

    def test_writes_an_entry_about_the_replay(self, api, organization, idle_webhook):
        replay = start_replay(api, idle_webhook, status="failed")
        (entry,) = list_entries(api, organization, type=REPLAYED)
        assert entry["target"] == {"type": "organization.webhook.replay", "id": replay["id"], "name": replay["id"]}
        assert (entry["data"], entry["changes"]) == (replay, [])

    def test_does_not_find_a_replay_of_another_webhook(self, api, organization, idle_webhook, ada):
        replay = start_replay(api, idle_webhook)
        for other in (create_webhook(api, organization, URL), create_webhook(api, create_organization(api, ada), URL)):
            assert api.get(f"{other.path}/replays/{replay['id']}", caller=ada).status_and_code == "404 not_found"

    def test_is_rejected_while_too_many_replays_run(self, api, organization, idle_webhook, workers, monkeypatch):
        assert Replay.quota.limit == 10
        monkeypatch.setattr(Replay, "quota", replace(Replay.quota, limit=2))
        other = create_webhook(api, organization, URL)
        for webhook in (idle_webhook, other):
            start_replay(api, webhook)
        assert request_replay(api, idle_webhook).status_and_code == "409 limit_exceeded"
        workers.deliver()
        assert request_replay(api, idle_webhook).status == 202


class TestInterruptions:
    @pytest.fixture(autouse=True)
    def _small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 2)
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 3)

    def test_a_long_replay_continues_in_slices(self, api, idle_webhook, workers, monkeypatch):
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        delivery_ids = store_deliveries(idle_webhook, ["failed", "succeeded"] * 8)
        replay = start_replay(api, idle_webhook)
        for _ in range(8):
            run_replay_without_sending(workers)
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("completed", 8)
        assert list_pending_ids(api, idle_webhook) == delivery_ids[::2]

    def test_an_interrupted_replay_requeues_no_delivery_twice(self, api, idle_webhook, workers, clock):
        delivery_ids = store_deliveries(idle_webhook, ["failed"] * 7)
        replay = start_replay(api, idle_webhook)
        with inject_fault(
            Fault.TIMED_OUT, call_name="dynamodb:TransactWriteItems", first_call=6, times=None
        ) as injected_fault:
            run_replay_without_sending(workers)
        assert injected_fault.failed_call
        assert 0 < len(list_pending_ids(api, idle_webhook)) < 7
        clock.shift(minutes=4)
        workers.run_sweep()
        run_replay_without_sending(workers)
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("completed", 7)
        assert list_pending_ids(api, idle_webhook) == delivery_ids
        assert {delivery["version"] for delivery in list_deliveries(api, idle_webhook)} == {2}

    def test_deliveries_that_change_during_the_replay_are_not_requeued(self, api, idle_webhook, workers, monkeypatch):
        delivery_ids = store_deliveries(idle_webhook, ["failed"] * 4)
        replay, requeue = start_replay(api, idle_webhook), tasks._requeue_batch_and_save_position  # noqa: SLF001

        def retry_first_then_requeue(replay: Replay, batch: Any, position: Any) -> Replay:
            monkeypatch.setattr(tasks, "_requeue_batch_and_save_position", requeue)
            path = f"{idle_webhook.path}/deliveries/{delivery_ids[0]}/retry"
            assert api.post(path, caller=idle_webhook.organization.owner).status == 202
            return requeue(replay, batch, position)

        monkeypatch.setattr(tasks, "_requeue_batch_and_save_position", retry_first_then_requeue)
        run_replay_without_sending(workers)
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == 3
        assert {
            delivery["version"] for delivery in list_deliveries(api, idle_webhook) if delivery["id"] != delivery_ids[0]
        } == {2}

    def test_the_sweep_redrives_deliveries_whose_messages_were_lost(self, api, idle_webhook, workers, clock):
        store_deliveries(idle_webhook, ["failed"] * 3)
        replay = start_replay(api, idle_webhook)
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert get_finished_replay(api, idle_webhook, replay)["requeued"] == 3
        assert queued_bodies("deliveries.fifo") == []
        clock.shift(minutes=6)
        workers.run_until_idle()
        assert list_pending_ids(api, idle_webhook) == []

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"enabled": False}, "The webhook is paused: nothing is sent to it any more."),
            (None, "The webhook was deleted."),
        ],
    )
    def test_fails_when_the_webhook_is_disabled_or_deleted(self, api, idle_webhook, workers, changes, reason):
        store_deliveries(idle_webhook, ["failed"] * 3)
        replay = start_replay(api, idle_webhook)
        if changes:
            update_webhook(api, idle_webhook, **changes)
        else:
            assert api.delete(idle_webhook.path, caller=idle_webhook.organization.owner).status == 204
        workers.deliver()
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["error"], record["requeued"]) == ("failed", reason, 0)

    def test_a_replay_that_keeps_failing_is_abandoned(self, api, idle_webhook, workers, clock, monkeypatch):
        store_deliveries(idle_webhook, ["failed"])
        replay = start_replay(api, idle_webhook)
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "_process_next_page", _fail)
            for _ in range(jobs.MAX_FAILURES):
                workers.try_deliver()
                clock.shift(minutes=4)
                workers.run_sweep()
        workers.try_deliver()
        record = get_finished_replay(api, idle_webhook, replay)
        assert (record["status"], record["requeued"]) == ("failed", 0)
        assert "start it again" in record["error"]

    def test_expires_with_the_deliveries(self, api, idle_webhook, workers):
        replay = start_replay(api, idle_webhook)
        workers.deliver()
        (item,) = [item for item in memory_aws.all_items() if item.get("id") == replay["id"]]
        assert item["ttl"] == _seconds(after(replay["createdAt"], days=RETENTION_DAYS))


def _fail(_replay: Replay) -> Replay:
    raise ZeroDivisionError


def _seconds(timestamp: str) -> int:
    return timestamp_ms(timestamp) // 1000
