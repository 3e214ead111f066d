"""Test webhooks that are not known to respond: one probe at a time, and then all deliveries in order."""

import pytest

from tests.harness.api import Api
from tests.harness.clock import Clock
from tests.harness.organizations import Founded
from tests.harness.receiver import HANG, Receiver, Reply, Request
from tests.harness.webhooks import Hook, change, deliveries, delivery, hook, rename, shown, told
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"


class TestNewWebhook:
    def test_is_probed_separately_and_then_receives_all_events_in_order(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        for n in range(5):
            rename(api, organization, f"Name {n}")
        messages = workers.deliver()
        assert len([body for body in messages if '"probe": true' in body]) == 1
        assert [told(request)["data"]["name"] for request in receiver.requests] == [f"Name {n}" for n in range(5)]
        assert [len(event_delivery["attempts"]) for event_delivery in deliveries(api, webhook)] == [1] * 5

    def test_receives_events_that_occur_during_the_probe_in_order(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        def rename_and_reply(_: Request) -> Reply:
            if len(receiver.requests) <= 3:
                rename(api, organization, f"During {len(receiver.requests)}")
                workers.attempt()
            return Reply()

        receiver.answer = rename_and_reply
        webhook = hook(api, organization, receiver, events=[UPDATED])
        for n in range(30):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        rename(api, organization, "Afterwards")
        workers.deliver()
        sequences = [told(request)["sequence"] for request in receiver.requests]
        assert sequences == sorted(sequences)
        assert len(sequences) == len(deliveries(api, webhook)) == 34

    def test_any_response_makes_it_responsive(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=500)
        hook(api, organization, receiver, events=[UPDATED])
        for n in range(2):
            rename(api, organization, f"Name {n}")
            messages = workers.deliver()
        assert len(receiver.requests) == 2
        assert not [body for body in messages if '"probe": true' in body]

    def test_a_deleted_webhook_is_not_probed(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "Unheard")
        api.delete(webhook.path, as_=organization.owner)
        workers.deliver()
        assert receiver.requests == []


@pytest.mark.usefixtures("brisk")
class TestUnresponsiveWebhook:
    def test_waits_for_its_next_attempt_and_receives_all_events_when_it_responds(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "First")
        workers.attempt()
        assert len(receiver.requests) == 1
        for n in range(5):
            rename(api, organization, f"Waiting {n}")
            workers.attempt()
        assert len(receiver.requests) == 1, "no other delivery is attempted meanwhile"
        assert {event_delivery["status"] for event_delivery in deliveries(api, made)} == {"pending"}
        receiver.answer = Reply()
        clock.shift(seconds=10)
        workers.settle()
        workers.settle()
        assert {event_delivery["status"] for event_delivery in deliveries(api, made)} == {"succeeded"}
        names = [told(request)["data"]["name"] for request in receiver.requests]
        assert names == ["First", "First", *(f"Waiting {n}" for n in range(5))]

    def test_is_probed_with_one_delivery_at_a_time(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.attempt()
        for probes in range(2, 6):
            clock.shift(minutes=45)
            workers.settle()
            assert len(receiver.requests) == probes
        assert max(len(event_delivery["attempts"]) for event_delivery in deliveries(api, made)) >= 2
        first = deliveries(api, made)[0]["attempts"][0]
        assert (first["statusCode"], first["responseBody"]) == (None, None)
        assert "did not respond" in first["error"]

    def test_does_not_delay_other_webhooks(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answers["/"] = HANG
        healthy = hook(api, organization, receiver.at("127.0.0.1", "/healthy"), events=[UPDATED])
        for n in range(4):
            rename(api, organization, f"Name {n}")
            workers.attempt()
        assert [event_delivery["status"] for event_delivery in deliveries(api, healthy)] == ["succeeded"] * 4
        assert [event_delivery["status"] for event_delivery in deliveries(api, made)] == ["pending"] * 4

    def test_is_not_probed_once_disabled(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "After")
        workers.attempt()
        change(api, made, enabled=False)
        clock.shift(minutes=10)
        workers.settle()
        assert len(receiver.requests) == 1
        assert delivery(api, made, UPDATED)["status"] == "skipped"


@pytest.mark.usefixtures("brisk")
class TestRecoveredWebhook:
    @pytest.fixture
    def recovered_webhook(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> Hook:
        """Return a webhook that did not respond to two events but would respond now."""
        receiver.answer = HANG
        for name in ("First", "Second"):
            rename(api, organization, name)
            workers.attempt()
        receiver.answer = Reply()
        return made

    @pytest.mark.parametrize("index", [0, 1])
    def test_receives_all_waiting_events_after_a_manual_retry(
        self, api: Api, organization: Founded, recovered_webhook: Hook, workers: Workers, receiver: Receiver, index: int
    ) -> None:
        delivery_id = deliveries(api, recovered_webhook)[index]["id"]
        assert (
            api.post(f"{recovered_webhook.path}/deliveries/{delivery_id}/retry", as_=organization.owner).status == 202
        )
        workers.deliver()
        assert sorted({told(request)["data"]["name"] for request in receiver.requests[1:]} | {"First"}) == [
            "First",
            "Second",
        ]
        assert deliveries(api, recovered_webhook)[1]["status"] == "succeeded"

    def test_receives_all_due_events_after_a_test_delivery(
        self, api: Api, organization: Founded, recovered_webhook: Hook, workers: Workers
    ) -> None:
        assert api.post(f"{recovered_webhook.path}/test", as_=organization.owner).json["delivered"] is True
        workers.deliver()
        assert deliveries(api, recovered_webhook)[1]["status"] == "succeeded"

    def test_disabling_skips_the_waiting_events(
        self, api: Api, recovered_webhook: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=410)
        clock.shift(seconds=10)
        workers.settle()
        assert shown(api, recovered_webhook)["status"] == "disabled"
        assert [event_delivery["status"] for event_delivery in deliveries(api, recovered_webhook)] == [
            "failed",
            "skipped",
        ]
