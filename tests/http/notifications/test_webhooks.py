"""Webhooks: creating, listing, changing and deleting them, their secrets and limits, and their pending deliveries."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.logic import fan_out
from chalicelib.features.notifications.models.standard_webhooks import decode_secret
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.receiver import Reply
from tests.harness.webhooks import UPDATED, parse_event, received_names

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"

INVALID_VALUES: dict[str, list[Any]] = {
    "url": [
        *(None, "", 7, "hooks.example.com", "https://user:pass@example.com/", "https://example.com/#here"),
        *("https://127.0.0.1/", f"https://example.com/{'x' * 2000}"),
    ],
    "events": [[], "*", ["organization.exploded"], ["weather.*"], ["organization"], [""], [7], [UPDATED] * 41],
    "description": ["x" * 4001, "\x07"],
    "enabled": ["yes", 1],
    "secret": ["sesame", "whsec_c2hvcnQ=", f"whsec_{to_base64(bytes(65))}", ""],
}


def post_webhook(api: ApiClient, organization: CreatedOrganization, **fields: Any) -> ApiResponse:
    """Request a webhook as the owner, and return the response."""
    return api.post(f"{organization.path}/webhooks", caller=organization.owner, json={"url": URL, **fields})


@pytest.fixture
def unreachable_webhook(new_webhook):
    return new_webhook(URL, events=["*"], description="Feeds the lake.")


class TestCreateWebhook:
    def test_only_a_url_is_required_and_null_means_the_default(self, api, organization):
        defaults = {"url": URL, "events": ["*"], "description": None, "enabled": True, "status": "active", "version": 1}
        defaults |= {"failingSince": None, "disabledReason": None}
        for fields in ({}, dict.fromkeys(["events", "description", "secret", "enabled"])):
            record = post_webhook(api, organization, **fields).json
            assert record | defaults == record

    def test_accepts_all_fields_and_merges_duplicate_event_types(self, api, organization):
        fields = {"events": [UPDATED, "organization.member.*"], "description": "Feeds the lake.", "enabled": False}
        record = post_webhook(api, organization, secret=SECRET, **fields).json
        assert record | fields | {"secret": SECRET, "status": "paused"} == record
        assert post_webhook(api, organization, events=["*", UPDATED, "*"]).json["events"] == ["*", UPDATED]

    def test_a_secret_is_not_shown_again_and_stored_encrypted(self, api, organization):
        records = [post_webhook(api, organization, **fields).json for fields in ({}, {}, {"secret": SECRET})]
        # They are listed in the order of their creation.
        webhooks = api.get_items(f"{organization.path}/webhooks", caller=organization.owner, query={"limit": 2})
        assert webhooks == [{**record, "secret": None} for record in records]
        stored_text = repr(memory_aws.all_items())
        for secret in {record["secret"] for record in records}:
            assert secret[6:] not in stored_text
            assert repr(decode_secret(secret))[2:-1] not in stored_text

    @pytest.mark.parametrize("field", INVALID_VALUES)
    def test_invalid_values_of_a_field_are_rejected_as_in_a_change(self, api, organization, unreachable_webhook, field):
        for value in INVALID_VALUES[field]:
            for response in (
                post_webhook(api, organization, **{field: value}),
                unreachable_webhook.patch("", {field: value}),
            ):
                assert response.status_and_code == "422 validation_failed", value
                assert all(pointer.startswith(f"/{field}") for pointer in response.errors), value

    @pytest.mark.parametrize(
        ("pattern", "advice"),
        [
            ("organization.exploded", "GET /event-types"),
            *((text, "did you mean 'organization.*'?") for text in ("organization", "organization.", "ORGANIZATION.*")),
        ],
    )
    def test_the_error_for_an_unknown_event_type_names_it_and_gives_advice(self, api, organization, pattern, advice):
        answer = post_webhook(api, organization, events=[UPDATED, pattern])
        assert answer.errors == {"/events/1": "malformed"}
        detail = answer.json["errors"][0]["detail"]
        assert (repr(pattern) in detail, advice in detail) == (True, True)


class TestLimit:
    @pytest.fixture(autouse=True)
    def three_per_organization(self, monkeypatch):
        assert Webhook.quota.limit == 50
        monkeypatch.setattr(Webhook, "quota", replace(Webhook.quota, limit=3))

    def test_the_number_per_organization_is_limited_and_a_deletion_allows_another(
        self, api, organization, new_webhook, ada
    ):
        webhooks = [new_webhook(URL, enabled=False) for _ in range(3)]
        assert post_webhook(api, organization).status_and_code == "409 limit_exceeded"
        assert post_webhook(api, create_organization(api, ada)).status == 201
        assert [webhooks[1].delete().status for _ in range(2)] == [204, 404]
        assert [post_webhook(api, organization).status for _ in range(2)] == [201, 409]

    def test_applies_to_concurrent_requests(self, api, organization):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: post_webhook(api, organization), range(5)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409]


class TestUpdateWebhook:
    @pytest.mark.parametrize(
        ("fields", "changed"),
        [
            ({"url": "https://EXAMPLE.com:8443/a"}, {"url": "https://example.com:8443/a"}),
            ({"events": [UPDATED], "description": " Feeds  the sea. "}, {"description": "Feeds  the sea."}),
            ({"description": None}, {"description": None}),
            ({"enabled": False}, {"enabled": False, "status": "paused"}),
        ],
    )
    def test_each_field_can_be_changed(self, unreachable_webhook, fields, changed):
        before = unreachable_webhook.read()
        record = unreachable_webhook.update(**fields)
        assert record == {**before, **fields, **changed, "version": 2, "updatedAt": record["updatedAt"]}
        assert unreachable_webhook.read() == record

    def test_null_resets_a_field_to_its_default(self, unreachable_webhook):
        unreachable_webhook.update(events=[UPDATED], enabled=False)
        record = unreachable_webhook.update(events=None, enabled=None)
        assert (record["events"], record["enabled"]) == (["*"], True)

    def test_current_values_change_nothing(self, api, organization, unreachable_webhook):
        before = unreachable_webhook.read()
        for patch in ({}, {"enabled": True}, {"url": URL, "status": "active", "secret": None}):
            assert unreachable_webhook.update(**patch) == before
        assert list_entries(api, organization, type="organization.webhook.updated") == []

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
        assert record | {"status": "active", "enabled": True, "disabledReason": None, "failingSince": None} == record
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


def leftovers(webhook):
    """Return the keys of the stored deliveries of a webhook, and the removal jobs."""
    items = memory_aws.all_items()
    jobs = [item["sk"] for item in items if item.get("kind") == "organization.clearing"]
    return [item["sk"] for item in items if item["pk"] == f"V#{webhook.id}"], jobs


class TestDeleteWebhook:
    @pytest.fixture
    def webhook(self, new_webhook, emit):
        webhook = new_webhook(URL, enabled=False)
        emit("Name 0", "Name 1", "Name 2")
        return webhook

    def test_the_webhook_and_its_deliveries_are_not_found_at_once_and_are_removed(
        self, api, organization, webhook, new_webhook, emit, workers, run_tasks_after
    ):
        other = new_webhook(URL, enabled=False)
        emit("For both")
        (delivery, *deliveries) = webhook.list_deliveries()
        assert (len(deliveries), len(leftovers(webhook)[0]), len(other.list_deliveries())) == (3, 4, 1)
        assert webhook.delete().status == 204
        for path in ("", "/deliveries", f"/deliveries/{delivery['id']}"):
            assert webhook.get(path).status_and_code == "404 not_found"
        assert webhook.retry(delivery).status_and_code == "404 not_found"
        listed = api.get_items(f"{organization.path}/webhooks", caller=organization.owner)
        assert [each["id"] for each in listed] == [other.id]
        workers.deliver()
        run_tasks_after(minutes=2)
        assert (leftovers(webhook), len(other.list_deliveries())) == (([], []), 1)

    def test_deliveries_created_after_the_deletion_are_removed_too(self, webhook, rename, workers, clock, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(fan_out, "fan_out", lambda *_: None)
            rename("On its way")
            assert webhook.delete().status == 204
            for _ in range(3):
                workers.run_until_idle()
                clock.shift(minutes=2)
            deliveries, jobs = leftovers(webhook)
            assert (deliveries, len(jobs)) == ([], 1)
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert leftovers(webhook) == ([], [])

    def test_many_deliveries_are_removed_in_slices(self, webhook, workers, run_tasks_after, monkeypatch):
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 2)
        monkeypatch.setattr("chalicelib.kernel.work.jobs._SLICE_SECONDS", 0)
        assert webhook.delete().status == 204
        removal_messages = [body for body in workers.deliver() if "deliveries.clear" in body and "then" not in body]
        assert len(removal_messages) == 2
        run_tasks_after(minutes=2)
        assert leftovers(webhook) == ([], [])

    def test_an_unreadable_log_does_not_keep_the_removal_waiting(self, organization, webhook, workers, clock):
        assert webhook.delete().status == 204
        for item in [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]:
            memory_aws.delete_item(item)
        for _ in range(7):
            workers.try_deliver()
            clock.shift(minutes=4)
            workers.run_sweep()
        workers.try_deliver()
        assert leftovers(webhook) == ([], [])
