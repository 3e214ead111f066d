import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.channels import (
    create_channel,
    get_channel,
    post_channel,
    received_texts,
    send_test_message,
    stored_channel,
    stored_messages,
    update_channel,
)
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.receiver import Receiver, Reply

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

SLACK_URL = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
MASKED_URL = "https://hooks.slack.com/…wxyz"


class TestCreateIntegrationChannel:
    def test_the_required_fields_suffice(self, api, organization):
        response = post_channel(api, organization, SLACK_URL)
        assert response.status == 201
        record = response.json
        assert (record["provider"], record["name"], record["events"]) == ("slack", "#engines", ["*"])
        assert (record["enabled"], record["status"], record["lastError"]) == (True, "active", None)
        assert response.location == f"{organization.path}/integration-channels/{record['id']}"

    def test_every_response_masks_the_url(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL)
        assert channel.record["config"] == {"webhookUrl": MASKED_URL}
        assert get_channel(api, channel) == channel.record
        assert api.get_items(f"{organization.path}/integration-channels", caller=organization.owner) == [channel.record]
        (entry,) = list_entries(api, organization, type="organization.integration_channel.created")
        assert entry["data"] == channel.record
        assert entry["target"] == {"type": "organization.integration_channel", "id": channel.id, "name": "#engines"}

    def test_the_table_does_not_contain_the_url(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL)
        assert stored_channel(channel).decrypted_url == SLACK_URL
        assert b"XXXXwxyz" not in repr(memory_aws.all_items()).encode()

    def test_a_short_url_is_masked_after_the_host(self, api, organization):
        channel = create_channel(api, organization, "http://127.0.0.1:9999/hook", provider="webhook")
        assert channel.record["config"] == {"webhookUrl": "http://127.0.0.1:9999/…"}

    @pytest.mark.parametrize(
        ("fields", "expected_errors"),
        [
            ({"provider": "irc"}, {"/provider": "not_one_of"}),
            ({"provider": None}, {"/provider": "required"}),
            ({"name": " "}, {"/name": "too_short"}),
            ({"name": None}, {"/name": "required"}),
            ({"config": None}, {"/config": "required"}),
            ({"config": {}}, {"/config/webhookUrl": "required"}),
            ({"config": SLACK_URL}, {"/config": "not_an_object"}),
            ({"config": {"webhookUrl": 7}}, {"/config/webhookUrl": "wrong_type"}),
            ({"config": {"webhookUrl": "no url"}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": MASKED_URL}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": SLACK_URL, "token": "x"}}, {"/config/token": "unknown_field"}),
            ({"events": []}, {"/events": "too_few"}),
            ({"events": ["organization.*", "x.*"]}, {"/events/1": "malformed"}),
            ({"status": "active"}, {"/status": "unknown_field"}),
            ({"enabled": "yes"}, {"/enabled": "wrong_type"}),
        ],
    )
    def test_an_invalid_body_is_rejected(self, api, organization, fields, expected_errors):
        response = post_channel(api, organization, SLACK_URL, **fields)
        assert (response.status_and_code, response.errors) == ("422 validation_failed", expected_errors)

    def test_the_error_for_an_unknown_event_refers_to_the_list_of_event_types(self, api, organization):
        (error,) = post_channel(api, organization, SLACK_URL, events=["weather.*"]).json["errors"]
        assert "'weather.*'" in error["detail"]
        assert "GET /event-types" in error["detail"]

    def test_only_admins_and_keys_with_the_scope_may_create(self, api, organization, grace, edith, stranger):
        path = f"{organization.path}/integration-channels"
        body = {"provider": "slack", "name": "#engines", "config": {"webhookUrl": SLACK_URL}}
        write_key, read_key = (create_api_key(api, organization, f"channels:{scope}") for scope in ("write", "read"))
        callers = (grace, write_key, read_key, edith, stranger)
        responses = [api.post(path, caller=caller, json=body) for caller in callers]
        assert [response.status for response in responses] == [201, 201, 403, 403, 404]
        assert len(api.get_items(path, caller=read_key)) == 2

    def test_an_organization_has_at_most_50_channels(self, api, organization, monkeypatch):
        quota = IntegrationChannel.quota
        assert quota is not None
        assert quota.limit == 50
        monkeypatch.setattr(IntegrationChannel, "quota", replace(quota, limit=2))
        channels = [create_channel(api, organization, SLACK_URL) for _ in range(2)]
        assert post_channel(api, organization, SLACK_URL).status_and_code == "409 limit_exceeded"
        assert api.delete(channels[0].path, caller=organization.owner).status == 204
        assert post_channel(api, organization, SLACK_URL).status == 201


