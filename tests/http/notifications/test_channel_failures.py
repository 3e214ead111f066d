"""The failures and retries of messages that a channel's provider does not accept."""

from typing import Any

import pytest

from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from tests.harness.audit_logs import list_entries
from tests.harness.channels import (
    CreatedChannel,
    create_channel,
    get_channel,
    send_test_message,
    stored_channel,
    stored_messages,
    update_channel,
)
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Reply
from tests.harness.webhooks import rename_organization

pytestmark = pytest.mark.usefixtures("private_targets_allowed")
UPDATED = "organization.updated"


def retry_delay_seconds(channel: CreatedChannel) -> float:
    """Return the seconds until the next attempt of the only message."""
    (message,) = stored_messages(channel)
    assert message.next_attempt_at is not None
    return (timestamp_ms(message.next_attempt_at) - now_ms()) / 1000


class TestPermanentFailure:
    @pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405, 410, 418, 422])
    def test_the_message_fails_and_the_channel_needs_attention(
        self, api, organization, channel, workers, receiver, status
    ):
        receiver.default_reply = Reply(status=status, headers={"Location": receiver.url}, body=b"no_service")
        rename_organization(api, organization, "Looms")
        workers.deliver()
        (message,) = stored_messages(channel)
        assert (message.status, message.next_attempt_at, len(message.attempts)) == ("failed", None, 1)
        current = get_channel(api, channel)
        assert (current["status"], current["version"]) == ("needs_attention", 2)
        assert f"({status})" in current["lastError"]
        assert "no_service" not in current["lastError"]

    def test_a_failure_is_no_event_but_appears_in_the_next_event(self, api, organization, channel, workers, receiver):
        receiver.default_reply = Reply(status=404)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        update_channel(api, channel, name="#looms")
        (entry,) = list_entries(api, organization, type="organization.integration_channel.updated")
        assert (entry["data"]["status"], entry["data"]["version"]) == ("needs_attention", 3)

    def test_later_messages_are_skipped_until_a_test_message_succeeds(
        self, api, organization, channel, workers, receiver
    ):
        receiver.default_reply = Reply(status=404)
        for name in ("Looms", "Engines"):
            rename_organization(api, organization, name)
        workers.deliver(include_delayed=True)
        assert [message.status for message in stored_messages(channel)] == ["failed", "skipped"]
        receiver.default_reply = Reply()
        assert send_test_message(api, channel)["delivered"]
        rename_organization(api, organization, "Mills")
        workers.deliver(include_delayed=True)
        assert [message.status for message in stored_messages(channel)] == ["failed", "skipped", "succeeded"]

    def test_a_too_long_message_does_not_change_the_channel(self, api, organization, channel, workers, receiver):
        receiver.default_reply = Reply(status=413)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        assert [message.status for message in stored_messages(channel)] == ["failed"]
        assert get_channel(api, channel) == channel.record

    def test_a_failure_at_a_former_url_does_not_change_the_channel(self, api, organization, channel, workers, receiver):
        def change_then_fail(_request: ReceivedRequest) -> Reply:
            update_channel(
                api, channel, config={"webhookUrl": receiver.url_at("127.0.0.1", "/services/T0/B0/another-room")}
            )
            return Reply(status=404)

        receiver.default_reply = change_then_fail
        rename_organization(api, organization, "Looms")
        workers.deliver()
        assert (get_channel(api, channel)["status"], get_channel(api, channel)["version"]) == ("active", 2)

    def test_a_failure_is_stored_although_the_channel_is_changed_concurrently(
        self, api, organization, channel, workers, receiver
    ):
        def change_then_fail(_request: ReceivedRequest) -> Reply:
            update_channel(api, channel, name="#looms")
            return Reply(status=404)

        receiver.default_reply = change_then_fail
        rename_organization(api, organization, "Looms")
        workers.deliver()
        current = get_channel(api, channel)
        assert (current["name"], current["status"], current["version"]) == ("#looms", "needs_attention", 3)


class TestTemporaryFailure:
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
    def test_the_message_is_retried_and_finally_fails(
        self, api, organization, channel, workers, receiver, clock, status
    ):
        receiver.default_reply = Reply(status=status)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            assert seconds * 0.75 < retry_delay_seconds(channel) < seconds * 1.25
            clock.shift(seconds=seconds * 1.3)
            workers.run_until_idle()
        (message,) = stored_messages(channel)
        assert (message.status, len(message.attempts)) == ("failed", len(RETRY_SECONDS) + 1)
        assert len(receiver.requests) == 5
        assert get_channel(api, channel) == channel.record

    @pytest.mark.usefixtures("short_webhook_timeout")
    def test_a_timeout_is_a_temporary_failure(self, api, organization, channel, workers, receiver):
        receiver.default_reply = NO_REPLY
        rename_organization(api, organization, "Looms")
        workers.deliver()
        assert 4 < retry_delay_seconds(channel) < 6
        (message,) = stored_messages(channel)
        assert message.attempts[0]["status_code"] is None
        assert get_channel(api, channel) == channel.record
        rename_organization(api, organization, "Engines")
        workers.deliver(include_delayed=True)
        assert len(receiver.requests) == 1
        _, later_message = stored_messages(channel)
        assert 295 < (timestamp_ms(str(later_message.next_attempt_at)) - now_ms()) / 1000 < 301

    @pytest.mark.parametrize(
        ("provider", "reply"),
        [
            ("slack", Reply(status=429, headers={"Retry-After": "60"})),
            ("discord", Reply(status=429, body=b'{"message": "slow down", "retry_after": 59.3, "global": false}')),
        ],
    )
    def test_retry_after_delays_all_messages(self, api, organization, workers, receiver, clock, provider, reply):
        channel = create_channel(api, organization, receiver, events=[UPDATED], provider=provider)
        receiver.default_reply = reply
        for name in ("Looms", "Engines", "Mills"):
            rename_organization(api, organization, name)
        workers.deliver()
        clock.shift(seconds=3)
        workers.deliver()
        assert len(receiver.requests) == 1
        first, second, third = stored_messages(channel)
        assert [len(message.attempts) for message in (first, second, third)] == [1, 0, 0]
        assert all(message.status == "pending" for message in (first, second, third))
        retry_times: list[Any] = [message.next_attempt_at for message in (first, second, third)]
        assert all(55 < (timestamp_ms(retry_time) - now_ms()) / 1000 < 60 for retry_time in retry_times)
        receiver.default_reply = Reply()
        clock.shift(seconds=62)
        workers.deliver()
        assert [message.status for message in stored_messages(channel)] == ["succeeded"] * 3
        assert len(receiver.requests) == 4

    @pytest.mark.parametrize(
        "response_body", [b"", b"[]", b'{"retry_after": "soon"}', b'{"retry_after": -1}', b"{", b"null"]
    )
    def test_a_discord_response_without_a_valid_retry_after_is_a_temporary_failure(
        self, api, organization, workers, receiver, response_body
    ):
        channel = create_channel(api, organization, receiver, events=[UPDATED], provider="discord")
        receiver.default_reply = Reply(status=429, body=response_body)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        assert 4 < retry_delay_seconds(channel) < 6.1
        assert stored_channel(channel).free_at is not None
