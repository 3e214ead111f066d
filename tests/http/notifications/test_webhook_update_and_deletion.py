"""Changed and deleted webhooks, and their pending deliveries."""

import pytest

from chalicelib.features.notifications.logic import fan_out
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.receiver import Reply
from tests.harness.webhooks import UPDATED, WebhookClient, parse_event, received_names

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"


class TestUpdateWebhook:
    @pytest.fixture
    def webhook(self, new_webhook):
        return new_webhook(URL, events=["*"], description="Feeds the lake.")

    @pytest.mark.parametrize(
        ("field", "value", "stored_value"),
        [
            ("url", "https://EXAMPLE.com:8443/a", "https://example.com:8443/a"),
            ("events", [UPDATED], [UPDATED]),
            ("description", " Feeds  the sea. ", "Feeds  the sea."),
            ("description", None, None),
            ("enabled", False, False),
        ],
    )
    def test_each_field_can_be_changed(self, api, organization, webhook, field, value, stored_value):
        record = webhook.update(**{field: value})
        assert (record[field], record["version"]) == (stored_value, 2)
        assert webhook.read() == record
        (entry,) = list_entries(api, organization, type="organization.webhook.updated")
        changed = {change["field"]: change["to"] for change in entry["changes"]}
        assert changed == {field: stored_value, **({"status": "paused"} if field == "enabled" else {})}

    def test_null_resets_a_field_to_its_default(self, webhook):
        webhook.update(events=[UPDATED], enabled=False)
        record = webhook.update(events=None, enabled=None)
        assert (record["events"], record["enabled"]) == (["*"], True)

    def test_current_values_change_nothing(self, api, organization, webhook):
        before = webhook.read()
        for patch in ({}, {"enabled": True}, {"url": URL, "status": "active", "secret": None}):
            assert webhook.update(**patch) == before
        assert list_entries(api, organization, type="organization.webhook.updated") == []

    def test_invalid_fields_are_rejected(self, webhook):
        for field, value in (
            ("url", None),
            ("url", "https://127.0.0.1/"),
            ("events", ["no.such"]),
            ("events", []),
            ("enabled", "no"),
            ("status", "paused"),
            ("secret", SECRET),
            ("failingSince", "2026-01-01T00:00:00.000Z"),
            ("disabledReason", "It was me."),
            ("organizationId", "x"),
        ):
            response = webhook.patch("", {field: value})
            assert response.status_and_code == "422 validation_failed", field
            assert all(pointer.startswith(f"/{field}") for pointer in response.errors)


class TestUpdateFailingWebhook:
    def test_enabling_a_disabled_webhook_resets_its_failures_and_other_changes_do_not(self, webhook, emit, receiver):
        receiver.default_reply = Reply(status=410)
        emit("Gone")
        assert webhook.read()["status"] == "disabled"
        assert webhook.update(description="Is it?")["status"] == "disabled"
        record = webhook.update(url=f"{receiver.url}elsewhere")
        assert (record["status"], record["failingSince"]) == ("disabled", None)
        assert record["disabledReason"]
        emit("Unheard")
        assert len(receiver.requests) == 1
        record = webhook.update(enabled=True)
        assert (record["status"], record["enabled"]) == ("active", True)
        assert (record["disabledReason"], record["failingSince"]) == (None, None)
        receiver.default_reply = Reply()
        emit("Back")
        assert parse_event(receiver.requests[-1])["data"]["name"] == "Back"

    def test_other_changes_do_not_reset_the_failures(self, webhook, emit_each, receiver):
        receiver.default_reply = Reply(status=500)
        emit_each("Failing")
        since = webhook.read()["failingSince"]
        assert since
        assert webhook.update(events=["*"], description="Failing", enabled=True)["failingSince"] == since

    def test_another_url_of_an_unresponsive_webhook_gets_the_pending_deliveries_at_once(
        self, webhook, silence, emit_each, workers, receiver, clock
    ):
        with silence():
            emit_each("Waiting 0", "Waiting 1", "Waiting 2", "Waiting 3")
        assert len(receiver.requests) == 1
        webhook.update(url=f"{receiver.url}new")
        workers.deliver()
        assert [request.path for request in receiver.requests[1:]] == ["/new"] * 3
        assert received_names(receiver) == [f"Waiting {n}" for n in range(4)]
        clock.shift(seconds=10)
        workers.deliver()
        assert received_names(receiver)[-1] == "Waiting 0", "the failed delivery keeps the time of its next attempt"


class TestDeleteWebhook:
    @pytest.fixture
    def webhook(self, new_webhook, emit):
        webhook = new_webhook(URL, enabled=False)
        emit("Name 0", "Name 1", "Name 2")
        return webhook

    @staticmethod
    def delivery_keys(webhook: WebhookClient) -> list[str]:
        return [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}"]

    @staticmethod
    def removal_jobs() -> list[memory_aws.Item]:
        return [item for item in memory_aws.all_items() if item.get("kind") == "organization.clearing"]

    def test_the_webhook_and_its_deliveries_are_not_found_at_once_and_are_removed(
        self, api, organization, webhook, new_webhook, emit, workers, clock
    ):
        other = new_webhook(URL, enabled=False)
        emit("For both")
        assert (len(self.delivery_keys(webhook)), len(self.delivery_keys(other))) == (4, 1)
        (delivery, *_) = webhook.list_deliveries()
        assert webhook.delete().status == 204
        for path in ("", "/deliveries", f"/deliveries/{delivery['id']}"):
            assert webhook.get(path).status_and_code == "404 not_found"
        assert webhook.retry(delivery).status_and_code == "404 not_found"
        listed = api.get_items(f"{organization.path}/webhooks", caller=organization.owner)
        assert [each["id"] for each in listed] == [other.id]
        (entry,) = list_entries(api, organization, type="organization.webhook.deleted")
        assert (entry["target"]["id"], entry["data"]["url"]) == (webhook.id, URL)
        workers.deliver()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), len(self.delivery_keys(other)), self.removal_jobs()) == ([], 1, [])

    def test_deliveries_created_after_the_deletion_are_removed_too(self, webhook, rename, workers, clock, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(fan_out, "fan_out", lambda *_: None)
            rename("On its way")
            assert webhook.delete().status == 204
            for _ in range(3):
                workers.run_until_idle()
                clock.shift(minutes=2)
            assert self.delivery_keys(webhook) == []
            assert len(self.removal_jobs()) == 1
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_many_deliveries_are_removed_in_slices(self, webhook, workers, clock, monkeypatch):
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 2)
        monkeypatch.setattr("chalicelib.kernel.work.jobs._SLICE_SECONDS", 0)
        assert webhook.delete().status == 204
        removal_messages = [body for body in workers.deliver() if "deliveries.clear" in body and "then" not in body]
        assert len(removal_messages) == 2
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_an_unreadable_log_does_not_keep_the_removal_waiting(self, organization, webhook, workers, clock):
        assert webhook.delete().status == 204
        for item in [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]:
            memory_aws.delete_item(item)
        for _ in range(7):
            workers.try_deliver()
            clock.shift(minutes=4)
            workers.run_sweep()
        workers.try_deliver()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])
