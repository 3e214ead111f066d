"""Changed and deleted webhooks, and their pending deliveries."""

import pytest

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import NO_REPLY, Receiver, Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_webhook,
    list_deliveries,
    parse_event,
    rename_organization,
    update_webhook,
)
from tests.harness.workers import Workers

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"
UPDATED = "organization.updated"


class TestUpdateWebhook:
    @pytest.fixture
    def webhook(self, api: ApiClient, organization: CreatedOrganization) -> CreatedWebhook:
        return create_webhook(api, organization, URL, description="Feeds the lake.")

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
        response = update_webhook(api, webhook, **{field: value})
        assert (response.json[field], response.json["version"]) == (stored_value, 2)
        assert get_webhook(api, webhook) == response.json
        (entry,) = list_entries(api, organization, type="organization.webhook.updated")
        changed = {change["field"]: change["to"] for change in entry["changes"]}
        assert changed == {field: stored_value, **({"status": "paused"} if field == "enabled" else {})}

    def test_null_resets_a_field_to_its_default(self, api, webhook):
        update_webhook(api, webhook, events=[UPDATED], enabled=False)
        record = update_webhook(api, webhook, events=None, enabled=None).json
        assert (record["events"], record["enabled"]) == (["*"], True)

    @pytest.mark.parametrize("patch", [{}, {"enabled": True}, {"url": URL, "status": "active", "secret": None}])
    def test_current_values_change_nothing(self, api, organization, webhook, patch):
        before = get_webhook(api, webhook)
        assert update_webhook(api, webhook, **patch).json == before
        assert list_entries(api, organization, type="organization.webhook.updated") == []

    @pytest.mark.parametrize(
        ("field", "value"),
        [
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
        ],
    )
    def test_an_invalid_field_is_rejected(self, api, organization, webhook, field, value):
        response = api.patch(webhook.path, caller=organization.owner, json={field: value})
        assert response.status_and_code == "422 validation_failed"
        assert all(pointer.startswith(f"/{field}") for pointer in response.errors)


