"""Test webhooks that are not known to respond: one probe at a time, and then all deliveries in order."""

import pytest

from chalicelib.features.notifications.logic import batches
from tests.harness.receiver import ReceivedRequest, Reply
from tests.harness.webhooks import parse_event, received_names

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


class TestNewWebhook:
    def test_is_probed_separately_and_then_receives_all_events_in_order(self, new_webhook, rename, workers, receiver):
        webhook, names = new_webhook(receiver), [f"Name {n}" for n in range(5)]
        rename(*names)
        messages = workers.deliver()
        assert len([body for body in messages if '"probe": true' in body]) == 1
        assert received_names(receiver) == names
        assert [len(delivery["attempts"]) for delivery in webhook.list_deliveries()] == [1] * 5

    def test_receives_events_that_occur_during_the_probe_in_order(
        self, new_webhook, rename, emit, workers, receiver, monkeypatch
    ):
        def rename_and_reply(_request: ReceivedRequest) -> Reply:
            if len(receiver.requests) <= 3:
                rename(f"During {len(receiver.requests)}")
                workers.try_deliver()
            return Reply()

        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 3)
        receiver.default_reply = rename_and_reply
        webhook = new_webhook(receiver)
        emit(*(f"Name {n}" for n in range(8)))
        emit("Afterwards")
        sequences = [parse_event(request)["sequence"] for request in receiver.requests]
        assert sequences == sorted(sequences)
        assert len(sequences) == len(webhook.list_deliveries()) == 12

    def test_any_response_makes_it_responsive(self, new_webhook, rename, workers, receiver):
        receiver.default_reply = Reply(status=500)
        new_webhook(receiver)
        for name in ("First", "Second"):
            rename(name)
            messages = workers.deliver()
        assert len(receiver.requests) == 2
        assert not [body for body in messages if '"probe": true' in body]

    def test_a_deleted_webhook_is_not_probed(self, new_webhook, rename, workers, receiver):
        webhook = new_webhook(receiver)
        rename("Unheard")
        webhook.delete()
        workers.deliver()
        assert receiver.requests == []


class TestUnresponsiveWebhook:
    def test_is_probed_with_one_delivery_at_a_time_and_receives_all_events_when_it_responds(
        self, webhook, new_webhook, silence, emit_each, workers, receiver, clock
    ):
        healthy, names = new_webhook(f"{receiver.url}healthy"), ["First", "Second", "Third", "Fourth"]
        with silence():
            emit_each(*names)
            assert [request.path for request in receiver.requests].count("/") == 1
            for probes in (2, 3):
                clock.shift(minutes=45)
                workers.run_until_idle()
                assert [request.path for request in receiver.requests].count("/") == probes
        assert healthy.delivery_statuses() == ["succeeded"] * 4, "other webhooks are not delayed"
        assert webhook.delivery_statuses() == ["pending"] * 4
        attempts = [attempt for delivery in webhook.list_deliveries() for attempt in delivery["attempts"]]
        assert len(attempts) == 3
        assert {(attempt["statusCode"], attempt["responseBody"]) for attempt in attempts} == {(None, None)}
        assert all("did not respond" in attempt["error"] for attempt in attempts)
        receiver.requests.clear()
        clock.shift(minutes=45)
        workers.run_until_idle()
        workers.run_until_idle()
        assert webhook.delivery_statuses() == ["succeeded"] * 4
        assert sorted(received_names(receiver)) == sorted(names)

    def test_is_not_probed_once_disabled(self, webhook, silence, emit_each, workers, receiver, clock):
        with silence():
            emit_each("After")
        webhook.update(enabled=False)
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert len(receiver.requests) == 1
        assert webhook.get_delivery()["status"] == "skipped"


class TestRecoveredWebhook:
    """A webhook that did not respond to the first of two events but would respond now."""

    @pytest.fixture(autouse=True)
    def first_event_without_response(self, webhook, silence, emit_each):
        with silence():
            emit_each("First", "Second")

    @pytest.mark.parametrize("index", [0, 1])
    def test_receives_all_waiting_events_after_a_manual_retry(self, webhook, workers, receiver, index):
        assert webhook.retry(webhook.list_deliveries()[index]).status == 202
        workers.deliver()
        assert sorted({*received_names(receiver)[1:], "First"}) == ["First", "Second"]
        assert webhook.delivery_statuses()[1] == "succeeded"

    def test_receives_all_due_events_after_a_test_delivery(self, webhook, workers):
        assert webhook.send_test()["delivered"] is True
        workers.deliver()
        assert webhook.delivery_statuses()[1] == "succeeded"
