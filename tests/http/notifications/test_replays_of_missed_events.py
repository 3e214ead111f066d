"""Test replays of missed events: their deliveries are sent in order, and retried when they fail again."""

import pytest

from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    get_finished_replay,
    list_deliveries,
    parse_event,
    rename_organization,
    request_replay,
    start_replay,
    update_webhook,
)


@pytest.mark.usefixtures("private_targets_allowed")
class TestMissedEvents:
    def test_are_sent_in_order_and_the_replay_counts_them(self, api, organization, webhook, workers, receiver):
        rename_organization(api, organization, "Heard")
        workers.deliver()
        update_webhook(api, webhook, enabled=False)
        for n in range(60):
            rename_organization(api, organization, f"Missed {n}")
        workers.deliver()
        update_webhook(api, webhook, enabled=True)
        answer = request_replay(api, webhook)
        assert answer.status == 202
        replay = answer.json
        assert answer.location == f"{webhook.path}/replays/{replay['id']}"
        assert (replay["status"], replay["requeued"], replay["webhookId"]) == ("queued", 60, webhook.id)
        assert (replay["from"], replay["deliveryStatus"]) == ("2020-01-01T00:00:00.000Z", None)
        assert replay["createdAt"] == replay["to"]
        workers.deliver()
        record = get_finished_replay(api, webhook, replay)
        assert (record["status"], record["requeued"], record["error"]) == ("completed", 60, None)
        names = [parse_event(request)["data"]["name"] for request in receiver.requests]
        assert names == ["Heard", *(f"Missed {n}" for n in range(60))]
        assert {delivery["status"] for delivery in list_deliveries(api, webhook)} == {"succeeded"}

    def test_are_retried_when_they_fail_again(self, api, organization, webhook, workers, receiver, clock):
        update_webhook(api, webhook, enabled=False)
        rename_organization(api, organization, "Missed")
        workers.deliver()
        update_webhook(api, webhook, enabled=True)
        receiver.default_reply = Reply(status=500)
        start_replay(api, webhook)
        workers.deliver()
        assert [delivery["status"] for delivery in list_deliveries(api, webhook)] == ["pending"]
        receiver.default_reply = Reply()
        clock.shift(seconds=10)
        workers.run_until_idle()
        assert [delivery["status"] for delivery in list_deliveries(api, webhook)] == ["succeeded"]
