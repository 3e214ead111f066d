"""Fan-out: each event becomes one delivery to each subscribed webhook, whatever failures occur."""

import pytest

from chalicelib.features.notifications.logic import fan_out
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_organization
from tests.harness.webhooks import (
    UPDATED,
    parse_event,
    received_event_types,
    received_names,
    rename_organization,
)
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


class TestSubscribers:
    def test_a_webhook_gets_every_event_from_its_creation_on(
        self, api, organization, new_webhook, rename, emit, receiver
    ):
        rename("Before")
        webhook = new_webhook(receiver, events=["*"])
        emit("After")
        entry_types = [entry["type"] for entry in list_entries(api, organization)[::-1]]
        expected_types = ["organization.webhook.created", UPDATED]
        assert received_event_types(receiver) == entry_types[entry_types.index(expected_types[0]) :] == expected_types
        assert parse_event(receiver.requests[-1])["data"]["name"] == "After"
        assert set(webhook.delivery_statuses()) == {"succeeded"}

    def test_each_webhook_gets_its_own_delivery_of_the_events_that_match_its_patterns(
        self, new_webhook, emit, receiver
    ):
        patterns = [["*"], [UPDATED], ["organization.*"], ["organization.api_key.created", UPDATED]]
        other_patterns = [["organization.api_key.*"], ["organization.deleted"], ["page.*"]]
        webhooks = [
            new_webhook(f"{receiver.url}{n}", events=events) for n, events in enumerate([*patterns, *other_patterns])
        ]
        emit("After")
        updates = [request for request in receiver.requests if parse_event(request)["type"] == UPDATED]
        assert sorted(request.path for request in updates) == ["/0", "/1", "/2", "/3"]
        (event_id,) = {request.headers["webhook-id"] for request in updates}
        assert [webhook.get_delivery()["eventId"] for webhook in webhooks[:4]] == [event_id] * 4

    @pytest.mark.parametrize("pattern", ["organization", "organization.", "ORGANIZATION.*"])
    def test_the_error_for_an_invalid_pattern_suggests_a_valid_one(self, api, organization, pattern):
        body = {"url": "https://receiver.example/", "events": [pattern]}
        response = api.post(f"{organization.path}/webhooks", caller=organization.owner, json=body)
        assert "did you mean 'organization.*'?" in response.json["errors"][0]["detail"]

    def test_events_of_another_organization_are_not_delivered(self, api, stranger, webhook, workers, receiver):
        rename_organization(api, create_organization(api, stranger), "Rival Engines")
        workers.deliver()
        assert receiver.requests == []

    def test_a_changed_subscription_applies_from_its_own_log_entry_on(self, webhook, rename, emit, receiver):
        rename("First")
        webhook.update(events=["organization.deleted"])
        rename("Second")
        webhook.update(events=[UPDATED])
        emit("Third")
        assert received_names(receiver) == ["First", "Third"]

    def test_a_deleted_webhook_gets_nothing(self, new_webhook, workers, emit, receiver):
        webhook = new_webhook(receiver, events=["*"])
        workers.deliver()
        webhook.delete()
        emit("After")
        assert received_event_types(receiver) == ["organization.webhook.created"]

    def test_events_of_a_paused_webhook_are_skipped(self, webhook, rename, emit, receiver):
        webhook.update(enabled=False)
        rename("Unheard")
        webhook.update(enabled=True)
        emit("Heard")
        assert received_names(receiver) == ["Heard"]
        assert webhook.delivery_statuses() == ["skipped", "succeeded"]
        skipped = webhook.list_deliveries()[0]
        assert (skipped["attempts"], skipped["nextAttemptAt"]) == ([], None)
        assert skipped["completedAt"] is not None


class TestFailures:
    def test_many_entries_are_delivered_completely_and_in_order(self, new_webhook, emit, receiver, monkeypatch):
        monkeypatch.setattr(fan_out, "_BATCH_SIZE", 11)
        names = [f"Name {n}" for n in range(12)]
        for n in range(9):
            new_webhook(f"{receiver.url}{n}", enabled=n in (0, 4, 8))
        emit(*names)  # The first batch of entries makes 99 deliveries, too many for one transaction.
        for path in ("/0", "/4", "/8"):
            received = [parse_event(request) for request in receiver.requests if request.path == path]
            assert [payload["data"]["name"] for payload in received] == names
            sequences = [payload["sequence"] for payload in received]
            assert sequences == sorted(sequences)

    def test_the_sweep_replaces_a_lost_message(self, webhook, rename, workers, receiver, clock):
        rename("After")
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert receiver.requests == []
        assert queued_bodies("deliveries.fifo") == []
        assert webhook.get_delivery()["status"] == "pending"
        clock.shift(minutes=6)
        workers.run_until_idle()
        assert received_event_types(receiver) == [UPDATED]
        assert webhook.get_delivery()["status"] == "succeeded"

    @pytest.mark.usefixtures("webhook")
    def test_a_repeated_message_sends_nothing_twice(self, emit, workers, receiver):
        emit("After")
        cursors = [item for item in memory_aws.all_items() if item["sk"] == "!"]
        workers.deliver()
        workers.run_sweep()
        workers.deliver()
        assert received_event_types(receiver) == [UPDATED]
        assert [item for item in memory_aws.all_items() if item["sk"] == "!"] == cursors

    @pytest.mark.usefixtures("webhook")
    def test_a_missing_entry_stops_the_fan_out(self, organization, emit, rename, workers, receiver, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(fan_out, "fan_out", lambda *_: None)
            emit("Gone", "Behind")
        entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]
        removed = next(item for item in entries if b"Gone" in item["body"] and item["type"] == UPDATED)
        memory_aws.delete_item(removed)
        rename("Last")
        assert workers.try_deliver().failed_bodies
        assert received_event_types(receiver) == []
