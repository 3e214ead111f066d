import json
from dataclasses import replace

import pytest

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.channels import post_channel, received_texts
from tests.harness.erasures import complete_erasure
from tests.harness.receiver import Reply

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

SLACK_URL = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
MASKED_URL = "https://hooks.slack.com/…wxyz"
ANOTHER_URL = SLACK_URL.replace("wxyz", "abcd")
CHANNEL_EVENT = "organization.integration_channel"


@pytest.fixture
def slack_channel(new_channel):
    """A channel that cannot be reached in tests."""
    return new_channel(SLACK_URL)


class TestCreateIntegrationChannel:
    def test_the_required_fields_suffice_and_every_response_masks_the_url(self, api, organization):
        response = post_channel(api, organization, SLACK_URL)
        assert response.status == 201
        record, path = response.json, f"{organization.path}/integration-channels"
        assert (record["provider"], record["name"], record["events"]) == ("slack", "#engines", ["*"])
        assert (record["enabled"], record["status"], record["lastError"]) == (True, "active", None)
        assert record["config"] == {"webhookUrl": MASKED_URL}
        assert response.location == f"{path}/{record['id']}"
        assert api.get(response.location, caller=organization.owner).json == record
        assert api.get_items(path, caller=organization.owner) == [record]
        (entry,) = list_entries(api, organization, type=f"{CHANNEL_EVENT}.created")
        assert entry["data"] == record
        assert entry["target"] == {"type": CHANNEL_EVENT, "id": record["id"], "name": "#engines"}

    def test_the_table_does_not_contain_the_url(self, slack_channel):
        assert slack_channel.stored().decrypted_url == SLACK_URL
        assert b"XXXXwxyz" not in repr(memory_aws.all_items()).encode()

    def test_a_short_url_is_masked_after_the_host(self, new_channel):
        channel = new_channel("http://127.0.0.1:9999/hook", provider="webhook")
        assert channel.record["config"] == {"webhookUrl": "http://127.0.0.1:9999/…"}

    def test_invalid_bodies_are_rejected(self, api, organization):
        for fields, expected_errors in (
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
        ):
            response = post_channel(api, organization, SLACK_URL, **fields)
            assert (response.status_and_code, response.errors) == ("422 validation_failed", expected_errors)

    def test_the_error_for_an_unknown_event_refers_to_the_list_of_event_types(self, api, organization):
        (error,) = post_channel(api, organization, SLACK_URL, events=["weather.*"]).json["errors"]
        assert "'weather.*'" in error["detail"]
        assert "GET /event-types" in error["detail"]

    def test_an_organization_has_at_most_50_channels(self, api, organization, new_channel, monkeypatch):
        quota = IntegrationChannel.quota
        assert quota is not None
        assert quota.limit == 50
        monkeypatch.setattr(IntegrationChannel, "quota", replace(quota, limit=2))
        channel, _ = (new_channel(SLACK_URL) for _ in range(2))
        assert post_channel(api, organization, SLACK_URL).status_and_code == "409 limit_exceeded"
        assert channel.delete().status == 204
        assert post_channel(api, organization, SLACK_URL).status == 201


class TestUpdateIntegrationChannel:
    def test_absent_fields_are_unchanged(self, slack_channel):
        changed = slack_channel.update(name="#looms")
        expected = {**slack_channel.record, "name": "#looms", "version": 2, "updatedAt": changed["updatedAt"]}
        assert changed == expected == slack_channel.read()
        assert slack_channel.stored().decrypted_url == SLACK_URL

    def test_the_masked_or_current_url_changes_nothing_and_another_masked_url_is_rejected(
        self, api, organization, slack_channel
    ):
        for config in ({}, {"webhookUrl": MASKED_URL}, {"webhookUrl": SLACK_URL}):
            assert slack_channel.update(config=config) == slack_channel.record
            assert slack_channel.update(**{**slack_channel.record, "config": config}) == slack_channel.record
        response = slack_channel.patch("", {"config": {"webhookUrl": "https://hooks.slack.com/…abcd"}})
        assert response.errors == {"/config/webhookUrl": "malformed"}
        assert "masked" in response.json["errors"][0]["detail"]
        assert list_entries(api, organization, type=f"{CHANNEL_EVENT}.updated") == []
        assert slack_channel.stored().decrypted_url == SLACK_URL

    def test_null_resets_a_field_to_its_default(self, new_channel):
        channel = new_channel(SLACK_URL, enabled=False)
        changed = channel.update(events=None, enabled=None)
        assert (changed["events"], changed["enabled"]) == (["*"], True)
        for name in ("name", "provider", "config"):
            assert channel.patch("", {name: None}).errors == {f"/{name}": "required"}

    def test_the_entry_masks_the_new_url(self, api, organization, slack_channel):
        slack_channel.update(config={"webhookUrl": ANOTHER_URL})
        (entry,) = list_entries(api, organization, type=f"{CHANNEL_EVENT}.updated")
        masked = {"webhookUrl": "https://hooks.slack.com/…abcd"}
        assert entry["changes"] == [{"field": "config", "from": {"webhookUrl": MASKED_URL}, "to": masked}]
        assert "XXXX" not in json.dumps(entry)
        assert slack_channel.stored().decrypted_url == ANOTHER_URL

    def test_another_url_resets_the_retry_delay(self, channel, receiver):
        receiver.default_reply = Reply(status=429, headers={"Retry-After": "600"})
        channel.send_test()
        channel.update(name="#looms")
        assert str(channel.stored().free_at) > after(now(), seconds=500)
        channel.update(config={"webhookUrl": ANOTHER_URL})
        assert channel.stored().free_at is None