@pytest.mark.usefixtures("private_targets_allowed")
class TestUpdateFailingWebhook:
    @pytest.fixture
    def webhook(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, receiver: Receiver
    ) -> CreatedWebhook:
        webhook = create_webhook(api, organization, receiver.url_at("127.0.0.1", "/hook"), events=[UPDATED])
        workers.deliver()
        return webhook

    def test_enabling_a_disabled_webhook_resets_its_failures(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        assert get_webhook(api, webhook)["status"] == "disabled"
        assert update_webhook(api, webhook, description="Is it?").json["status"] == "disabled"
        record = update_webhook(api, webhook, enabled=True).json
        assert (record["status"], record["enabled"]) == ("active", True)
        assert (record["disabledReason"], record["failingSince"]) == (None, None)
        receiver.default_reply = Reply()
        rename_organization(api, organization, "Back")
        workers.deliver()
        assert parse_event(receiver.requests[-1])["data"]["name"] == "Back"

    def test_another_url_does_not_enable_a_disabled_webhook(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        record = update_webhook(api, webhook, url=receiver.url_at("127.0.0.1", "/elsewhere")).json
        assert (record["status"], record["failingSince"]) == ("disabled", None)
        assert record["disabledReason"]
        workers.run_until_idle()
        assert len(receiver.requests) == 1

    def test_other_changes_do_not_reset_the_failures(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "Failing")
        workers.try_deliver()
        since = get_webhook(api, webhook)["failingSince"]
        assert since
        record = update_webhook(api, webhook, events=["*"], description="Failing", enabled=True).json
        assert record["failingSince"] == since

    @pytest.mark.usefixtures("short_webhook_timeout")
    def test_another_url_of_an_unresponsive_webhook_gets_the_pending_deliveries_at_once(
        self, api, organization, webhook, workers, receiver, clock
    ):
        receiver.replies_by_path["/hook"] = NO_REPLY
        for n in range(4):
            rename_organization(api, organization, f"Waiting {n}")
            workers.try_deliver()
        assert len(receiver.requests) == 1
        update_webhook(api, webhook, url=receiver.url_at("127.0.0.1", "/new"))
        workers.deliver()
        assert [request.path for request in receiver.requests[1:]] == ["/new"] * 3
        names = [parse_event(request)["data"]["name"] for request in receiver.requests]
        assert names == [f"Waiting {n}" for n in range(4)]
        clock.shift(seconds=10)
        workers.deliver()
        last_name = parse_event(receiver.requests[-1])["data"]["name"]
        assert last_name == "Waiting 0", "the failed delivery keeps the time of its next attempt"


class TestDeleteWebhook:
    @pytest.fixture
    def webhook(self, api: ApiClient, organization: CreatedOrganization, workers: Workers) -> CreatedWebhook:
        webhook = create_webhook(api, organization, URL, events=[UPDATED], enabled=False)
        for n in range(3):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        return webhook

    @staticmethod
    def delivery_keys(webhook: CreatedWebhook) -> list[str]:
        return [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}"]

    @staticmethod
    def removal_jobs() -> list[memory_aws.Item]:
        return [item for item in memory_aws.all_items() if item.get("kind") == "organization.clearing"]

    def test_the_webhook_and_its_deliveries_are_not_found_at_once(self, api, organization, webhook, ada):
        (delivery, *_) = list_deliveries(api, webhook)
        assert api.delete(webhook.path, caller=ada).status == 204
        assert api.get(webhook.path, caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{webhook.path}/deliveries", caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{webhook.path}/deliveries/{delivery['id']}", caller=ada).status_and_code == "404 not_found"
        assert (
            api.post(f"{webhook.path}/deliveries/{delivery['id']}/retry", caller=ada).status_and_code == "404 not_found"
        )
        assert api.get_items(f"{organization.path}/webhooks", caller=ada) == []
        (entry,) = list_entries(api, organization, type="organization.webhook.deleted")
        assert (entry["target"]["id"], entry["data"]["url"]) == (webhook.id, URL)

    def test_only_the_items_of_the_deleted_webhook_are_removed(self, api, organization, webhook, workers, clock):
        other_webhook = create_webhook(api, organization, URL, events=[UPDATED], enabled=False)
        rename_organization(api, organization, "For both")
        workers.deliver()
        assert (len(self.delivery_keys(webhook)), len(self.delivery_keys(other_webhook))) == (4, 1)
        assert api.delete(webhook.path, caller=organization.owner).status == 204
        workers.deliver()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), len(self.delivery_keys(other_webhook)), self.removal_jobs()) == ([], 1, [])

    def test_deliveries_created_after_the_deletion_are_removed_too(
        self, api, organization, webhook, workers, clock, monkeypatch
    ):
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            rename_organization(api, organization, "On its way")
            assert api.delete(webhook.path, caller=organization.owner).status == 204
            for _ in range(3):
                workers.run_until_idle()
                clock.shift(minutes=2)
            assert self.delivery_keys(webhook) == []
            assert len(self.removal_jobs()) == 1
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_many_deliveries_are_removed_in_slices(self, api, organization, webhook, workers, clock, monkeypatch):
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 2)
        monkeypatch.setattr("chalicelib.kernel.work.jobs._SLICE_SECONDS", 0)
        assert api.delete(webhook.path, caller=organization.owner).status == 204
        removal_messages = [body for body in workers.deliver() if "deliveries.clear" in body and "then" not in body]
        assert len(removal_messages) == 2
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_an_unreadable_log_does_not_keep_the_removal_waiting(self, api, organization, webhook, workers, clock):
        assert api.delete(webhook.path, caller=organization.owner).status == 204
        for item in [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]:
            memory_aws.delete_item(item)
        for _ in range(7):
            workers.try_deliver()
            clock.shift(minutes=4)
            workers.run_sweep()
        workers.try_deliver()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])
