"""Chat messages about events, in the format of each provider. No I/O.

Names come from users. They are therefore escaped for the provider's markup, mentions such as `@everyone` are disabled,
and long names are shortened, so a message never exceeds a provider's limit (Slack: 3,000 characters in a section,
Discord: 4,096 in a description). Messages contain no links, because every page of the service needs a credential.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic_core import to_json

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.features.notifications.channels.logic.application_messages import build_application_text
from chalicelib.features.notifications.channels.logic.display_names import UNKNOWN_TARGET, clean_name, principal_name
from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.logic.event_payloads import build_event_payload
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.audit_log.application_events import is_application_event
from chalicelib.kernel.core.clock import timestamp_ms

_TEST_SENTENCE: Final = "{actor} sends a test: the messages of {target} arrive here."
_ZERO_WIDTH_SPACE: Final = "\u200b"

_MENTIONS: Final = re.compile(r"@(?=everyone|here|channel|group)", re.IGNORECASE)
_MARKDOWN_CHARACTERS: Final = re.compile(r"[\\`*_~|<>\[\](){}#&]|:(?=//)|^[-+=]")
_LIST_NUMBER: Final = re.compile(r"^(\d+)\.")

EscapeFunction = Callable[[str], str]


@dataclass(frozen=True)
class MessageContent:
    """The content of a message: a sentence with `{actor}` and `{target}`, their names, and the event for programs.

    `count`: the number for `{count}` in the sentence. The message about an application event has a complete `text`
    instead of a sentence.
    """

    sentence: str
    actor: str
    target: str
    event: Mapping[str, Any]
    count: int = 0
    text: str | None = None

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], sequence: int, declared_sentence: str | None) -> "MessageContent":
        """Return the content for a log entry with its sequence.

        `declared_sentence`: the sentence of the type of an application event, or None if the type is not declared.
        """
        payload = build_event_payload(entry, sequence)
        if is_application_event(entry):
            return cls("", "", "", payload, text=build_application_text(entry, declared_sentence))
        event_type = EVENT_TYPES[entry["type"]]
        return cls(
            event_type.sentence,
            *_actor_and_target_names(entry),
            payload,
            sum((entry["data"] or {}).get(event_type.counts_field, {}).values()),
        )

    @classmethod
    def create_test_message(
        cls, actor: Mapping[str, Any], channel: IntegrationChannel, timestamp: str
    ) -> "MessageContent":
        """Return the content of a test message, which is not an event of the log."""
        entry = {
            "type": "channel.test",
            "occurredAt": timestamp,
            "organizationId": channel.organization_id,
            "actor": actor,
            "target": {"name": channel.name},
            "data": {"channelId": channel.id},
            "changes": [],
        }
        return cls(_TEST_SENTENCE, *_actor_and_target_names(entry), build_event_payload(entry, None))

    @property
    def plain_text(self) -> str:
        """Return the sentence as plain text."""
        return self.render(str)

    def render(self, escape: EscapeFunction) -> str:
        """Return the sentence with escaped names. A complete text is escaped as a whole, since all of it is chosen."""
        if self.text is not None:
            return escape(self.text)
        return self.sentence.format(actor=escape(self.actor), target=escape(self.target), count=self.count)


def encode_message_body(provider: Provider, content: MessageContent) -> bytes:
    """Return the body of a message in the provider's format."""
    return to_json(_FORMATS[provider](content))


def build_delivery_url(provider: Provider, url: str) -> str:
    """Return the URL for a message. Discord reports the result only with `wait=true`."""
    if provider != "discord":
        return url
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "wait"]
    return parts._replace(query=urlencode([*query, ("wait", "true")])).geturl()


def escape_slack_markup_and_mentions(text: str) -> str:
    """Return text that Slack's mrkdwn shows as it is, except for bold and the like, which have no escape."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _disable_group_mentions(text)


def escape_markdown_and_mentions(text: str) -> str:
    """Return text that Markdown shows as it is (CommonMark, section 2.4), as in Discord and Teams."""
    return _disable_group_mentions(_LIST_NUMBER.sub(r"\1\\.", _MARKDOWN_CHARACTERS.sub(r"\\\g<0>", text)))


def _disable_group_mentions(text: str) -> str:
    return _MENTIONS.sub("@" + _ZERO_WIDTH_SPACE, text)


def _slack_payload(content: MessageContent) -> dict[str, Any]:
    timestamp, event = content.event["timestamp"], content.event["type"]
    when = f"<!date^{timestamp_ms(timestamp) // 1000}^{{date_short_pretty}} {{time}}|{timestamp}>"
    text = content.render(escape_slack_markup_and_mentions)
    return {
        "text": text,
        "blocks": [
            {"type": "section", "text": _mrkdwn_text_object(text)},
            {"type": "context", "elements": [_mrkdwn_text_object(f"{when} · {event}")]},
        ],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _mrkdwn_text_object(text: str) -> dict[str, Any]:
    # `verbatim` keeps Slack from turning plain text into links or mentions.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _discord_payload(content: MessageContent) -> dict[str, Any]:
    return {
        "embeds": [
            {
                "description": content.render(escape_markdown_and_mentions),
                "timestamp": content.event["timestamp"],
                "footer": {"text": content.event["type"]},
            }
        ],
        "allowed_mentions": {"parse": []},
    }


def _teams_payload(content: MessageContent) -> dict[str, Any]:
    text = content.render(escape_markdown_and_mentions)
    # An Adaptive Card shows times in the reader's zone, and rejects fractions of a second.
    timestamp = re.sub(r"\.\d+", "", content.event["timestamp"])
    when = f"{{{{DATE({timestamp}, SHORT)}}}} {{{{TIME({timestamp})}}}}"
    footer = f"{when} · {escape_markdown_and_mentions(content.event['type'])}"
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": text,
        "body": [
            {"type": "TextBlock", "text": text, "wrap": True},
            {"type": "TextBlock", "text": footer, "wrap": True, "isSubtle": True, "size": "Small"},
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _generic_webhook_payload(content: MessageContent) -> dict[str, Any]:
    return {"text": content.plain_text, "event": content.event}


_FORMATS: Final[Mapping[Provider, Callable[[MessageContent], dict[str, Any]]]] = {
    "slack": _slack_payload,
    "discord": _discord_payload,
    "teams": _teams_payload,
    "webhook": _generic_webhook_payload,
}


def _actor_and_target_names(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the actor and of the target."""
    return principal_name(entry["actor"]), clean_name(entry["target"]["name"] or "") or UNKNOWN_TARGET