class TestUpdateIntegrationChannel:
    def test_absent_fields_are_unchanged(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL, events=["organization.updated"])
        changed = update_channel(api, channel, name="#looms").json
        expected = {**channel.record, "name": "#looms", "version": 2, "updatedAt": changed["updatedAt"]}
        assert changed == expected == get_channel(api, channel)
        assert stored_channel(channel).decrypted_url == SLACK_URL

    @pytest.mark.parametrize("config", [{}, {"webhookUrl": MASKED_URL}, {"webhookUrl": SLACK_URL}])
    def test_the_masked_or_current_url_changes_nothing(self, api, organization, config):
        channel = create_channel(api, organization, SLACK_URL)
        assert update_channel(api, channel, config=config).json == channel.record
        assert update_channel(api, channel, **{**channel.record, "config": config}).json == channel.record
        assert list_entries(api, organization, type="organization.integration_channel.updated") == []
        assert stored_channel(channel).decrypted_url == SLACK_URL

    def test_another_masked_url_is_rejected(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL)
        body = {"config": {"webhookUrl": "https://hooks.slack.com/…abcd"}}
        response = api.patch(channel.path, caller=organization.owner, json=body)
        assert response.errors == {"/config/webhookUrl": "malformed"}
        assert "masked" in response.json["errors"][0]["detail"]
        assert stored_channel(channel).decrypted_url == SLACK_URL

    def test_null_resets_a_field_to_its_default(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL, events=["organization.updated"], enabled=False)
        changed = update_channel(api, channel, events=None, enabled=None).json
        assert (changed["events"], changed["enabled"]) == (["*"], True)
        for name in ("name", "provider", "config"):
            response = api.patch(channel.path, caller=organization.owner, json={name: None})
            assert response.errors == {f"/{name}": "required"}

    def test_the_entry_masks_the_new_url(self, api, organization):
        channel = create_channel(api, organization, SLACK_URL)
        url = SLACK_URL.replace("wxyz", "abcd")
        update_channel(api, channel, config={"webhookUrl": url})
        (entry,) = list_entries(api, organization, type="organization.integration_channel.updated")
        masked = {"webhookUrl": "https://hooks.slack.com/…abcd"}
        assert entry["changes"] == [{"field": "config", "from": {"webhookUrl": MASKED_URL}, "to": masked}]
        assert "XXXX" not in json.dumps(entry)
        assert stored_channel(channel).decrypted_url == url

    def test_another_url_resets_the_retry_delay(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(status=429, headers={"Retry-After": "600"})
        send_test_message(api, channel)
        update_channel(api, channel, name="#looms")
        assert str(stored_channel(channel).free_at) > after(now(), seconds=500)
        update_channel(
            api, channel, config={"webhookUrl": receiver.url_at("127.0.0.1", "/services/T0/B0/another-room")}
        )
        assert stored_channel(channel).free_at is None


class TestDeleteIntegrationChannel:
    def test_the_channel_and_its_messages_are_removed(self, api, organization, workers, receiver):
        channel = create_channel(api, organization, receiver)
        workers.deliver()
        assert stored_messages(channel)
        assert api.delete(channel.path, caller=organization.owner).status == 204
        assert api.get(channel.path, caller=organization.owner).status_and_code == "404 not_found"
        workers.run_until_idle()
        assert stored_messages(channel) == []
        assert list_entries(api, organization)[0]["type"] == "organization.integration_channel.deleted"
        assert len(receiver.requests) == 1


class TestTestIntegrationChannel:
    def test_a_message_is_sent_at_once(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver)
        result = send_test_message(api, channel)
        assert (result["delivered"], result["statusCode"], result["error"]) == (True, 200, None)
        assert result["durationMs"] >= 0
        assert received_texts(receiver) == ["Ada Lovelace sends a test: the messages of #engines arrive here."]
        (request,) = receiver.requests
        assert (request.path, request.headers["Content-Type"]) == (
            "/services/T0/B0/secret-of-the-room",
            "application/json",
        )

    def test_a_test_message_is_logged(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver)
        for _ in range(2):
            send_test_message(api, channel)
        entries = list_entries(api, organization, type="organization.integration_channel.tested")
        assert [(entry["data"], entry["changes"]) for entry in entries] == [(channel.record, [])] * 2
        assert get_channel(api, channel) == channel.record

    def test_a_disabled_channel_can_be_tested(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver, enabled=False)
        assert send_test_message(api, channel)["delivered"]
        assert get_channel(api, channel)["enabled"] is False

    def test_a_permanent_failure_needs_attention_until_a_test_succeeds(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(status=404, body=b"no_service")
        result = send_test_message(api, channel)
        assert (result["delivered"], result["statusCode"]) == (False, 404)
        failed_channel = get_channel(api, channel)
        assert (failed_channel["status"], failed_channel["version"]) == ("needs_attention", 2)
        assert (
            failed_channel["lastError"]
            == result["error"]
            == ("Slack takes nothing at this URL any more (404). Give the channel another.")
        )
        (entry,) = list_entries(api, organization, type="organization.integration_channel.tested")
        assert [change["field"] for change in entry["changes"]] == ["status", "lastError"]
        receiver.default_reply = Reply()
        assert send_test_message(api, channel)["delivered"]
        assert get_channel(api, channel) == {
            **channel.record,
            "version": 3,
            "updatedAt": get_channel(api, channel)["updatedAt"],
        }

    @pytest.mark.parametrize("status", [408, 413, 425, 429, 500, 503])
    def test_a_temporary_failure_does_not_change_the_channel(self, api, organization, receiver, status):
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(status=status)
        assert send_test_message(api, channel)["error"] == f"Slack answered {status}."
        assert get_channel(api, channel) == channel.record

    def test_a_missing_response_is_reported(self, api, organization, receiver):
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(raw_response=b"", closes_connection=True)
        result = send_test_message(api, channel)
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert result["error"]
        assert get_channel(api, channel) == channel.record

    def test_the_response_of_a_blocked_address_is_not_shown(self, api, organization, receiver, configure):
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(body=b"inner secret")
        configure(webhook_allow_private="0")
        response = api.post(f"{channel.path}/test", caller=organization.owner)
        assert (response.json["delivered"], response.json["statusCode"]) == (False, None)
        assert response.json["error"] == "The host has no public address."
        assert receiver.requests == []


class TestNeedsAttention:
    @pytest.fixture
    def failed_channel(self, api: ApiClient, organization: CreatedOrganization, receiver: Receiver) -> Any:
        """A channel that needs attention, because its provider answered that the URL is gone."""
        channel = create_channel(api, organization, receiver)
        receiver.default_reply = Reply(status=410)
        send_test_message(api, channel)
        assert get_channel(api, channel)["status"] == "needs_attention"
        return channel

    @pytest.mark.parametrize(
        "fields", [{"name": "#looms"}, {"events": ["organization.*"]}, {"enabled": True}, {"enabled": False}]
    )
    def test_other_changes_do_not_reset_the_status(self, api, failed_channel, fields):
        assert update_channel(api, failed_channel, **fields).json["status"] == "needs_attention"

    @pytest.mark.parametrize("fields", [{"config": {"webhookUrl": SLACK_URL}}, {"provider": "webhook"}])
    def test_another_url_or_provider_resets_the_status(self, api, failed_channel, fields):
        changed = update_channel(api, failed_channel, **fields).json
        assert (changed["status"], changed["lastError"]) == ("active", None)

    def test_disabling_and_enabling_resets_the_status(self, api, failed_channel):
        assert update_channel(api, failed_channel, enabled=False).json["lastError"] is not None
        changed = update_channel(api, failed_channel, enabled=True).json
        assert (changed["status"], changed["lastError"]) == ("active", None)


class TestErasure:
    def test_names_and_urls_are_redacted(self, api, organization, edith, workers, clock, receiver):
        url = receiver.url_at("127.0.0.1", f"/hooks?for={edith.email}&token=0123456789")
        channel_with_name = create_channel(api, organization, SLACK_URL, name=f"Mail to {edith.email}")
        channel_with_url = create_channel(api, organization, url, provider="webhook")
        complete_erasure(api, workers, clock, organization, email=edith.email)
        record = get_channel(api, channel_with_name)
        assert (record["name"], record["status"]) == ("Mail to …", "active")
        assert stored_channel(channel_with_name).decrypted_url == SLACK_URL
        assert stored_channel(channel_with_url).decrypted_url == receiver.url
        assert get_channel(api, channel_with_url)["config"] == {"webhookUrl": f"{receiver.url}…"}
        assert get_channel(api, channel_with_url)["status"] == "needs_attention"
        assert "erased" in get_channel(api, channel_with_url)["lastError"]

    def test_stored_responses_are_redacted(self, api, organization, edith, workers, clock, receiver):
        receiver.default_reply = Reply(body=f"thanks, {edith.email}".encode())
        channel = create_channel(api, organization, receiver, events=["organization.integration_channel.created"])
        workers.deliver()
        assert stored_messages(channel)[0].attempts[0]["response_body"] == f"thanks, {edith.email}"
        complete_erasure(api, workers, clock, organization, email=edith.email)
        assert stored_messages(channel)[0].attempts[0]["response_body"] == "thanks, …"
