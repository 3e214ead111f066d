"""Integration channels: creating, changing, testing and erasing them, and the URLs that each provider may have."""

import json
from dataclasses import replace

import pytest

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.channels import CreatedChannel, post_channel, stored_channel
from tests.harness.data_keys import create_wrapped_key_settings
from tests.harness.erasures import complete_erasure
from tests.harness.receiver import Reply

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

SLACK_URL = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
MASKED_URL = "https://hooks.slack.com/…wxyz"
ANOTHER_URL = SLACK_URL.replace("wxyz", "abcd")
DISCORD_URL = "https://discord.com/api/webhooks/110000000000000000/token-of-the-room-0123456789"
CHANNEL_EVENT = "organization.integration_channel"


@pytest.fixture
def slack_channel(new_channel):
    """A channel that cannot be reached in tests."""
    return new_channel(SLACK_URL)


class TestCreateIntegrationChannel:
    def test_the_required_fields_suffice_and_the_url_is_masked_and_stored_encrypted(self, api, organization):
        record = post_channel(api, organization, SLACK_URL).json
        defaults = {"events": ["*"], "enabled": True, "status": "active", "config": {"webhookUrl": MASKED_URL}}
        assert record | defaults == record
        assert stored_channel(CreatedChannel(record, organization)).decrypted_url == SLACK_URL
        assert b"XXXXwxyz" not in repr(memory_aws.all_items()).encode()

    def test_invalid_bodies_are_rejected(self, api, organization):
        for fields, expected_errors in (
            ({"provider": "irc"}, {"/provider": "not_one_of"}),
            ({"name": " "}, {"/name": "too_short"}),
            ({"config": {}}, {"/config/webhookUrl": "required"}),
            ({"config": SLACK_URL}, {"/config": "not_an_object"}),
            ({"config": {"webhookUrl": 7}}, {"/config/webhookUrl": "wrong_type"}),
            ({"config": {"webhookUrl": "no url"}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": MASKED_URL}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": SLACK_URL, "token": "x"}}, {"/config/token": "unknown_field"}),
            ({"events": []}, {"/events": "too_few"}),
            ({"events": ["organization.*", "x.*"]}, {"/events/1": "malformed"}),
            ({"enabled": "yes"}, {"/enabled": "wrong_type"}),
        ):
            assert post_channel(api, organization, SLACK_URL, **fields).validation_errors == expected_errors

    def test_an_organization_has_at_most_50_channels(self, api, organization, new_channel, monkeypatch):
        assert IntegrationChannel.quota.limit == 50
        monkeypatch.setattr(IntegrationChannel, "quota", replace(IntegrationChannel.quota, limit=2))
        channel, _ = (new_channel(SLACK_URL) for _ in range(2))
        assert post_channel(api, organization, SLACK_URL).status_and_code == "409 limit_exceeded"
        assert channel.delete().status == 204
        assert post_channel(api, organization, SLACK_URL).status == 201


class TestUpdateIntegrationChannel:
    def test_absent_fields_and_the_masked_or_current_url_are_unchanged_and_another_masked_url_is_rejected(
        self, slack_channel
    ):
        for config in ({}, {"webhookUrl": MASKED_URL}, {"webhookUrl": SLACK_URL}):
            assert slack_channel.update(config=config) == slack_channel.record
            assert slack_channel.update(**{**slack_channel.record, "config": config}) == slack_channel.record
        response = slack_channel.patch("", {"config": {"webhookUrl": "https://hooks.slack.com/…abcd"}})
        assert response.errors == {"/config/webhookUrl": "malformed"}
        assert "masked" in response.json["errors"][0]["detail"]
        changed = slack_channel.update(name="#looms")
        expected = {**slack_channel.record, "name": "#looms", "version": 2, "updatedAt": changed["updatedAt"]}
        assert changed == expected == slack_channel.read()
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


@pytest.mark.usefixtures("pauses_by_clock")
class TestTestIntegrationChannel:
    def test_a_disabled_channel_can_be_tested(self, new_channel, receiver):
        channel = new_channel(receiver, enabled=False)
        assert channel.send_test()["delivered"]
        assert channel.read() == channel.record

    def test_a_permanent_failure_needs_attention_until_a_test_succeeds(self, api, organization, channel, receiver):
        receiver.default_reply = Reply(status=404, body=b"no_service")
        result, error = channel.send_test(), "Slack takes nothing at this URL any more (404). Give the channel another."
        assert (result["delivered"], result["statusCode"], result["error"]) == (False, 404, error)
        failed = channel.read()
        assert failed | {"status": "needs_attention", "version": 2, "lastError": error} == failed
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


class TestUrlsOnADeployedStage:
    @pytest.fixture(autouse=True)
    def deployed_stage(self, private_targets_allowed, configure):
        """A stage that rejects private targets."""
        configure(stage="dev", **create_wrapped_key_settings(), webhook_allow_private="0")

    @pytest.mark.parametrize(
        ("provider", "url", "advice"),
        [
            ("slack", DISCORD_URL, "hooks.slack.com"),
            ("discord", "https://discord.com/channels/1/2", "api/webhooks"),
            ("teams", SLACK_URL, "logic.azure.com"),
            ("webhook", "http://chat.example.com/hooks/1", "https"),
            ("webhook", "https://127.0.0.1/hooks/1", "public"),
        ],
    )
    def test_a_url_of_another_provider_or_target_is_rejected_with_advice(
        self, api, organization, provider, url, advice
    ):
        response = post_channel(api, organization, url, provider=provider)
        assert response.errors == {"/config/webhookUrl": "malformed"}
        assert advice in response.json["errors"][0]["detail"]

    def test_another_provider_needs_another_url(self, slack_channel):
        for config in ({}, {"config": slack_channel.record["config"]}):
            response = slack_channel.patch("", {"provider": "discord", **config})
            assert response.errors == {"/config/webhookUrl": "malformed"}
        for provider, url in {"discord": DISCORD_URL, "webhook": "https://chat.example.com/hooks/1"}.items():
            assert slack_channel.update(provider=provider, config={"webhookUrl": url})["provider"] == provider
