"""Changed and deleted webhooks, and their pending deliveries."""

import pytest

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.receiver import HANG, Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown, told
from tests.harness.workers import Workers

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"
UPDATED = "organization.updated"


class TestUpdateWebhook:
    @pytest.fixture
    def webhook(self, api: Api, organization: Founded) -> Hook:
        return hook(api, organization, URL, description="Feeds the lake.")

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
    def test_each_field_can_be_changed(
        self, api: Api, organization: Founded, webhook: Hook, field: str, value: object, stored_value: object
    ) -> None:
        response = change(api, webhook, **{field: value})
        assert (response.json[field], response.json["version"]) == (stored_value, 2)
        assert shown(api, webhook) == response.json
        (entry,) = log_of(api, organization, type="organization.webhook.updated")
        changed = {change["field"]: change["to"] for change in entry["changes"]}
        assert changed == {field: stored_value, **({"status": "paused"} if field == "enabled" else {})}

    def test_null_resets_a_field_to_its_default(self, api: Api, webhook: Hook) -> None:
        change(api, webhook, events=[UPDATED], enabled=False)
        record = change(api, webhook, events=None, enabled=None).json
        assert (record["events"], record["enabled"]) == (["*"], True)

    @pytest.mark.parametrize("patch", [{}, {"enabled": True}, {"url": URL, "status": "active", "secret": None}])
    def test_current_values_change_nothing(self, api: Api, organization: Founded, webhook: Hook, patch: Json) -> None:
        before = shown(api, webhook)
        assert change(api, webhook, **patch).json == before
        assert log_of(api, organization, type="organization.webhook.updated") == []

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
    def test_an_invalid_field_is_rejected(
        self, api: Api, organization: Founded, webhook: Hook, field: str, value: object
    ) -> None:
        response = api.patch(webhook.path, as_=organization.owner, json={field: value})
        assert response.code == "422 validation_failed"
        assert all(pointer.startswith(f"/{field}") for pointer in response.faults)