def test_a_deleted_channel_and_its_messages_are_removed(api, organization, new_channel, workers, receiver):
    channel = new_channel(receiver, events=["*"])
    workers.deliver()
    assert channel.messages()
    assert channel.delete().status == 204
    assert channel.get().status_and_code == "404 not_found"
    workers.run_until_idle()
    assert channel.messages() == []
    assert list_entries(api, organization)[0]["type"] == f"{CHANNEL_EVENT}.deleted"
    assert len(receiver.requests) == 1


@pytest.mark.usefixtures("pauses_by_clock")
class TestTestIntegrationChannel:
    def test_a_message_is_sent_at_once_and_logged(self, api, organization, channel, receiver):
        result = channel.send_test()
        assert (result["delivered"], result["statusCode"], result["error"]) == (True, 200, None)
        assert result["durationMs"] >= 0
        assert received_texts(receiver) == ["Ada Lovelace sends a test: the messages of #engines arrive here."]
        (request,) = receiver.requests
        assert request.path == "/services/T0/B0/secret-of-the-room"
        assert request.headers["Content-Type"] == "application/json"
        channel.send_test()
        entries = list_entries(api, organization, type=f"{CHANNEL_EVENT}.tested")
        assert [(entry["data"], entry["changes"]) for entry in entries] == [(channel.record, [])] * 2
        assert channel.read() == channel.record

    def test_a_disabled_channel_can_be_tested(self, new_channel, receiver):
        channel = new_channel(receiver, enabled=False)
        assert channel.send_test()["delivered"]
        assert channel.read()["enabled"] is False

    def test_a_permanent_failure_needs_attention_until_a_test_succeeds(self, api, organization, channel, receiver):
        receiver.default_reply = Reply(status=404, body=b"no_service")
        result = channel.send_test()
        assert (result["delivered"], result["statusCode"]) == (False, 404)
        assert result["error"] == "Slack takes nothing at this URL any more (404). Give the channel another."
        failed = channel.read()
        assert (failed["status"], failed["version"]) == ("needs_attention", 2)
        assert failed["lastError"] == result["error"]
        (entry,) = list_entries(api, organization, type=f"{CHANNEL_EVENT}.tested")
        assert [change["field"] for change in entry["changes"]] == ["status", "lastError"]
        receiver.default_reply = Reply()
        assert channel.send_test()["delivered"]
        current = channel.read()
        assert current == {**channel.record, "version": 3, "updatedAt": current["updatedAt"]}

    def test_a_temporary_failure_does_not_change_the_channel(self, channel, receiver):
        for status in (408, 413, 425, 429, 500, 503):
            receiver.default_reply = Reply(status=status)
            assert channel.send_test()["error"] == f"Slack answered {status}."
        receiver.default_reply = Reply(raw_response=b"", closes_connection=True)
        result = channel.send_test()
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert result["error"]
        assert channel.read() == channel.record

    def test_the_response_of_a_blocked_address_is_not_shown(self, channel, receiver, configure):
        receiver.default_reply = Reply(body=b"inner secret")
        configure(webhook_allow_private="0")
        result = channel.send_test()
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert result["error"] == "The host has no public address."
        assert receiver.requests == []


def test_only_another_url_or_provider_or_enabling_resets_the_need_for_attention(new_channel, receiver):
    receiver.default_reply = Reply(status=410)
    for reset in ({"config": {"webhookUrl": SLACK_URL}}, {"provider": "webhook"}, {"enabled": True}):
        channel = new_channel(receiver)
        channel.send_test()
        for fields in ({}, {"name": "#looms"}, {"events": ["*"]}, {"enabled": True}, {"enabled": False}):
            unchanged = channel.update(**fields)
            assert (unchanged["status"], unchanged["lastError"] is None) == ("needs_attention", False), fields
        changed = channel.update(**reset)
        assert (changed["status"], changed["lastError"]) == ("active", None), reset


def test_an_erasure_redacts_names_urls_and_stored_responses(
    api, organization, new_channel, edith, workers, clock, receiver
):
    receiver.default_reply = Reply(body=f"thanks, {edith.email}".encode())
    channel = new_channel(receiver, events=[f"{CHANNEL_EVENT}.created"])
    channel_with_name = new_channel(SLACK_URL, name=f"Mail to {edith.email}")
    url = f"{receiver.url}hooks?for={edith.email}&token=0123456789"
    channel_with_url = new_channel(url, provider="webhook")
    workers.deliver()
    assert channel.messages()[0].attempts[0]["response_body"] == f"thanks, {edith.email}"
    complete_erasure(api, workers, clock, organization, email=edith.email)
    assert channel.messages()[0].attempts[0]["response_body"] == "thanks, …"
    record = channel_with_name.read()
    assert (record["name"], record["status"]) == ("Mail to …", "active")
    assert channel_with_name.stored().decrypted_url == SLACK_URL
    assert channel_with_url.stored().decrypted_url == receiver.url
    record = channel_with_url.read()
    assert (record["config"], record["status"]) == ({"webhookUrl": f"{receiver.url}…"}, "needs_attention")
    assert "erased" in record["lastError"]
