"""Test retries of deliveries to a webhook that a caller requests."""

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.receiver import Reply
from tests.harness.webhooks import UPDATED, received_names


@pytest.fixture
def delivery(webhook, emit):
    """A delivery that succeeded."""
    emit("After")
    return webhook.get_delivery()


def test_a_delivery_is_sent_again_at_once(api, organization, webhook, delivery, workers, receiver, grace):
    answer = webhook.retry(delivery, caller=grace)
    assert (answer.status, answer.location) == (202, f"{webhook.path}/deliveries/{delivery['id']}")
    requeued = answer.json
    assert (requeued["status"], requeued["completedAt"], requeued["version"] - delivery["version"]) == (
        "pending",
        None,
        1,
    )
    assert requeued["nextAttemptAt"] <= now()
    assert webhook.get_delivery() == requeued
    (entry,) = list_entries(api, organization, type="organization.webhook.delivery_retried")
    assert entry["target"] == {"type": "organization.webhook.delivery", "id": delivery["id"], "name": UPDATED}
    assert entry["actor"]["id"] == grace.id
    assert {"field": "status", "from": "succeeded", "to": "pending"} in entry["changes"]
    workers.deliver()
    completed = webhook.get_delivery()
    assert completed["status"] == "succeeded"
    assert [attempt["number"] for attempt in completed["attempts"]] == [1, 2]
    first, second = receiver.requests
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])


def test_a_failed_delivery_gets_all_attempts_again(webhook, emit, workers, receiver, clock):
    def outcome_after(minutes: float) -> tuple[str, int]:
        clock.shift(minutes=minutes)
        workers.run_until_idle()
        delivery = webhook.get_delivery()
        return delivery["status"], len(delivery["attempts"])

    receiver.default_reply = Reply(status=500)
    emit("After")
    for seconds in RETRY_SECONDS:
        outcome = outcome_after((seconds * 1.2 + 301) / 60)
    assert outcome == ("failed", 10)
    assert webhook.retry(webhook.get_delivery()).status == 202
    workers.deliver()
    assert outcome_after(6) == ("pending", 12)
    receiver.default_reply = Reply()
    assert outcome_after(12) == ("succeeded", 13)


def test_a_pending_delivery_is_sent_earlier(webhook, emit, workers, receiver, clock):
    receiver.default_reply = Reply(status=500)
    emit("After")
    clock.shift(seconds=7)
    workers.run_until_idle()
    pending = webhook.get_delivery()
    assert pending["nextAttemptAt"] > after(now(), seconds=200)
    receiver.default_reply = Reply()
    assert webhook.retry(pending).status == 202
    workers.deliver()
    assert webhook.get_delivery()["status"] == "succeeded"


def test_a_skipped_delivery_is_sent(webhook, emit, workers, receiver):
    webhook.update(enabled=False)
    emit("Unheard")
    webhook.update(enabled=True)
    assert webhook.retry(webhook.get_delivery()).status == 202
    workers.deliver()
    assert received_names(receiver) == ["Unheard"]


def test_a_retry_for_an_inactive_webhook_is_rejected_with_the_remedy(webhook, emit, receiver):
    receiver.default_reply = Reply(status=410)
    emit("Gone")
    answers = {"disabled": webhook.retry(webhook.get_delivery())}
    webhook.update(enabled=True)
    webhook.update(enabled=False)
    answers["paused"] = webhook.retry(webhook.get_delivery())
    for status, answer in answers.items():
        assert answer.status_and_code == "409 invalid_transition"
        assert f"is {status}" in answer.json["detail"]
        assert '{"enabled": true}' in answer.json["detail"]


def test_the_sweep_redrives_a_delivery_whose_message_was_lost(webhook, delivery, workers, receiver, clock):
    assert webhook.retry(delivery).status == 202
    memory_aws.discard_queued_messages()
    clock.shift(minutes=6)
    workers.run_until_idle()
    assert len(receiver.requests) == 2


def test_an_expired_delivery_is_not_found(webhook, delivery, clock):
    clock.shift(days=RETENTION_DAYS, seconds=1)
    assert webhook.retry(delivery).status_and_code == "404 not_found"