@pytest.mark.usefixtures("private_targets")
class TestUpdateFailingWebhook:
    @pytest.fixture
    def webhook(self, api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
        webhook = hook(api, organization, receiver.at("127.0.0.1", "/hook"), events=[UPDATED])
        workers.deliver()
        return webhook

    def test_enabling_a_disabled_webhook_resets_its_failures(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        assert shown(api, webhook)["status"] == "disabled"
        assert change(api, webhook, description="Is it?").json["status"] == "disabled"
        record = change(api, webhook, enabled=True).json
        assert (record["status"], record["enabled"]) == ("active", True)
        assert (record["disabledReason"], record["failingSince"]) == (None, None)
        receiver.answer = Reply()
        rename(api, organization, "Back")
        workers.deliver()
        assert told(receiver.requests[-1])["data"]["name"] == "Back"

    def test_another_url_does_not_enable_a_disabled_webhook(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        record = change(api, webhook, url=receiver.at("127.0.0.1", "/elsewhere")).json
        assert (record["status"], record["failingSince"]) == ("disabled", None)
        assert record["disabledReason"]
        workers.settle()
        assert len(receiver.requests) == 1

    def test_other_changes_do_not_reset_the_failures(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "Failing")
        workers.attempt()
        since = shown(api, webhook)["failingSince"]
        assert since
        record = change(api, webhook, events=["*"], description="Failing", enabled=True).json
        assert record["failingSince"] == since

    @pytest.mark.usefixtures("brisk")
    def test_another_url_of_an_unresponsive_webhook_gets_the_pending_deliveries_at_once(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answers["/hook"] = HANG
        for n in range(4):
            rename(api, organization, f"Waiting {n}")
            workers.attempt()
        assert len(receiver.requests) == 1
        change(api, webhook, url=receiver.at("127.0.0.1", "/new"))
        workers.deliver()
        assert [request.path for request in receiver.requests[1:]] == ["/new"] * 3
        names = [told(request)["data"]["name"] for request in receiver.requests]
        assert names == [f"Waiting {n}" for n in range(4)]
        clock.shift(seconds=10)
        workers.deliver()
        last_name = told(receiver.requests[-1])["data"]["name"]
        assert last_name == "Waiting 0", "the failed delivery keeps the time of its next attempt"


class TestDeleteWebhook:
    @pytest.fixture
    def webhook(self, api: Api, organization: Founded, workers: Workers) -> Hook:
        webhook = hook(api, organization, URL, events=[UPDATED], enabled=False)
        for n in range(3):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        return webhook

    @staticmethod
    def delivery_keys(webhook: Hook) -> list[str]:
        return [item["sk"] for item in cloud.stored() if item["pk"] == f"V#{webhook.id}"]

    @staticmethod
    def removal_jobs() -> list[cloud.Item]:
        return [item for item in cloud.stored() if item.get("kind") == "organization.clearing"]

    def test_the_webhook_and_its_deliveries_are_not_found_at_once(
        self, api: Api, organization: Founded, webhook: Hook, ada: Person
    ) -> None:
        (delivery, *_) = deliveries(api, webhook)
        assert api.delete(webhook.path, as_=ada).status == 204
        assert api.get(webhook.path, as_=ada).code == "404 not_found"
        assert api.get(f"{webhook.path}/deliveries", as_=ada).code == "404 not_found"
        assert api.get(f"{webhook.path}/deliveries/{delivery['id']}", as_=ada).code == "404 not_found"
        assert api.post(f"{webhook.path}/deliveries/{delivery['id']}/retry", as_=ada).code == "404 not_found"
        assert api.items(f"{organization.path}/webhooks", as_=ada) == []
        (entry,) = log_of(api, organization, type="organization.webhook.deleted")
        assert (entry["target"]["id"], entry["data"]["url"]) == (webhook.id, URL)

    def test_only_the_items_of_the_deleted_webhook_are_removed(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, clock: Clock
    ) -> None:
        other_webhook = hook(api, organization, URL, events=[UPDATED], enabled=False)
        rename(api, organization, "For both")
        workers.deliver()
        assert (len(self.delivery_keys(webhook)), len(self.delivery_keys(other_webhook))) == (4, 1)
        assert api.delete(webhook.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(minutes=2)
        workers.settle()
        assert (self.delivery_keys(webhook), len(self.delivery_keys(other_webhook)), self.removal_jobs()) == ([], 1, [])

    def test_deliveries_created_after_the_deletion_are_removed_too(
        self,
        api: Api,
        organization: Founded,
        webhook: Hook,
        workers: Workers,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            rename(api, organization, "On its way")
            assert api.delete(webhook.path, as_=organization.owner).status == 204
            for _ in range(3):
                workers.settle()
                clock.shift(minutes=2)
            assert self.delivery_keys(webhook) == []
            assert len(self.removal_jobs()) == 1
        workers.settle()
        clock.shift(minutes=2)
        workers.settle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_many_deliveries_are_removed_in_slices(
        self,
        api: Api,
        organization: Founded,
        webhook: Hook,
        workers: Workers,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 2)
        monkeypatch.setattr("chalicelib.kernel.work.jobs._SLICE_SECONDS", 0)
        assert api.delete(webhook.path, as_=organization.owner).status == 204
        removal_messages = [body for body in workers.deliver() if "deliveries.clear" in body and "then" not in body]
        assert len(removal_messages) == 2
        clock.shift(minutes=2)
        workers.settle()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])

    def test_an_unreadable_log_does_not_keep_the_removal_waiting(
        self, api: Api, organization: Founded, webhook: Hook, workers: Workers, clock: Clock
    ) -> None:
        assert api.delete(webhook.path, as_=organization.owner).status == 204
        for item in [item for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]:
            cloud.remove(item)
        for _ in range(7):
            workers.attempt()
            clock.shift(minutes=4)
            workers.sweep()
        workers.attempt()
        assert (self.delivery_keys(webhook), self.removal_jobs()) == ([], [])
