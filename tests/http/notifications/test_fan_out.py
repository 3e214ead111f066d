"""Fan-out: each event becomes one delivery to each subscribed webhook, whatever failures occur."""

import pytest

from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_organization
from tests.harness.webhooks import (
    create_webhook,
    get_delivery,
    list_deliveries,
    parse_event,
    received_event_types,
    rename_organization,
    update_webhook,
)
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

UPDATED = "organization.updated"


class TestSubscribers:
    def test_a_webhook_gets_every_event_from_its_creation_on(self, api, organization, workers, receiver):
        rename_organization(api, organization, "Before")
        webhook = create_webhook(api, organization, receiver)
        rename_organization(api, organization, "After")
        workers.deliver()
        entries = list_entries(api, organization)[::-1]
        first = [entry["type"] for entry in entries].index("organization.webhook.created")
        assert (
            received_event_types(receiver)
            == [entry["type"] for entry in entries[first:]]
            == ["organization.webhook.created", UPDATED]
        )
        assert parse_event(receiver.requests[-1])["data"]["name"] == "After"
        assert {each["status"] for each in list_deliveries(api, webhook)} == {"succeeded"}

    @pytest.mark.parametrize(
        ("events", "is_subscribed"),
        [
            (["*"], True),
            ([UPDATED], True),
            (["organization.*"], True),
            (["organization.api_key.*"], False),
            (["organization.api_key.created", UPDATED], True),
            (["organization.deleted"], False),
        ],
    )
    def test_a_webhook_gets_the_subscribed_events(self, api, organization, workers, receiver, events, *, is_subscribed):
        create_webhook(api, organization, receiver, events=events)
        rename_organization(api, organization, "After")
        workers.deliver()
        assert (UPDATED in received_event_types(receiver)) == is_subscribed

    @pytest.mark.parametrize(
        ("pattern", "suggestion"),
        [("organization", "organization.*"), ("organization.", "organization.*"), ("ORGANIZATION.*", "organization.*")],
    )
    def test_the_error_for_an_invalid_pattern_suggests_a_valid_one(self, api, organization, pattern, suggestion):
        body = {"url": "https://receiver.example/", "events": [pattern]}
        response = api.post(f"{organization.path}/webhooks", caller=organization.owner, json=body)
        assert f"did you mean '{suggestion}'?" in response.json["errors"][0]["detail"]

    def test_a_pattern_without_past_events_is_accepted(self, api, organization):
        webhook = create_webhook(api, organization, "https://receiver.example/", events=["page.*"])
        assert webhook.record["events"] == ["page.*"]

    def test_each_webhook_gets_its_own_delivery(self, api, organization, workers, receiver):
        webhooks = [
            create_webhook(api, organization, receiver.url_at("127.0.0.1", f"/{n}"), events=[UPDATED]) for n in range(3)
        ]
        rename_organization(api, organization, "After")
        workers.deliver()
        assert sorted(request.path for request in receiver.requests) == ["/0", "/1", "/2"]
        (event_id,) = {request.headers["webhook-id"] for request in receiver.requests}
        assert [get_delivery(api, webhook, UPDATED)["eventId"] for webhook in webhooks] == [event_id] * 3

    def test_events_of_another_organization_are_not_delivered(self, api, organization, stranger, workers, receiver):
        create_webhook(api, organization, receiver, events=[UPDATED])
        rename_organization(api, create_organization(api, stranger), "Rival Engines")
        workers.deliver()
        assert receiver.requests == []

    def test_a_changed_subscription_applies_from_its_own_log_entry_on(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        rename_organization(api, organization, "First")
        update_webhook(api, webhook, events=["organization.deleted"])
        rename_organization(api, organization, "Second")
        update_webhook(api, webhook, events=[UPDATED])
        rename_organization(api, organization, "Third")
        workers.deliver()
        assert [parse_event(request)["data"]["name"] for request in receiver.requests] == ["First", "Third"]

    def test_a_deleted_webhook_gets_nothing(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver)
        workers.deliver()
        api.delete(webhook.path, caller=organization.owner)
        rename_organization(api, organization, "After")
        workers.deliver()
        assert received_event_types(receiver) == ["organization.webhook.created"]

    def test_events_of_a_paused_webhook_are_skipped(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        update_webhook(api, webhook, enabled=False)
        rename_organization(api, organization, "Unheard")
        update_webhook(api, webhook, enabled=True)
        rename_organization(api, organization, "Heard")
        workers.deliver()
        assert [parse_event(request)["data"]["name"] for request in receiver.requests] == ["Heard"]
        assert [each["status"] for each in list_deliveries(api, webhook)] == ["skipped", "succeeded"]
        skipped = list_deliveries(api, webhook)[0]
        assert (skipped["attempts"], skipped["nextAttemptAt"]) == ([], None)
        assert skipped["completedAt"] is not None


class TestFailures:
    def test_many_entries_are_delivered_completely_and_in_order(self, api, organization, workers, receiver):
        urls = [receiver.url_at("127.0.0.1", f"/{n}") for n in range(3)]
        for url in urls:
            create_webhook(api, organization, url, events=[UPDATED])
        for n in range(60):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        for n in range(3):
            received = [parse_event(request) for request in receiver.requests if request.path == f"/{n}"]
            assert [payload["data"]["name"] for payload in received] == [f"Name {n}" for n in range(60)]
            sequences = [payload["sequence"] for payload in received]
            assert sequences == sorted(sequences)

    def test_the_sweep_replaces_a_lost_message(self, api, organization, workers, receiver, clock):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        rename_organization(api, organization, "After")
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert receiver.requests == []
        assert queued_bodies("deliveries.fifo") == []
        assert get_delivery(api, webhook, UPDATED)["status"] == "pending"
        clock.shift(minutes=6)
        workers.run_until_idle()
        assert received_event_types(receiver) == [UPDATED]
        assert get_delivery(api, webhook, UPDATED)["status"] == "succeeded"

    def test_a_repeated_message_sends_nothing_twice(self, api, organization, workers, receiver):
        create_webhook(api, organization, receiver, events=[UPDATED])
        rename_organization(api, organization, "After")
        workers.deliver()
        cursors = [item for item in memory_aws.all_items() if item["sk"] == "!"]
        workers.deliver()
        workers.run_sweep()
        workers.deliver()
        assert received_event_types(receiver) == [UPDATED]
        assert [item for item in memory_aws.all_items() if item["sk"] == "!"] == cursors

    def test_a_missing_entry_stops_the_fan_out(self, api, organization, workers, receiver, monkeypatch):
        create_webhook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        rename_organization(api, organization, "Gone")
        rename_organization(api, organization, "Behind")
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            workers.deliver()
        entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]
        removed = next(item for item in entries if b"Gone" in item["body"] and item["type"] == UPDATED)
        memory_aws.delete_item(removed)
        rename_organization(api, organization, "Last")
        assert workers.try_deliver().failed_bodies
        assert received_event_types(receiver) == []
