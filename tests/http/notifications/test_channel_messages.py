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


def test_slack_gets_blocks_and_text(api, organization, channel, emit, receiver):
    emit("Looms & <Engines>")
    message = message_body(receiver)
    assert message["text"] == RENAMED.format("Looms &amp; &lt;Engines&gt;")
    section, context = message["blocks"]
    assert section == {"type": "section", "text": {"type": "mrkdwn", "text": message["text"], "verbatim": True}}
    (entry,) = list_entries(api, organization, type=UPDATED)
    assert f"<!date^{timestamp_ms(entry['occurredAt']) // 1000}^" in context["elements"][0]["text"]
    assert context["elements"][0]["text"].endswith(f" · {UPDATED}")
    (stored_message,) = channel.messages()
    assert (stored_message.status, stored_message.id) == ("succeeded", entry["id"])


def test_discord_gets_an_embed_and_is_asked_to_wait_for_the_result(api, organization, new_channel, emit, receiver):
    new_channel(receiver, provider="discord")
    emit("**Looms** @everyone")
    (embed,) = message_body(receiver)["embeds"]
    assert embed["description"] == RENAMED.format(r"\*\*Looms\*\* @" + "\u200beveryone")
    assert embed["timestamp"] == list_entries(api, organization, type=UPDATED)[0]["occurredAt"]
    assert message_body(receiver)["allowed_mentions"] == {"parse": []}
    assert receiver.requests[0].path == "/services/T0/B0/secret-of-the-room?wait=true"


def test_teams_gets_an_adaptive_card_in_a_message(new_channel, emit, receiver):
    new_channel(receiver, provider="teams")
    receiver.default_reply = Reply(status=202)
    emit("[Looms](https://evil.example)")
    assert message_body(receiver)["type"] == "message"
    (attachment,) = message_body(receiver)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["body"][0]["text"] == card["fallbackText"] == RENAMED.format(r"\[Looms\]\(https\://evil.example\)")


def test_a_generic_webhook_gets_the_text_and_the_event(api, organization, new_channel, emit, receiver):
    new_channel(receiver, provider="webhook")
    emit("Looms & <Engines>")
    (entry,) = list_entries(api, organization, type=UPDATED)
    event = {"type": UPDATED, "timestamp": entry["occurredAt"], "organizationId": organization.id}
    event |= {"sequence": entry["sequence"], "data": entry["data"]}
    assert message_body(receiver) == {"text": RENAMED.format("Looms & <Engines>"), "event": event}


def test_the_text_names_the_actor_and_the_target(api, organization, new_channel, workers, receiver, clock, ada):
    key = create_api_key(api, organization, "admin", name="Nightly export")
    new_channel(receiver, events=["organization.invitation.*", "organization.api_key.revoked"])
    create_invitation(api, organization, "sophie@example.org", caller=key)
    workers.deliver()
    clock.shift(days=8)
    workers.run_until_idle()
    api.delete(f"{organization.api_keys_path}/{key.id}", caller=ada)
    workers.deliver()
    assert received_texts(receiver) == [
        "The API key Nightly export invited sophie@example.org.",
        "The invitation sent to sophie@example.org has expired.",
        "Ada Lovelace revoked the API key Nightly export.",
    ]


def test_a_channel_gets_events_from_its_creation_on(new_channel, rename, workers, receiver):
    rename("Before")
    new_channel(receiver, events=["*"])
    workers.deliver()
    assert received_texts(receiver) == ["Ada Lovelace created the integration channel #engines."]


def test_messages_are_sent_once_a_second(channel, rename, workers, receiver):
    rename("Looms", "Engines")
    channel.send_test()
    workers.deliver(include_delayed=True)
    assert received_texts(receiver)[1:] == [RENAMED.format("Looms"), RENAMED.format("Engines")]
    first, second, third = (request.received_at for request in receiver.requests)
    assert second - first > 0.9
    assert third - second > 0.9


def test_messages_of_a_disabled_channel_are_skipped_and_those_of_a_deleted_one_are_removed(
    channel, rename, workers, receiver
):
    rename("Looms")
    channel.update(enabled=False)
    rename("Engines")
    workers.deliver(include_delayed=True)
    assert channel.message_statuses() == ["skipped", "skipped"]
    channel.update(enabled=True)
    rename("Mills")
    assert channel.delete().status == 204
    workers.run_until_idle()
    assert (receiver.requests, channel.messages()) == ([], [])


def seconds_until_next_attempt(message: ChannelMessage) -> float:
    return (timestamp_ms(str(message.next_attempt_at)) - now_ms()) / 1000


def test_a_permanent_failure_ends_the_message_and_the_channel_needs_attention(new_channel, emit, receiver):
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


def test_later_messages_are_skipped_until_a_test_message_succeeds(api, organization, channel, emit, receiver):
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
    channel, emit, receiver, changes, expected
):
    def change_then_fail(_request: ReceivedRequest) -> Reply:
        channel.update(**changes)
        return Reply(status=404)

    receiver.default_reply = change_then_fail
    emit("Looms")
    current = channel.read()
    assert (current["name"], current["status"], current["version"]) == expected


def test_a_message_is_retried_after_temporary_failures_and_finally_fails(new_channel, emit, workers, receiver, clock):
    statuses = (408, 425, 429, 500, 502, 503)
    receiver.replies_by_path = {f"/{status}": Reply(status=status) for status in statuses}
    channels = {status: new_channel(f"{receiver.url}{status}") for status in statuses}
    clock.freeze()
    emit("Looms")
    for seconds in RETRY_SECONDS:
        waits = {status: seconds_until_next_attempt(*channel.messages()) for status, channel in channels.items()}
        assert all(seconds * 0.8 <= wait <= seconds * 1.2 for wait in waits.values()), waits
        clock.shift(seconds=seconds * 1.2 + 301)
        workers.run_until_idle()
    for status, channel in channels.items():
        (message,) = channel.messages()
        assert (message.status, len(message.attempts)) == ("failed", len(RETRY_SECONDS) + 1), status
        assert channel.read() == channel.record
    assert len(receiver.requests) == 5 * len(statuses)


@pytest.mark.usefixtures("short_webhook_timeout")
def test_a_timeout_is_a_temporary_failure_that_delays_later_messages(channel, emit, receiver, clock):
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
def test_retry_after_delays_all_messages(new_channel, emit, workers, receiver, clock, provider, reply):
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


def test_a_discord_response_without_a_valid_retry_after_is_a_temporary_failure(new_channel, emit, receiver, clock):
    bodies = [b"", b"[]", b'{"retry_after": "soon"}', b'{"retry_after": -1}', b"{", b"null"]
    receiver.replies_by_path = {f"/{n}?wait=true": Reply(status=429, body=body) for n, body in enumerate(bodies)}
    channels = [new_channel(f"{receiver.url}{n}", provider="discord") for n in range(len(bodies))]
    clock.freeze()
    emit("Looms")
    for body, channel in zip(bodies, channels, strict=True):
        assert 4 <= seconds_until_next_attempt(*channel.messages()) <= 6, body
        assert channel.stored().free_at == after(now(), seconds=1)
