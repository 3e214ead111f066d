"""Fan-out: each event becomes one delivery to each subscribed webhook, whatever failures occur."""

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver
from tests.harness.webhooks import change, deliveries, delivery, hook, rename, told, types
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"


class TestSubscribers:
    def test_a_webhook_gets_every_event_from_its_creation_on(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Before")
        webhook = hook(api, organization, receiver)
        rename(api, organization, "After")
        workers.deliver()
        entries = log_of(api, organization)[::-1]
        first = [entry["type"] for entry in entries].index("organization.webhook.created")
        assert (
            types(receiver) == [entry["type"] for entry in entries[first:]] == ["organization.webhook.created", UPDATED]
        )
        assert told(receiver.requests[-1])["data"]["name"] == "After"
        assert {each["status"] for each in deliveries(api, webhook)} == {"succeeded"}

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
    def test_a_webhook_gets_the_subscribed_events(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        events: list[str],
        *,
        is_subscribed: bool,
    ) -> None:
        hook(api, organization, receiver, events=events)
        rename(api, organization, "After")
        workers.deliver()
        assert (UPDATED in types(receiver)) == is_subscribed

    @pytest.mark.parametrize(
        ("pattern", "suggestion"),
        [("organization", "organization.*"), ("organization.", "organization.*"), ("ORGANIZATION.*", "organization.*")],
    )
    def test_the_error_for_an_invalid_pattern_suggests_a_valid_one(
        self, api: Api, organization: Founded, pattern: str, suggestion: str
    ) -> None:
        body = {"url": "https://receiver.example/", "events": [pattern]}
        response = api.post(f"{organization.path}/webhooks", as_=organization.owner, json=body)
        assert f"did you mean '{suggestion}'?" in response.json["errors"][0]["detail"]

    def test_a_pattern_without_past_events_is_accepted(self, api: Api, organization: Founded) -> None:
        webhook = hook(api, organization, "https://receiver.example/", events=["page.*"])
        assert webhook.record["events"] == ["page.*"]

    def test_each_webhook_gets_its_own_delivery(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhooks = [hook(api, organization, receiver.at("127.0.0.1", f"/{n}"), events=[UPDATED]) for n in range(3)]
        rename(api, organization, "After")
        workers.deliver()
        assert sorted(request.path for request in receiver.requests) == ["/0", "/1", "/2"]
        (event_id,) = {request.headers["webhook-id"] for request in receiver.requests}
        assert [delivery(api, webhook, UPDATED)["eventId"] for webhook in webhooks] == [event_id] * 3

    def test_events_of_another_organization_are_not_delivered(
        self, api: Api, organization: Founded, stranger: Person, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        rename(api, found(api, stranger), "Rival Engines")
        workers.deliver()
        assert receiver.requests == []

    def test_a_changed_subscription_applies_from_its_own_log_entry_on(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "First")
        change(api, webhook, events=["organization.deleted"])
        rename(api, organization, "Second")
        change(api, webhook, events=[UPDATED])
        rename(api, organization, "Third")
        workers.deliver()
        assert [told(request)["data"]["name"] for request in receiver.requests] == ["First", "Third"]

    def test_a_deleted_webhook_gets_nothing(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhook = hook(api, organization, receiver)
        workers.deliver()
        api.delete(webhook.path, as_=organization.owner)
        rename(api, organization, "After")
        workers.deliver()
        assert types(receiver) == ["organization.webhook.created"]

    def test_events_of_a_paused_webhook_are_skipped(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        change(api, webhook, enabled=False)
        rename(api, organization, "Unheard")
        change(api, webhook, enabled=True)
        rename(api, organization, "Heard")
        workers.deliver()
        assert [told(request)["data"]["name"] for request in receiver.requests] == ["Heard"]
        assert [each["status"] for each in deliveries(api, webhook)] == ["skipped", "succeeded"]
        skipped = deliveries(api, webhook)[0]
        assert (skipped["attempts"], skipped["nextAttemptAt"]) == ([], None)
        assert skipped["completedAt"] is not None


class TestFailures:
    def test_many_entries_are_delivered_completely_and_in_order(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        urls = [receiver.at("127.0.0.1", f"/{n}") for n in range(3)]
        for url in urls:
            hook(api, organization, url, events=[UPDATED])
        for n in range(60):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        for n in range(3):
            received = [told(request) for request in receiver.requests if request.path == f"/{n}"]
            assert [payload["data"]["name"] for payload in received] == [f"Name {n}" for n in range(60)]
            sequences = [payload["sequence"] for payload in received]
            assert sequences == sorted(sequences)

    def test_the_sweep_replaces_a_lost_message(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "After")
        with failing(Fault.TIMED_OUT, name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert receiver.requests == []
        assert bodies("deliveries.fifo") == []
        assert delivery(api, webhook, UPDATED)["status"] == "pending"
        clock.shift(minutes=6)
        workers.settle()
        assert types(receiver) == [UPDATED]
        assert delivery(api, webhook, UPDATED)["status"] == "succeeded"

    def test_a_repeated_message_sends_nothing_twice(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "After")
        workers.deliver()
        cursors = [item for item in cloud.stored() if item["sk"] == "!"]
        workers.deliver()
        workers.sweep()
        workers.deliver()
        assert types(receiver) == [UPDATED]
        assert [item for item in cloud.stored() if item["sk"] == "!"] == cursors

    def test_a_missing_entry_stops_the_fan_out(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        rename(api, organization, "Gone")
        rename(api, organization, "Behind")
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            workers.deliver()
        entries = [item for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]
        removed = next(item for item in entries if b"Gone" in item["body"] and item["type"] == UPDATED)
        cloud.remove(removed)
        rename(api, organization, "Last")
        assert workers.attempt().failed
        assert types(receiver) == []
