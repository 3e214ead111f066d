"""The messages that a channel gets, and their order."""

import json

import pytest

from chalicelib.kernel.core.clock import timestamp_ms
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.channels import received_texts
from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Receiver, Reply
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
