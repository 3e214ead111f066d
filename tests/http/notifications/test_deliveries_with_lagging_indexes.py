"""Webhooks that catch up while indexes lag: no waiting event is lost or late."""

import pytest

from chalicelib.features.notifications.logic import batches
from tests.harness import memory_aws
from tests.harness.receiver import Reply
from tests.harness.webhooks import received_names

pytestmark = [
    pytest.mark.usefixtures("private_targets_allowed", "lag"),
    pytest.mark.parametrize("lag", [0, 2.5, 60], indirect=True),
]


def test_a_new_webhook_receives_all_events_at_once(new_webhook, emit, receiver, monkeypatch):
    monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 3)
    webhook, names = new_webhook(receiver), [f"Name {n}" for n in range(8)]
    emit(*names)
    assert received_names(receiver) == names
    assert [len(delivery["attempts"]) for delivery in webhook.list_deliveries()] == [1] * 8
    emit("Afterwards")
    assert received_names(receiver)[8:] == ["Afterwards"]
    items = [item for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}"]
    assert all("kind" in item for item in items), "no item about waiting deliveries remains"


def test_a_webhook_receives_all_events_as_soon_as_it_responds_again(
    webhook, silence, emit_each, workers, receiver, clock
):
    with silence():
        emit_each("Name 0", "Name 1", "Name 2", "Name 3")
    clock.shift(seconds=10)
    workers.deliver(include_delayed=True)
    assert set(webhook.delivery_statuses()) == {"succeeded"}
    assert received_names(receiver)[1:] == [f"Name {n}" for n in range(4)]


def test_a_disabled_webhook_skips_the_waiting_events(webhook, silence, emit_each, workers, receiver, clock):
    with silence():
        emit_each("Name 0", "Name 1", "Name 2")
    receiver.replies_by_path["/"] = Reply(status=410)
    clock.shift(seconds=10)
    workers.deliver(include_delayed=True)
    assert webhook.read()["status"] == "disabled"
    assert webhook.delivery_statuses() == ["failed", "skipped", "skipped"]
