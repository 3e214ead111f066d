"""How a channel is told of events, and what becomes of one whose provider takes nothing."""

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
def made(api: Api, organization: Founded, receiver: Receiver) -> Room:
    """A room of Slack's that wants to know of every change of its organization."""
    return room(api, organization, receiver, events=[UPDATED])


def body(receiver: Receiver) -> Json:
    """What the one message that came says."""
    (request,) = receiver.requests
    said: Json = json.loads(request.body)
    return said


def pause(made: Room) -> float:
    """In how many seconds the one message is tried again."""
    (message,) = messages(made)
    assert message.next_attempt_at is not None
    return (timestamp_ms(message.next_attempt_at) - now_ms()) / 1000


class TestWhatAChannelIsTold:
    def test_slack_gets_blocks_and_text(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms & <Engines>")
        workers.deliver()
        said = body(receiver)
        assert said["text"] == RENAMED.format("Looms &amp; &lt;Engines&gt;")
        section, context = said["blocks"]
        assert section == {"type": "section", "text": {"type": "mrkdwn", "text": said["text"], "verbatim": True}}
        (entry,) = log_of(api, organization, type=UPDATED)
        assert f"<!date^{timestamp_ms(entry['occurredAt']) // 1000}^" in context["elements"][0]["text"]
        assert context["elements"][0]["text"].endswith(f" · {UPDATED}")
        (message,) = messages(made)
        assert (message.status, message.id) == ("succeeded", entry["id"])

    def test_discord_gets_an_embed_and_is_asked_what_became_of_it(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="discord")
        rename(api, organization, "**Looms** @everyone")
        workers.deliver()
        (embed,) = body(receiver)["embeds"]
        assert embed["description"] == RENAMED.format(r"\*\*Looms\*\* @" + "\u200beveryone")
        assert embed["timestamp"] == log_of(api, organization, type=UPDATED)[0]["occurredAt"]
        assert body(receiver)["allowed_mentions"] == {"parse": []}
        assert receiver.requests[0].path == "/services/T0/B0/secret-of-the-room?wait=true"

    def test_teams_gets_an_adaptive_card_in_the_envelope_of_its_workflows(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="teams")
        rename(api, organization, "[Looms](https://evil.example)")
        receiver.answer = Reply(status=202)
        workers.deliver()
        assert body(receiver)["type"] == "message"
        (attachment,) = body(receiver)["attachments"]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        assert card["body"][0]["text"] == card["fallbackText"] == RENAMED.format(r"\[Looms\]\(https\://evil.example\)")

    def test_any_other_program_gets_the_text_and_the_event(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        room(api, organization, receiver, events=[UPDATED], provider="webhook")
        rename(api, organization, "Looms & <Engines>")
        workers.deliver()
        (entry,) = log_of(api, organization, type=UPDATED)
        assert body(receiver) == {
            "text": RENAMED.format("Looms & <Engines>"),
            "event": {
                "type": UPDATED,
                "timestamp": entry["occurredAt"],
                "organizationId": organization.id,
                "sequence": entry["sequence"],
                "data": entry["data"],
            },
        }

    def test_who_did_it_to_what(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock, ada: Person
    ) -> None:
        key = make_key(api, organization, "admin", name="Nightly export")
        wanted = ["organization.invitation.*", "organization.api_key.revoked"]
        room(api, organization, receiver, events=wanted)
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

    def test_is_what_it_wants_from_its_own_creation_on(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Before")
        room(api, organization, receiver)
        workers.deliver()
        assert texts(receiver) == ["Ada Lovelace created the integration channel #engines."]


class TestATurn:
    def test_comes_once_a_second(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        for name in ("Looms", "Engines"):
            rename(api, organization, name)
        trial(api, made)
        workers.deliver(delayed=True)
        assert texts(receiver)[1:] == [RENAMED.format("Looms"), RENAMED.format("Engines")]
        first, second, third = (request.at for request in receiver.requests)
        assert second - first > 0.9
        assert third - second > 0.9

    def test_is_skipped_while_the_channel_is_switched_off(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms")
        change(api, made, enabled=False)
        rename(api, organization, "Engines")
        workers.deliver(delayed=True)
        assert receiver.requests == []
        assert [message.status for message in messages(made)] == ["skipped", "skipped"]

    def test_is_nobodys_once_the_channel_is_deleted(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Looms")
        assert api.delete(made.path, as_=organization.owner).status == 204
        workers.settle()
        assert receiver.requests == []
        assert messages(made) == []


class TestAPermanentAnswer:
    @pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405, 410, 418, 422])
    def test_ends_the_message_and_asks_for_attention(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, headers={"Location": receiver.url}, body=b"no_service")
        rename(api, organization, "Looms")
        workers.deliver()
        (message,) = messages(made)
        assert (message.status, message.next_attempt_at, len(message.attempts)) == ("failed", None, 1)
        found = shown(api, made)
        assert (found["status"], found["version"]) == ("needs_attention", 2)
        assert f"({status})" in found["lastError"]
        assert "no_service" not in found["lastError"]

    def test_is_no_event_but_shows_in_the_next_one(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=404)
        rename(api, organization, "Looms")
        workers.deliver()
        change(api, made, name="#looms")
        (entry,) = log_of(api, organization, type="organization.integration_channel.updated")
        assert (entry["data"]["status"], entry["data"]["version"]) == ("needs_attention", 3)

    def test_lets_what_follows_be_skipped_until_it_is_seen_to(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=404)
        for name in ("Looms", "Engines"):
            rename(api, organization, name)
        workers.deliver(delayed=True)
        assert [message.status for message in messages(made)] == ["failed", "skipped"]
        receiver.answer = Reply()
        assert trial(api, made)["delivered"]
        rename(api, organization, "Mills")
        workers.deliver(delayed=True)
        assert [message.status for message in messages(made)] == ["failed", "skipped", "succeeded"]

    def test_to_a_message_that_is_too_long_says_nothing_of_the_channel(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=413)
        rename(api, organization, "Looms")
        workers.deliver()
        assert [message.status for message in messages(made)] == ["failed"]
        assert shown(api, made) == made.record

    def test_says_nothing_of_a_channel_that_leads_elsewhere_by_now(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        def late(_request: Request) -> Reply:
            change(api, made, config={"webhookUrl": receiver.at("127.0.0.1", "/services/T0/B0/another-room")})
            return Reply(status=404)

        receiver.answer = late
        rename(api, organization, "Looms")
        workers.deliver()
        assert (shown(api, made)["status"], shown(api, made)["version"]) == ("active", 2)

    def test_is_stored_although_the_channel_is_changed_meanwhile(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        def late(_request: Request) -> Reply:
            change(api, made, name="#looms")
            return Reply(status=404)

        receiver.answer = late
        rename(api, organization, "Looms")
        workers.deliver()
        found = shown(api, made)
        assert (found["name"], found["status"], found["version"]) == ("#looms", "needs_attention", 3)


class TestAPassingFailure:
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
    def test_is_tried_again_and_then_given_up(
        self,
        api: Api,
        organization: Founded,
        made: Room,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        status: int,
    ) -> None:
        receiver.answer = Reply(status=status)
        rename(api, organization, "Looms")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            assert seconds * 0.75 < pause(made) < seconds * 1.25
            clock.shift(seconds=seconds * 1.3)
            workers.settle()
        (message,) = messages(made)
        assert (message.status, len(message.attempts)) == ("failed", len(RETRY_SECONDS) + 1)
        assert len(receiver.requests) == 5
        assert shown(api, made) == made.record

    @pytest.mark.usefixtures("brisk")
    def test_is_no_answer_too(
        self, api: Api, organization: Founded, made: Room, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "Looms")
        workers.deliver()
        assert 4 < pause(made) < 6
        (message,) = messages(made)
        assert message.attempts[0]["status_code"] is None
        assert shown(api, made) == made.record
        rename(api, organization, "Engines")
        workers.deliver(delayed=True)
        assert len(receiver.requests) == 1
        _, later = messages(made)
        assert 295 < (timestamp_ms(str(later.next_attempt_at)) - now_ms()) / 1000 < 301

    @pytest.mark.parametrize(
        ("provider", "reply"),
        [
            ("slack", Reply(status=429, headers={"Retry-After": "60"})),
            ("discord", Reply(status=429, body=b'{"message": "slow down", "retry_after": 59.3, "global": false}')),
        ],
    )
    def test_whoever_wants_peace_gets_it_from_all_messages(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        provider: str,
        reply: Reply,
    ) -> None:
        made = room(api, organization, receiver, events=[UPDATED], provider=provider)
        receiver.answer = reply
        for name in ("Looms", "Engines", "Mills"):
            rename(api, organization, name)
        workers.deliver()
        clock.shift(seconds=3)
        workers.deliver()
        assert len(receiver.requests) == 1
        first, second, third = messages(made)
        assert [len(message.attempts) for message in (first, second, third)] == [1, 0, 0]
        assert all(message.status == "pending" for message in (first, second, third))
        moments: list[Any] = [message.next_attempt_at for message in (first, second, third)]
        assert all(55 < (timestamp_ms(moment) - now_ms()) / 1000 < 60 for moment in moments)
        receiver.answer = Reply()
        clock.shift(seconds=62)
        workers.deliver()
        assert [message.status for message in messages(made)] == ["succeeded"] * 3
        assert len(receiver.requests) == 4

    @pytest.mark.parametrize("body", [b"", b"[]", b'{"retry_after": "soon"}', b'{"retry_after": -1}', b"{", b"null"])
    def test_of_discords_whose_body_says_nothing_is_as_any_other(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, body: bytes
    ) -> None:
        made = room(api, organization, receiver, events=[UPDATED], provider="discord")
        receiver.answer = Reply(status=429, body=body)
        rename(api, organization, "Looms")
        workers.deliver()
        assert 4 < pause(made) < 6.1
        assert stored(made).free_at is not None
