"""The messages that a channel gets, and the retries when its provider does not accept them."""

import json
from typing import Any

import pytest

from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.channels import Room, change, messages, room, shown, stored, texts, trial
from tests.harness.clock import Clock
from tests.harness.invitations import invite
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.receiver import HANG, Receiver, Reply, Request
from tests.harness.webhooks import rename
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"
RENAMED = "Ada Lovelace changed the organization {}."


@pytest.fixture
def channel(api: Api, organization: Founded, receiver: Receiver) -> Room:
    """A Slack channel that receives every update of the organization."""
    return room(api, organization, receiver, events=[UPDATED])


def message_body(receiver: Receiver) -> Json:
    """Return the body of the only message that was received."""
    (request,) = receiver.requests
    parsed: Json = json.loads(request.body)
    return parsed


def retry_delay_seconds(channel: Room) -> float:
    """Return the seconds until the next attempt of the only message."""
    (message,) = messages(channel)
    assert message.next_attempt_at is not None
    return (timestamp_ms(message.next_attempt_at) - now_ms()) / 1000


class TestMessageContent:
    def test_slack_gets_blocks_and_text(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms & <Engines>")
        workers.deliver()
        message = message_body(receiver)
        assert message["text"] == RENAMED.format("Looms &amp; &lt;Engines&gt;")
        section, context = message["blocks"]
        assert section == {"type": "section", "text": {"type": "mrkdwn", "text": message["text"], "verbatim": True}}
        (entry,) = log_of(api, organization, type=UPDATED)
        assert f"<!date^{timestamp_ms(entry['occurredAt']) // 1000}^" in context["elements"][0]["text"]
        assert context["elements"][0]["text"].endswith(f" · {UPDATED}")
        (stored_message,) = messages(channel)
        assert (stored_message.status, stored_message.id) == ("succeeded", entry["id"])

    def test_discord_gets_an_embed_and_is_asked_to_wait_for_the_result(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="discord")
        rename(api, organization, "**Looms** @everyone")
        workers.deliver()
        (embed,) = message_body(receiver)["embeds"]
        assert embed["description"] == RENAMED.format(r"\*\*Looms\*\* @" + "\u200beveryone")
        assert embed["timestamp"] == log_of(api, organization, type=UPDATED)[0]["occurredAt"]
        assert message_body(receiver)["allowed_mentions"] == {"parse": []}
        assert receiver.requests[0].path == "/services/T0/B0/secret-of-the-room?wait=true"

    def test_teams_gets_an_adaptive_card_in_a_message(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="teams")
        rename(api, organization, "[Looms](https://evil.example)")
        receiver.answer = Reply(status=202)
        workers.deliver()
        assert message_body(receiver)["type"] == "message"
        (attachment,) = message_body(receiver)["attachments"]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        assert card["body"][0]["text"] == card["fallbackText"] == RENAMED.format(r"\[Looms\]\(https\://evil.example\)")

    def test_a_generic_webhook_gets_the_text_and_the_event(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="webhook")
        rename(api, organization, "Looms & <Engines>")
        workers.deliver()
        (entry,) = log_of(api, organization, type=UPDATED)
        assert message_body(receiver) == {
            "text": RENAMED.format("Looms & <Engines>"),
            "event": {
                "type": UPDATED,
                "timestamp": entry["occurredAt"],
                "organizationId": organization.id,
                "sequence": entry["sequence"],
                "data": entry["data"],
            },
        }

    def test_the_text_names_the_actor_and_the_target(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock, ada: Person
    ) -> None:
        key = make_key(api, organization, "admin", name="Nightly export")
        subscribed_types = ["organization.invitation.*", "organization.api_key.revoked"]
        room(api, organization, receiver, events=subscribed_types)
        invite(api, organization, "sophie@example.org", as_=key)
        workers.deliver()
        clock.shift(days=8)
        workers.settle()
        api.delete(f"{organization.keys}/{key.id}", as_=ada)
        workers.deliver()
        assert texts(receiver) == [
            "The API key Nightly export invited sophie@example.org.",
            "The invitation sent to sophie@example.org has expired.",
            "Ada Lovelace revoked the API key Nightly export.",
        ]

    def test_a_channel_gets_events_from_its_creation_on(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Before")
        room(api, organization, receiver)
        workers.deliver()
        assert texts(receiver) == ["Ada Lovelace created the integration channel #engines."]


class TestMessageOrder:
    def test_messages_are_sent_once_a_second(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        for name in ("Looms", "Engines"):
            rename(api, organization, name)
        trial(api, channel)
        workers.deliver(delayed=True)
        assert texts(receiver)[1:] == [RENAMED.format("Looms"), RENAMED.format("Engines")]
        first, second, third = (request.at for request in receiver.requests)
        assert second - first > 0.9
        assert third - second > 0.9

    def test_messages_of_a_disabled_channel_are_skipped(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms")
        change(api, channel, enabled=False)
        rename(api, organization, "Engines")
        workers.deliver(delayed=True)
        assert receiver.requests == []
        assert [message.status for message in messages(channel)] == ["skipped", "skipped"]

    def test_messages_of_a_deleted_channel_are_removed(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms")
        assert api.delete(channel.path, as_=organization.owner).status == 204
        workers.settle()
        assert receiver.requests == []
        assert messages(channel) == []


class TestPermanentFailure:
    @pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405, 410, 418, 422])
    def test_the_message_fails_and_the_channel_needs_attention(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, headers={"Location": receiver.url}, body=b"no_service")
        rename(api, organization, "Looms")
        workers.deliver()
        (message,) = messages(channel)
        assert (message.status, message.next_attempt_at, len(message.attempts)) == ("failed", None, 1)
        current = shown(api, channel)
        assert (current["status"], current["version"]) == ("needs_attention", 2)
        assert f"({status})" in current["lastError"]
        assert "no_service" not in current["lastError"]

    def test_a_failure_is_no_event_but_appears_in_the_next_event(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=404)
        rename(api, organization, "Looms")
        workers.deliver()
        change(api, channel, name="#looms")
        (entry,) = log_of(api, organization, type="organization.integration_channel.updated")
        assert (entry["data"]["status"], entry["data"]["version"]) == ("needs_attention", 3)

    def test_later_messages_are_skipped_until_a_test_message_succeeds(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=404)
        for name in ("Looms", "Engines"):
            rename(api, organization, name)
        workers.deliver(delayed=True)
        assert [message.status for message in messages(channel)] == ["failed", "skipped"]
        receiver.answer = Reply()
        assert trial(api, channel)["delivered"]
        rename(api, organization, "Mills")
        workers.deliver(delayed=True)
        assert [message.status for message in messages(channel)] == ["failed", "skipped", "succeeded"]

    def test_a_too_long_message_does_not_change_the_channel(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=413)
        rename(api, organization, "Looms")
        workers.deliver()
        assert [message.status for message in messages(channel)] == ["failed"]
        assert shown(api, channel) == channel.record

    def test_a_failure_at_a_former_url_does_not_change_the_channel(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        def change_then_fail(_request: Request) -> Reply:
            change(api, channel, config={"webhookUrl": receiver.at("127.0.0.1", "/services/T0/B0/another-room")})
            return Reply(status=404)

        receiver.answer = change_then_fail
        rename(api, organization, "Looms")
        workers.deliver()
        assert (shown(api, channel)["status"], shown(api, channel)["version"]) == ("active", 2)

    def test_a_failure_is_stored_although_the_channel_is_changed_concurrently(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        def change_then_fail(_request: Request) -> Reply:
            change(api, channel, name="#looms")
            return Reply(status=404)

        receiver.answer = change_then_fail
        rename(api, organization, "Looms")
        workers.deliver()
        current = shown(api, channel)
        assert (current["name"], current["status"], current["version"]) == ("#looms", "needs_attention", 3)


class TestTemporaryFailure:
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
    def test_the_message_is_retried_and_finally_fails(
        self,
        api: Api,
        organization: Founded,
        channel: Room,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        status: int,
    ) -> None:
        receiver.answer = Reply(status=status)
        rename(api, organization, "Looms")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            assert seconds * 0.75 < retry_delay_seconds(channel) < seconds * 1.25
            clock.shift(seconds=seconds * 1.3)
            workers.settle()
        (message,) = messages(channel)
        assert (message.status, len(message.attempts)) == ("failed", len(RETRY_SECONDS) + 1)
        assert len(receiver.requests) == 5
        assert shown(api, channel) == channel.record

    @pytest.mark.usefixtures("brisk")
    def test_a_timeout_is_a_temporary_failure(
        self, api: Api, organization: Founded, channel: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "Looms")
        workers.deliver()
        assert 4 < retry_delay_seconds(channel) < 6
        (message,) = messages(channel)
        assert message.attempts[0]["status_code"] is None
        assert shown(api, channel) == channel.record
        rename(api, organization, "Engines")
        workers.deliver(delayed=True)
        assert len(receiver.requests) == 1
        _, later_message = messages(channel)
        assert 295 < (timestamp_ms(str(later_message.next_attempt_at)) - now_ms()) / 1000 < 301

    @pytest.mark.parametrize(
        ("provider", "reply"),
        [
            ("slack", Reply(status=429, headers={"Retry-After": "60"})),
            ("discord", Reply(status=429, body=b'{"message": "slow down", "retry_after": 59.3, "global": false}')),
        ],
    )
    def test_retry_after_delays_all_messages(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        provider: str,
        reply: Reply,
    ) -> None:
        channel = room(api, organization, receiver, events=[UPDATED], provider=provider)
        receiver.answer = reply
        for name in ("Looms", "Engines", "Mills"):
            rename(api, organization, name)
        workers.deliver()
        clock.shift(seconds=3)
        workers.deliver()
        assert len(receiver.requests) == 1
        first, second, third = messages(channel)
        assert [len(message.attempts) for message in (first, second, third)] == [1, 0, 0]
        assert all(message.status == "pending" for message in (first, second, third))
        retry_times: list[Any] = [message.next_attempt_at for message in (first, second, third)]
        assert all(55 < (timestamp_ms(retry_time) - now_ms()) / 1000 < 60 for retry_time in retry_times)
        receiver.answer = Reply()
        clock.shift(seconds=62)
        workers.deliver()
        assert [message.status for message in messages(channel)] == ["succeeded"] * 3
        assert len(receiver.requests) == 4

    @pytest.mark.parametrize(
        "response_body", [b"", b"[]", b'{"retry_after": "soon"}', b'{"retry_after": -1}', b"{", b"null"]
    )
    def test_a_discord_response_without_a_valid_retry_after_is_a_temporary_failure(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, response_body: bytes
    ) -> None:
        channel = room(api, organization, receiver, events=[UPDATED], provider="discord")
        receiver.answer = Reply(status=429, body=response_body)
        rename(api, organization, "Looms")
        workers.deliver()
        assert 4 < retry_delay_seconds(channel) < 6.1
        assert stored(channel).free_at is not None
