"""Test retries of deliveries to a webhook."""

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    list_deliveries,
    parse_event,
    rename_organization,
    update_webhook,
)

UPDATED = "organization.updated"
RETRIED = "organization.webhook.delivery_retried"


@pytest.mark.usefixtures("private_targets_allowed")
class TestRetry:
    @staticmethod
    def retry(api: ApiClient, webhook: CreatedWebhook, delivery: Json, **headers: str) -> ApiResponse:
        path = f"{webhook.path}/deliveries/{delivery['id']}/retry"
        return api.post(path, caller=webhook.organization.owner, headers=headers)

    @staticmethod
    def get_only_delivery(api: ApiClient, webhook: CreatedWebhook) -> Json:
        (delivery,) = list_deliveries(api, webhook)
        return delivery

    def test_a_delivery_is_sent_again_at_once(self, api, organization, webhook, workers, receiver):
        rename_organization(api, organization, "After")
        workers.deliver()
        delivery_before = self.get_only_delivery(api, webhook)
        answer = self.retry(api, webhook, delivery_before)
        assert answer.status == 202
        assert answer.location == f"{webhook.path}/deliveries/{delivery_before['id']}"
        requeued_delivery = answer.json
        assert (requeued_delivery["status"], requeued_delivery["completedAt"], requeued_delivery["version"]) == (
            "pending",
            None,
            delivery_before["version"] + 1,
        )
        assert requeued_delivery["nextAttemptAt"] <= now()
        assert self.get_only_delivery(api, webhook) == requeued_delivery
        workers.deliver()
        completed_delivery = self.get_only_delivery(api, webhook)
        assert (completed_delivery["status"], [attempt["number"] for attempt in completed_delivery["attempts"]]) == (
            "succeeded",
            [1, 2],
        )
        first, second = receiver.requests
        assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])

    def test_the_entry_contains_the_delivery_and_its_change(self, api, organization, webhook, workers, grace):
        rename_organization(api, organization, "After")
        workers.deliver()
        delivery_before = self.get_only_delivery(api, webhook)
        api.post(f"{webhook.path}/deliveries/{delivery_before['id']}/retry", caller=grace)
        (entry,) = list_entries(api, organization, type=RETRIED)
        assert entry["target"] == {
            "type": "organization.webhook.delivery",
            "id": delivery_before["id"],
            "name": UPDATED,
        }
        assert entry["actor"]["id"] == grace.id
        assert {"field": "status", "from": "succeeded", "to": "pending"} in entry["changes"]

    def test_a_failed_delivery_gets_all_attempts_again(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.run_until_idle()
        failed_delivery = self.get_only_delivery(api, webhook)
        assert (failed_delivery["status"], len(failed_delivery["attempts"])) == ("failed", 10)
        assert self.retry(api, webhook, failed_delivery).status == 202
        workers.deliver()
        clock.shift(minutes=6)
        workers.run_until_idle()
        retried_delivery = self.get_only_delivery(api, webhook)
        assert (retried_delivery["status"], len(retried_delivery["attempts"])) == ("pending", 12)
        receiver.default_reply = Reply()
        clock.shift(minutes=12)
        workers.run_until_idle()
        assert (
            self.get_only_delivery(api, webhook)["status"],
            len(self.get_only_delivery(api, webhook)["attempts"]),
        ) == ("succeeded", 13)

    def test_a_pending_delivery_is_sent_earlier(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "After")
        workers.deliver()
        clock.shift(seconds=7)
        workers.run_until_idle()
        pending_delivery = self.get_only_delivery(api, webhook)
        assert pending_delivery["nextAttemptAt"] > after(now(), seconds=200)
        receiver.default_reply = Reply()
        assert self.retry(api, webhook, pending_delivery).status == 202
        workers.deliver()
        assert self.get_only_delivery(api, webhook)["status"] == "succeeded"

    def test_a_skipped_delivery_is_sent(self, api, organization, webhook, workers, receiver):
        update_webhook(api, webhook, enabled=False)
        rename_organization(api, organization, "Unheard")
        workers.deliver()
        update_webhook(api, webhook, enabled=True)
        assert self.retry(api, webhook, self.get_only_delivery(api, webhook)).status == 202
        workers.deliver()
        assert [parse_event(request)["data"]["name"] for request in receiver.requests] == ["Unheard"]

    def test_for_an_inactive_webhook_is_rejected_with_the_remedy(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        disabled_answer = self.retry(api, webhook, self.get_only_delivery(api, webhook))
        update_webhook(api, webhook, enabled=True)
        update_webhook(api, webhook, enabled=False)
        paused_answer = self.retry(api, webhook, self.get_only_delivery(api, webhook))
        for answer, status in ((disabled_answer, "disabled"), (paused_answer, "paused")):
            assert answer.status_and_code == "409 invalid_transition"
            assert f"is {status}" in answer.json["detail"]
            assert '{"enabled": true}' in answer.json["detail"]

    def test_a_stale_etag_is_rejected(self, api, organization, webhook, workers):
        rename_organization(api, organization, "After")
        workers.deliver()
        event_delivery = self.get_only_delivery(api, webhook)
        etag = api.get(f"{webhook.path}/deliveries/{event_delivery['id']}", caller=organization.owner).etag
        assert self.retry(api, webhook, event_delivery, **{"If-Match": etag}).status == 202
        assert (
            self.retry(api, webhook, event_delivery, **{"If-Match": etag}).status_and_code == "412 precondition_failed"
        )

    def test_the_sweep_redrives_a_delivery_whose_message_was_lost(
        self, api, organization, webhook, workers, receiver, clock
    ):
        rename_organization(api, organization, "After")
        workers.deliver()
        assert self.retry(api, webhook, self.get_only_delivery(api, webhook)).status == 202
        memory_aws.discard_queued_messages()
        clock.shift(minutes=6)
        workers.run_until_idle()
        assert len(receiver.requests) == 2

    def test_an_expired_delivery_is_not_found(self, api, organization, webhook, workers, clock):
        rename_organization(api, organization, "After")
        workers.deliver()
        delivery = self.get_only_delivery(api, webhook)
        clock.shift(days=RETENTION_DAYS, seconds=1)
        assert self.retry(api, webhook, delivery).status_and_code == "404 not_found"
