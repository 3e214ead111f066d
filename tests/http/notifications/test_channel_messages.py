"""The messages that a channel gets, their order, and their failures and retries."""

import json

import pytest

from chalicelib.features.notifications.channels.entities import ChannelMessage
from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp_ms
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.channels import received_texts
from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_api_key
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Receiver, Reply
from tests.harness.webhooks import UPDATED

pytestmark = pytest.mark.usefixtures("private_targets_allowed", "pauses_by_clock")

RENAMED = "Ada Lovelace changed the organization {}."


def message_body(receiver: Receiver) -> Json:
    """Return the body of the only message that was received."""
    (request,) = receiver.requests
    return json.loads(request.body)


def seconds_until_next_attempt(message: ChannelMessage) -> float:
    return (timestamp_ms(str(message.next_attempt_at)) - now_ms()) / 1000


class TestMessage:
    def test_discord_gets_an_embed_and_is_asked_to_wait_for_the_result(
        self, api, organization, new_channel, emit, receiver
    ):
        new_channel(receiver, provider="discord")
        emit("**Looms** @everyone")
        (embed,), mentions = message_body(receiver)["embeds"], message_body(receiver)["allowed_mentions"]
        (entry,) = list_entries(api, organization, type=UPDATED)
        text = RENAMED.format(r"\*\*Looms\*\* @" + "\u200beveryone")
        assert (embed["description"], embed["timestamp"], mentions) == (text, entry["occurredAt"], {"parse": []})
        assert receiver.requests[0].path == "/services/T0/B0/secret-of-the-room?wait=true"

    def test_teams_gets_an_adaptive_card_in_a_message(self, new_channel, emit, receiver):
        new_channel(receiver, provider="teams")
        receiver.default_reply = Reply(status=202)
        emit("[Looms](https://evil.example)")
        message = message_body(receiver)
        (attachment,) = message["attachments"]
        assert (message["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
        card, text = attachment["content"], RENAMED.format(r"\[Looms\]\(https\://evil.example\)")
        assert (card["type"], card["version"], card["fallbackText"]) == ("AdaptiveCard", "1.4", text)
        assert card["body"][0]["text"] == text

    def test_a_generic_webhook_gets_the_text_and_the_event(self, api, organization, new_channel, emit, receiver):
        new_channel(receiver, provider="webhook")
        emit("Looms & <Engines>")
        (entry,) = list_entries(api, organization, type=UPDATED)
        event = {"type": UPDATED, "timestamp": entry["occurredAt"], "organizationId": organization.id}
        event |= {name: entry[name] for name in ("sequence", "data", "changes")}
        event |= {"actor": {"type": "user", "id": organization.owner.id}}
        assert message_body(receiver) == {"text": RENAMED.format("Looms & <Engines>"), "event": event}

    def test_the_text_names_actor_and_target_of_each_event_from_the_creation_of_the_channel_on(
        self, api, organization, new_channel, rename, workers, receiver, run_tasks_after, ada
    ):
        key = create_api_key(api, organization, "admin", name="Nightly export")
        rename("Before")
        patterns = [f"organization.{name}.*" for name in ("invitation", "integration_channel", "api_key")]
        new_channel(receiver, events=[*patterns, UPDATED])
        create_invitation(api, organization, "sophie@example.org", caller=key)
        workers.deliver()
        run_tasks_after(days=8)
        api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada)
        workers.deliver()
        assert received_texts(receiver) == [
            "Ada Lovelace created the integration channel #engines.",
            "The API key Nightly export invited sophie@example.org.",
            "The invitation sent to sophie@example.org has expired.",
            "Ada Lovelace revoked the API key Nightly export.",
        ]

    def test_messages_are_sent_once_a_second(self, channel, rename, workers, receiver):
        rename("Looms", "Engines")
        channel.send_test()
        workers.deliver(include_delayed=True)
        assert received_texts(receiver)[1:] == [RENAMED.format("Looms"), RENAMED.format("Engines")]
        first, second, third = (request.received_at for request in receiver.requests)
        assert second - first > 0.9
        assert third - second > 0.9

    def test_messages_of_a_disabled_channel_are_skipped_and_those_of_a_deleted_one_are_removed(
        self, channel, rename, workers, receiver
    ):
        rename("Looms")
        channel.update(enabled=False)
        rename("Engines")
        workers.deliver(include_delayed=True)
        assert channel.message_statuses() == ["skipped", "skipped"]
        channel.update(enabled=True)
        rename("Mills")
        assert [channel.delete().status, channel.get().status] == [204, 404]
        workers.run_until_idle()
        assert (receiver.requests, channel.messages()) == ([], [])


class TestFailure:
    def test_a_permanent_failure_ends_the_message_and_the_channel_needs_attention(self, new_channel, emit, receiver):
        statuses = (301, 307, 400, 401, 403, 404, 405, 410, 413, 418, 422)
        for status in statuses:
            reply = Reply(status=status, headers={"Location": receiver.url}, body=b"no_service")
            receiver.replies_by_path[f"/{status}"] = reply
        channels = {status: new_channel(f"{receiver.url}{status}") for status in statuses}
        emit("Looms")
        for status, channel in channels.items():
            (message,) = channel.messages()
            assert (message.status, message.next_attempt_at, len(message.attempts)) == ("failed", None, 1), status
            current = channel.read()
            if status == 413:  # Another message may be shorter.
                assert current == channel.record
            else:
                assert (current["status"], current["version"]) == ("needs_attention", 2), status
                assert f"({status})" in current["lastError"]
                assert "no_service" not in current["lastError"]

    def test_later_messages_are_skipped_until_a_test_message_succeeds(self, api, organization, channel, emit, receiver):
        receiver.default_reply = Reply(status=404)
        emit("Looms", "Engines", include_delayed=True)
        assert channel.message_statuses() == ["failed", "skipped"]
        channel.update(name="#looms")
        (entry,) = list_entries(api, organization, type="organization.integration_channel.updated")
        # The failure itself is no event.
        assert (entry["data"]["status"], entry["data"]["version"]) == ("needs_attention", 3)
        receiver.default_reply = Reply()
        assert channel.send_test()["delivered"]
        emit("Mills", include_delayed=True)
        assert channel.message_statuses() == ["failed", "skipped", "succeeded"]

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"config": {"webhookUrl": "https://hooks.slack.com/services/T0/B0/room"}}, ("#engines", "active", 2)),
            ({"name": "#looms"}, ("#looms", "needs_attention", 3)),
        ],
    )
    def test_a_failure_counts_for_a_channel_that_changes_meanwhile_unless_its_url_does(
        self, channel, emit, receiver, changes, expected
    ):
        def change_then_fail(_request: ReceivedRequest) -> Reply:
            channel.update(**changes)
            return Reply(status=404)

        receiver.default_reply = change_then_fail
        emit("Looms")
        current = channel.read()
        assert (current["name"], current["status"], current["version"]) == expected

    def test_a_message_is_retried_after_temporary_failures_and_finally_fails(
        self, new_channel, emit, run_tasks_after, receiver, clock
    ):
        statuses = (408, 425, 429, 500, 502, 503)
        receiver.replies_by_path = {f"/{status}": Reply(status=status) for status in statuses}
        channels = {status: new_channel(f"{receiver.url}{status}") for status in statuses}
        clock.freeze()
        emit("Looms")
        for seconds in RETRY_SECONDS:
            waits = {status: seconds_until_next_attempt(*channel.messages()) for status, channel in channels.items()}
            assert all(seconds * 0.8 <= wait <= seconds * 1.2 for wait in waits.values()), waits
            run_tasks_after(seconds=seconds * 1.2 + 301)
        for status, channel in channels.items():
            (message,) = channel.messages()
            assert (message.status, len(message.attempts)) == ("failed", len(RETRY_SECONDS) + 1), status
            assert channel.read() == channel.record
        assert len(receiver.requests) == 5 * len(statuses)

    @pytest.mark.usefixtures("short_webhook_timeout")
    def test_a_timeout_is_a_temporary_failure_that_delays_later_messages(self, channel, emit, receiver, clock):
        clock.freeze()
        receiver.default_reply = NO_REPLY
        emit("Looms")
        (message,) = channel.messages()
        assert 4 <= seconds_until_next_attempt(message) <= 6
        assert message.attempts[0]["status_code"] is None
        assert channel.read() == channel.record
        clock.shift(seconds=1)
        emit("Engines", include_delayed=True)
        assert len(receiver.requests) == 1
        assert 295 < seconds_until_next_attempt(channel.messages()[1]) < 301

    @pytest.mark.parametrize(
        ("provider", "reply"),
        [
            ("slack", Reply(status=429, headers={"Retry-After": "60"})),
            ("discord", Reply(status=429, body=b'{"message": "slow down", "retry_after": 59.3, "global": false}')),
        ],
    )
    def test_retry_after_delays_all_messages(self, new_channel, emit, workers, receiver, clock, provider, reply):
        channel = new_channel(receiver, provider=provider)
        clock.freeze()
        receiver.default_reply = reply
        emit("Looms", "Engines", "Mills")
        clock.shift(seconds=3)
        workers.deliver()
        assert len(receiver.requests) == 1
        assert [(len(m.attempts), m.status) for m in channel.messages()] == [(n, "pending") for n in (1, 0, 0)]
        assert all(55 < seconds_until_next_attempt(message) < 60 for message in channel.messages())
        receiver.default_reply = Reply()
        clock.shift(seconds=62)
        workers.deliver()
        assert channel.message_statuses() == ["succeeded"] * 3
        assert len(receiver.requests) == 4

    def test_a_discord_response_without_a_valid_retry_after_is_a_temporary_failure(
        self, new_channel, emit, receiver, clock
    ):
        bodies = [b"", b"[]", b'{"retry_after": "soon"}', b'{"retry_after": -1}', b"{", b"null"]
        receiver.replies_by_path = {f"/{n}?wait=true": Reply(status=429, body=body) for n, body in enumerate(bodies)}
        channels = [new_channel(f"{receiver.url}{n}", provider="discord") for n in range(len(bodies))]
        clock.freeze()
        emit("Looms")
        for body, channel in zip(bodies, channels, strict=True):
            assert 4 <= seconds_until_next_attempt(*channel.messages()) <= 6, body
            assert channel.stored().free_at == after(now(), seconds=1)
