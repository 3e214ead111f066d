"""What a channel is told, in its provider's own format: pure functions of what happened.

Names are whatever people wrote. So each provider's markup is escaped in them, nobody is called by them (`@everyone`),
and they are cut: so no message is longer than a provider takes (Slack: 3,000 characters in a section, Discord: 4,096 in
a description). There are no links, since everything of the service that a person could open asks for a credential.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic_core import to_json

from chalicelib.features.channels.entities import IntegrationChannel
from chalicelib.features.channels.models import Provider
from chalicelib.features.deliveries.event_types import EVENT_TYPES
from chalicelib.kernel.core.clock import timestamp_ms

LONGEST_NAME: Final = 256
"""Characters of a name: with all of them escaped, two fit into one section of Slack's."""

_TRIAL: Final = "{actor} sends a test: the messages of {target} arrive here."
_NAMELESS: Final = {
    "user": "Somebody",
    "api_key": "An API key",
    "operator": "An operator",
    "system": "The service",
}
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that show nothing but change the direction of what surrounds them."""
_UNSEEN_SPACE: Final = "\u200b"

_CALLS: Final = re.compile(r"@(?=everyone|here|channel|group)", re.IGNORECASE)
_MARKS: Final = re.compile(r"[\\`*_~|<>\[\](){}#&]|:(?=//)|^[-+=]")
_NUMBER: Final = re.compile(r"^(\d+)\.")

Escape = Callable[[str], str]


@dataclass(frozen=True)
class Notice:
    """What a message says: a sentence, what stands in it for `{actor}` and `{target}`, and the event for programs."""

    sentence: str
    actor: str
    target: str
    event: Mapping[str, Any]

    @classmethod
    def of(cls, said: Mapping[str, Any], sequence: int) -> "Notice":
        """Return what is to be told of an entry and its place in the log."""
        return cls(EVENT_TYPES[said["type"]].sentence, *_names(said), _event(said, sequence))

    @classmethod
    def trial(cls, actor: Mapping[str, Any], channel: IntegrationChannel, moment: str) -> "Notice":
        """Return what is to be told to see whether messages to a channel arrive. It is no event of the log."""
        said = {
            "type": "channel.test",
            "occurredAt": moment,
            "organizationId": channel.organization_id,
            "actor": actor,
            "target": {"name": channel.name},
            "data": {"channelId": channel.id},
        }
        return cls(_TRIAL, *_names(said), _event(said, None))

    @property
    def text(self) -> str:
        """The sentence, plain."""
        return self.written(str)

    def written(self, escape: Escape) -> str:
        """Return the sentence with the names in it escaped."""
        return self.sentence.format(actor=escape(self.actor), target=escape(self.target))


def message(provider: Provider, notice: Notice) -> bytes:
    """Return the body of a message in the provider's format."""
    return to_json(_FORMATS[provider](notice))


def address(provider: Provider, url: str) -> str:
    """Return where the provider wants a message: Discord says what became of it only if that is waited for."""
    if provider != "discord":
        return url
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "wait"]
    return parts._replace(query=urlencode([*query, ("wait", "true")])).geturl()


def escaped_for_slack(text: str) -> str:
    """Return text that Slack's mrkdwn takes as it is, but for bold and the like, which has no escape."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _calling_nobody(text)


def escaped_in_markdown(text: str) -> str:
    """Return text that Markdown takes as it is (CommonMark, section 2.4), that of Discord and of Teams too."""
    return _calling_nobody(_NUMBER.sub(r"\1\\.", _MARKS.sub(r"\\\g<0>", text)))


def _calling_nobody(text: str) -> str:
    return _CALLS.sub("@" + _UNSEEN_SPACE, text)


def _slack(notice: Notice) -> dict[str, Any]:
    moment, event = notice.event["timestamp"], notice.event["type"]
    when = f"<!date^{timestamp_ms(moment) // 1000}^{{date_short_pretty}} {{time}}|{moment}>"
    text = notice.written(escaped_for_slack)
    return {
        "text": text,
        "blocks": [
            {"type": "section", "text": _mrkdwn(text)},
            {"type": "context", "elements": [_mrkdwn(f"{when} · {event}")]},
        ],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: nothing in plain text becomes a link or calls somebody.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _discord(notice: Notice) -> dict[str, Any]:
    return {
        "embeds": [
            {
                "description": notice.written(escaped_in_markdown),
                "timestamp": notice.event["timestamp"],
                "footer": {"text": notice.event["type"]},
            }
        ],
        "allowed_mentions": {"parse": []},
    }


def _teams(notice: Notice) -> dict[str, Any]:
    text = notice.written(escaped_in_markdown)
    # An Adaptive Card shows a time in the reader's zone; it takes no fractions of a second.
    moment = re.sub(r"\.\d+", "", notice.event["timestamp"])
    when = f"{{{{DATE({moment}, SHORT)}}}} {{{{TIME({moment})}}}}"
    about = f"{when} · {escaped_in_markdown(notice.event['type'])}"
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": text,
        "body": [
            {"type": "TextBlock", "text": text, "wrap": True},
            {"type": "TextBlock", "text": about, "wrap": True, "isSubtle": True, "size": "Small"},
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _webhook(notice: Notice) -> dict[str, Any]:
    return {"text": notice.text, "event": notice.event}


_FORMATS: Final[Mapping[Provider, Callable[[Notice], dict[str, Any]]]] = {
    "slack": _slack,
    "discord": _discord,
    "teams": _teams,
    "webhook": _webhook,
}


def _event(said: Mapping[str, Any], sequence: int | None) -> dict[str, Any]:
    return {
        "type": said["type"],
        "timestamp": said["occurredAt"],
        "organizationId": said["organizationId"],
        "sequence": sequence,
        "data": said["data"],
    }


def _names(said: Mapping[str, Any]) -> tuple[str, str]:
    """Return who did it, and to what."""
    actor, target = said["actor"], said["target"]
    name = _shown(actor["name"] or "")
    if actor["type"] == "api_key" and name:
        name = f"The API key {name}"
    return name or _NAMELESS.get(actor["type"], "Somebody"), _shown(target["name"] or "") or "something"


def _shown(name: str) -> str:
    """Return a name as one line, the way it is read, and not too long."""
    line = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in _TURNING.sub("", name))
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1].rstrip() + "…"
