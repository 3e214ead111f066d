"""The messages that a channel gets, and their order."""

import json

import pytest

from chalicelib.kernel.core.clock import timestamp_ms
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.channels import (
    create_channel,
    received_texts,
    send_test_message,
    stored_messages,
    update_channel,
)
from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import rename_organization

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

UPDATED = "organization.updated"
RENAMED = "Ada Lovelace changed the organization {}."


def message_body(receiver: Receiver) -> Json:
    """Return the body of the only message that was received."""
    (request,) = receiver.requests
    parsed: Json = json.loads(request.body)
    return parsed


class TestMessageContent:
    def test_slack_gets_blocks_and_text(self, api, organization, channel, workers, receiver):
        rename_organization(api, organization, "Looms & <Engines>")
        workers.deliver()
        message = message_body(receiver)
        assert message["text"] == RENAMED.format("Looms &amp; &lt;Engines&gt;")
        section, context = message["blocks"]
        assert section == {"type": "section", "text": {"type": "mrkdwn", "text": message["text"], "verbatim": True}}
        (entry,) = list_entries(api, organization, type=UPDATED)
        assert f"<!date^{timestamp_ms(entry['occurredAt']) // 1000}^" in context["elements"][0]["text"]
        assert context["elements"][0]["text"].endswith(f" · {UPDATED}")
        (stored_message,) = stored_messages(channel)
        assert (stored_message.status, stored_message.id) == ("succeeded", entry["id"])

    def test_discord_gets_an_embed_and_is_asked_to_wait_for_the_result(self, api, organization, workers, receiver):
        create_channel(api, organization, receiver, events=[UPDATED], provider="discord")
        rename_organization(api, organization, "**Looms** @everyone")
        workers.deliver()
        (embed,) = message_body(receiver)["embeds"]
        assert embed["description"] == RENAMED.format(r"\*\*Looms\*\* @" + "\u200beveryone")
        assert embed["timestamp"] == list_entries(api, organization, type=UPDATED)[0]["occurredAt"]
        assert message_body(receiver)["allowed_mentions"] == {"parse": []}
        assert receiver.requests[0].path == "/services/T0/B0/secret-of-the-room?wait=true"

    def test_teams_gets_an_adaptive_card_in_a_message(self, api, organization, workers, receiver):
        create_channel(api, organization, receiver, events=[UPDATED], provider="teams")
        rename_organization(api, organization, "[Looms](https://evil.example)")
        receiver.default_reply = Reply(status=202)
        workers.deliver()
        assert message_body(receiver)["type"] == "message"
        (attachment,) = message_body(receiver)["attachments"]
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        assert card["body"][0]["text"] == card["fallbackText"] == RENAMED.format(r"\[Looms\]\(https\://evil.example\)")

    def test_a_generic_webhook_gets_the_text_and_the_event(self, api, organization, workers, receiver):
        create_channel(api, organization, receiver, events=[UPDATED], provider="webhook")
        rename_organization(api, organization, "Looms & <Engines>")
        workers.deliver()
        (entry,) = list_entries(api, organization, type=UPDATED)
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

    def test_the_text_names_the_actor_and_the_target(self, api, organization, workers, receiver, clock, ada):
        key = create_api_key(api, organization, "admin", name="Nightly export")
        subscribed_types = ["organization.invitation.*", "organization.api_key.revoked"]
        create_channel(api, organization, receiver, events=subscribed_types)
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

    def test_a_channel_gets_events_from_its_creation_on(self, api, organization, workers, receiver):
        rename_organization(api, organization, "Before")
        create_channel(api, organization, receiver)
        workers.deliver()
        assert received_texts(receiver) == ["Ada Lovelace created the integration channel #engines."]


class TestMessageOrder:
    def test_messages_are_sent_once_a_second(self, api, organization, channel, workers, receiver):
        for name in ("Looms", "Engines"):
            rename_organization(api, organization, name)
        send_test_message(api, channel)
        workers.deliver(include_delayed=True)
        assert received_texts(receiver)[1:] == [RENAMED.format("Looms"), RENAMED.format("Engines")]
        first, second, third = (request.received_at for request in receiver.requests)
        assert second - first > 0.9
        assert third - second > 0.9

    def test_messages_of_a_disabled_channel_are_skipped(self, api, organization, channel, workers, receiver):
        rename_organization(api, organization, "Looms")
        update_channel(api, channel, enabled=False)
        rename_organization(api, organization, "Engines")
        workers.deliver(include_delayed=True)
        assert receiver.requests == []
        assert [message.status for message in stored_messages(channel)] == ["skipped", "skipped"]

    def test_messages_of_a_deleted_channel_are_removed(self, api, organization, channel, workers, receiver):
        rename_organization(api, organization, "Looms")
        assert api.delete(channel.path, caller=organization.owner).status == 204
        workers.run_until_idle()
        assert receiver.requests == []
        assert stored_messages(channel) == []
