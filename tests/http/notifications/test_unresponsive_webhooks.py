"""Test webhooks that are not known to respond: one probe at a time, and then all deliveries in order."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Receiver, Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_delivery,
    get_webhook,
    list_deliveries,
    parse_event,
    rename_organization,
    update_webhook,
)
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

UPDATED = "organization.updated"


class TestNewWebhook:
    def test_is_probed_separately_and_then_receives_all_events_in_order(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        messages = workers.deliver()
        assert len([body for body in messages if '"probe": true' in body]) == 1
        assert [parse_event(request)["data"]["name"] for request in receiver.requests] == [
            f"Name {n}" for n in range(5)
        ]
        assert [len(event_delivery["attempts"]) for event_delivery in list_deliveries(api, webhook)] == [1] * 5

    def test_receives_events_that_occur_during_the_probe_in_order(self, api, organization, workers, receiver):
        def rename_and_reply(_: ReceivedRequest) -> Reply:
            if len(receiver.requests) <= 3:
                rename_organization(api, organization, f"During {len(receiver.requests)}")
                workers.try_deliver()
            return Reply()

        receiver.default_reply = rename_and_reply
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        for n in range(30):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        rename_organization(api, organization, "Afterwards")
        workers.deliver()
        sequences = [parse_event(request)["sequence"] for request in receiver.requests]
        assert sequences == sorted(sequences)
        assert len(sequences) == len(list_deliveries(api, webhook)) == 34

    def test_any_response_makes_it_responsive(self, api, organization, workers, receiver):
        receiver.default_reply = Reply(status=500)
        create_webhook(api, organization, receiver, events=[UPDATED])
        for n in range(2):
            rename_organization(api, organization, f"Name {n}")
            messages = workers.deliver()
        assert len(receiver.requests) == 2
        assert not [body for body in messages if '"probe": true' in body]

    def test_a_deleted_webhook_is_not_probed(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        rename_organization(api, organization, "Unheard")
        api.delete(webhook.path, caller=organization.owner)
        workers.deliver()
        assert receiver.requests == []


@pytest.mark.usefixtures("short_webhook_timeout")
class TestUnresponsiveWebhook:
    def test_waits_for_its_next_attempt_and_receives_all_events_when_it_responds(
        self, api, organization, webhook, workers, receiver, clock
    ):
        receiver.default_reply = NO_REPLY
        rename_organization(api, organization, "First")
        workers.try_deliver()
        assert len(receiver.requests) == 1
        for n in range(5):
            rename_organization(api, organization, f"Waiting {n}")
            workers.try_deliver()
        assert len(receiver.requests) == 1, "no other delivery is attempted meanwhile"
        assert {event_delivery["status"] for event_delivery in list_deliveries(api, webhook)} == {"pending"}
        receiver.default_reply = Reply()
        clock.shift(seconds=10)
        workers.run_until_idle()
        workers.run_until_idle()
        assert {event_delivery["status"] for event_delivery in list_deliveries(api, webhook)} == {"succeeded"}
        names = [parse_event(request)["data"]["name"] for request in receiver.requests]
        assert names == ["First", "First", *(f"Waiting {n}" for n in range(5))]

    def test_is_probed_with_one_delivery_at_a_time(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = NO_REPLY
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.try_deliver()
        for probes in range(2, 6):
            clock.shift(minutes=45)
            workers.run_until_idle()
            assert len(receiver.requests) == probes
        assert max(len(event_delivery["attempts"]) for event_delivery in list_deliveries(api, webhook)) >= 2
        first = list_deliveries(api, webhook)[0]["attempts"][0]
        assert (first["statusCode"], first["responseBody"]) == (None, None)
        assert "did not respond" in first["error"]

    def test_does_not_delay_other_webhooks(self, api, organization, webhook, workers, receiver):
        receiver.replies_by_path["/"] = NO_REPLY
        healthy = create_webhook(api, organization, receiver.url_at("127.0.0.1", "/healthy"), events=[UPDATED])
        for n in range(4):
            rename_organization(api, organization, f"Name {n}")
            workers.try_deliver()
        assert [event_delivery["status"] for event_delivery in list_deliveries(api, healthy)] == ["succeeded"] * 4
        assert [event_delivery["status"] for event_delivery in list_deliveries(api, webhook)] == ["pending"] * 4

    def test_is_not_probed_once_disabled(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = NO_REPLY
        rename_organization(api, organization, "After")
        workers.try_deliver()
        update_webhook(api, webhook, enabled=False)
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert len(receiver.requests) == 1
        assert get_delivery(api, webhook, UPDATED)["status"] == "skipped"


@pytest.mark.usefixtures("short_webhook_timeout")
class TestRecoveredWebhook:
    @pytest.fixture
    def recovered_webhook(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        webhook: CreatedWebhook,
        workers: Workers,
        receiver: Receiver,
    ) -> CreatedWebhook:
        """Return a webhook that did not respond to two events but would respond now."""
        receiver.default_reply = NO_REPLY
        for name in ("First", "Second"):
            rename_organization(api, organization, name)
            workers.try_deliver()
        receiver.default_reply = Reply()
        return webhook

    @pytest.mark.parametrize("index", [0, 1])
    def test_receives_all_waiting_events_after_a_manual_retry(
        self, api, organization, recovered_webhook, workers, receiver, index
    ):
        delivery_id = list_deliveries(api, recovered_webhook)[index]["id"]
        assert (
            api.post(f"{recovered_webhook.path}/deliveries/{delivery_id}/retry", caller=organization.owner).status
            == 202
        )
        workers.deliver()
        assert sorted({parse_event(request)["data"]["name"] for request in receiver.requests[1:]} | {"First"}) == [
            "First",
            "Second",
        ]
        assert list_deliveries(api, recovered_webhook)[1]["status"] == "succeeded"

    def test_receives_all_due_events_after_a_test_delivery(self, api, organization, recovered_webhook, workers):
        assert api.post(f"{recovered_webhook.path}/test", caller=organization.owner).json["delivered"] is True
        workers.deliver()
        assert list_deliveries(api, recovered_webhook)[1]["status"] == "succeeded"

    def test_disabling_skips_the_waiting_events(self, api, recovered_webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=410)
        clock.shift(seconds=10)
        workers.run_until_idle()
        assert get_webhook(api, recovered_webhook)["status"] == "disabled"
        assert [event_delivery["status"] for event_delivery in list_deliveries(api, recovered_webhook)] == [
            "failed",
            "skipped",
        ]
