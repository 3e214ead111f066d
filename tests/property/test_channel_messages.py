"""Messages to channels: whatever people call themselves and their things, nothing of it is more than text."""

import json
import re
from typing import Any, Final, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chalicelib.features.notifications.channels.logic.chat_messages import (
    MAX_NAME_CHARACTERS,
    MessageContent,
    build_body,
    delivery_url,
)
from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.models.event_types import EVENT_TYPES

MOMENT: Final = "2026-11-20T09:30:00.123Z"
SIGNS: Final = "<>&*_~`|\\[](){}#-+=!@:/.^\"'$%;? \t\n\r\u202e\u200b\u2028"
PIECES: Final = [
    "<!channel>",
    "<@U024BE7LH>",
    "<https://evil.example|here>",
    "@everyone",
    "@HERE",
    "&lt;",
    "&amp;lt;",
    "**",
    "```",
    "[x](https://evil.example)",
    "<at>Ada</at>",
    "{{DATE(2026-11-20T09:30:00Z)}}",
    "https://evil.example",
    "1. ",
    "12) ",
    "# ",
    "-# ",
    "> ",
    "- ",
    "---",
    "\\",
    "\\\\*",
    "<:smile:1>",
    "</cmd:1>",
    "||x||",
    "<t:1:R>",
    "![",
    "a",
]

names = st.lists(
    st.sampled_from(PIECES) | st.text(SIGNS + "ab1", max_size=4) | st.text(st.characters(exclude_categories=["Cs"])),
    max_size=6,
).map("".join)
kinds = st.sampled_from(["user", "api_key", "operator", "anonymous", "system"])
either = pytest.mark.parametrize("provider", ["discord", "teams"])


@st.composite
def notices(draw: st.DrawFn) -> MessageContent:
    said = {
        "type": draw(st.sampled_from(list(EVENT_TYPES))),
        "occurredAt": MOMENT,
        "organizationId": "o",
        "data": {},
        "actor": {"type": draw(kinds), "id": None, "name": draw(st.none() | names)},
        "target": {"type": "organization", "id": "t", "name": draw(names)},
    }
    return MessageContent.from_entry(said, 7)


def sent(provider: Provider, notice: MessageContent) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(build_body(provider, notice))
    return body


def markdown(provider: Provider, notice: MessageContent) -> str:
    body = sent(provider, notice)
    if provider == "discord":
        return str(body["embeds"][0]["description"])
    return str(body["attachments"][0]["content"]["body"][0]["text"])


def seen(text: str) -> str:
    """The text without the spaces that nobody sees."""
    return text.replace("\u200b", "")


def of_names(actor: str, target: str = "it") -> MessageContent:
    said = {
        "type": "organization.updated",
        "occurredAt": MOMENT,
        "organizationId": "o",
        "data": {},
        "actor": {"type": "user", "id": "a", "name": actor},
        "target": {"type": "organization", "id": "t", "name": target},
    }
    return MessageContent.from_entry(said, 1)


@given(notices())
def test_slack_shows_the_sentence_and_parses_nothing_in_it(notice: MessageContent) -> None:
    body = sent("slack", notice)
    section, context = body["blocks"]
    for text in (body["text"], section["text"]["text"]):
        assert not set(text) & {"<", ">"}
        assert re.fullmatch(r"(?:[^&]|&(?:amp|lt|gt);)*", text)
        assert seen(unescape_once(text)) == seen(notice.plain_text)
    assert section["text"]["verbatim"] is context["elements"][0]["verbatim"] is True
    assert re.fullmatch(
        r"<!date\^1795167000\^{date_short_pretty} {time}\|[^<>|]*> · [a-z_.]+", context["elements"][0]["text"]
    )


def unescape_once(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@either
@given(notice=notices())
@example(notice=of_names("1. x"))
@example(notice=of_names("123456789) x"))
@example(notice=of_names("---"))
@example(notice=of_names("https://evil.example"))
def test_markdown_shows_the_sentence_as_one_paragraph_of_plain_text(provider: Provider, notice: MessageContent) -> None:
    text = markdown(provider, notice)
    paragraph, inline, end = MarkdownIt("js-default").parse(text)
    assert (paragraph.type, end.type) == ("paragraph_open", "paragraph_close")
    shown = [child.content for child in inline.children or [] if child.type in ("text", "text_special")]
    assert len(shown) == len(inline.children or []), [child.type for child in inline.children or []]
    assert seen("".join(shown)) == seen(notice.plain_text)
    assert not re.search(r"(?<!\\)://|{{", text)


@pytest.mark.parametrize("provider", ["slack", "discord", "teams"])
@given(notice=notices())
def test_nobody_is_called(provider: Provider, notice: MessageContent) -> None:
    text = build_body(provider, notice).decode()
    assert not re.search(r"@(?:everyone|here|channel|group)", text, re.IGNORECASE)


@given(notices())
def test_discord_mentions_nobody_whatever_is_said(notice: MessageContent) -> None:
    assert sent("discord", notice)["allowed_mentions"] == {"parse": []}


@given(notices())
@example(of_names("&" * 2_000, "*" * 2_000))
@example(of_names("@everyone" * 200, "\U000122eb" * 2_000))
def test_no_message_is_longer_than_its_provider_takes(notice: MessageContent) -> None:
    slack, discord = sent("slack", notice), sent("discord", notice)
    assert len(slack["blocks"][0]["text"]["text"]) <= 3_000
    assert len(discord["embeds"][0]["description"]) <= 4_096
    assert len(build_body("teams", notice)) <= 28 * 1024


@pytest.mark.parametrize("provider", get_args(Provider))
def test_of_a_name_that_is_too_long_its_beginning_is_shown(provider: Provider) -> None:
    text = build_body(provider, of_names("a" * 257, "b" * 256)).decode()
    assert "a" * 255 + "…" in text
    assert "a" * 256 not in text
    assert "b" * 256 in text


@given(notices())
def test_a_name_is_one_line_in_its_own_direction(notice: MessageContent) -> None:
    for name in (notice.actor, notice.target):
        assert len(name) <= MAX_NAME_CHARACTERS + len("The API key ")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", name)
        assert name == " ".join(name.split())


@given(notices())
def test_programs_get_the_event_and_people_the_plain_sentence(notice: MessageContent) -> None:
    assert sent("webhook", notice) == {"text": notice.plain_text, "event": dict(notice.event)}


@given(st.lists(st.tuples(st.sampled_from(["wait", "thread_id", "x"]), st.sampled_from(["false", "true", "1"]))))
def test_discord_is_asked_what_became_of_a_message_once(query: list[tuple[str, str]]) -> None:
    joined = "&".join(f"{name}={value}" for name, value in query)
    url = delivery_url("discord", f"https://discord.com/api/webhooks/1/x?{joined}")
    assert url.count("wait=") == 1
    assert url.endswith("wait=true")
    assert url.startswith("https://discord.com/api/webhooks/1/x?")
    assert all(f"{name}={value}" in url for name, value in query if name != "wait")


def test_what_looks_like_an_entity_stays_what_it_looks_like() -> None:
    assert "&amp;lt;b" in sent("slack", of_names("&lt;b"))["text"]
