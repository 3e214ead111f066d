"""Names in chat messages are plain text, whatever characters they contain."""

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
    build_delivery_url,
    encode_message_body,
)
from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.models.event_types import EVENT_TYPES

TIMESTAMP: Final = "2026-11-20T09:30:00.123Z"
SPECIAL_CHARACTERS: Final = "<>&*_~`|\\[](){}#-+=!@:/.^\"'$%;? \t\n\r\u202e\u200b\u2028"
MARKUP: Final = [
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
    st.sampled_from(MARKUP)
    | st.text(SPECIAL_CHARACTERS + "ab1", max_size=4)
    | st.text(st.characters(exclude_categories=["Cs"])),
    max_size=6,
).map("".join)
kinds = st.sampled_from(["user", "api_key", "operator", "anonymous", "system"])
markdown_providers = pytest.mark.parametrize("provider", ["discord", "teams"])


@st.composite
def message_contents(draw: st.DrawFn) -> MessageContent:
    entry = {
        "type": draw(st.sampled_from(list(EVENT_TYPES))),
        "occurredAt": TIMESTAMP,
        "organizationId": "o",
        "data": {},
        "actor": {"type": draw(kinds), "id": None, "name": draw(st.none() | names)},
        "target": {"type": "organization", "id": "t", "name": draw(names)},
    }
    return MessageContent.from_entry(entry, 7)


def build_message(provider: Provider, content: MessageContent) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode_message_body(provider, content))
    return body


def markdown_of(provider: Provider, content: MessageContent) -> str:
    body = build_message(provider, content)
    if provider == "discord":
        return str(body["embeds"][0]["description"])
    return str(body["attachments"][0]["content"]["body"][0]["text"])


def visible_text(text: str) -> str:
    """Return the text without zero-width spaces."""
    return text.replace("\u200b", "")


def content_with_names(actor: str, target: str = "it") -> MessageContent:
    entry = {
        "type": "organization.updated",
        "occurredAt": TIMESTAMP,
        "organizationId": "o",
        "data": {},
        "actor": {"type": "user", "id": "a", "name": actor},
        "target": {"type": "organization", "id": "t", "name": target},
    }
    return MessageContent.from_entry(entry, 1)


@given(message_contents())
def test_slack_shows_the_sentence_without_parsing_it(content):
    body = build_message("slack", content)
    section, context = body["blocks"]
    for text in (body["text"], section["text"]["text"]):
        assert not set(text) & {"<", ">"}
        assert re.fullmatch(r"(?:[^&]|&(?:amp|lt|gt);)*", text)
        assert visible_text(unescape_once(text)) == visible_text(content.plain_text)
    assert section["text"]["verbatim"] is context["elements"][0]["verbatim"] is True
    assert re.fullmatch(
        r"<!date\^1795167000\^{date_short_pretty} {time}\|[^<>|]*> · [a-z_.]+", context["elements"][0]["text"]
    )


def unescape_once(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@markdown_providers
@given(content=message_contents())
@example(content=content_with_names("1. x"))
@example(content=content_with_names("123456789) x"))
@example(content=content_with_names("---"))
@example(content=content_with_names("https://evil.example"))
def test_markdown_shows_the_sentence_as_one_paragraph_of_plain_text(provider, content):
    text = markdown_of(provider, content)
    paragraph, inline, end = MarkdownIt("js-default").parse(text)
    assert (paragraph.type, end.type) == ("paragraph_open", "paragraph_close")
    texts = [child.content for child in inline.children or [] if child.type in ("text", "text_special")]
    assert len(texts) == len(inline.children or []), [child.type for child in inline.children or []]
    assert visible_text("".join(texts)) == visible_text(content.plain_text)
    assert not re.search(r"(?<!\\)://|{{", text)


@pytest.mark.parametrize("provider", ["slack", "discord", "teams"])
@given(content=message_contents())
def test_no_message_mentions_everyone(provider, content):
    text = encode_message_body(provider, content).decode()
    assert not re.search(r"@(?:everyone|here|channel|group)", text, re.IGNORECASE)


@given(message_contents())
def test_discord_allows_no_mentions(content):
    assert build_message("discord", content)["allowed_mentions"] == {"parse": []}


@given(message_contents())
@example(content_with_names("&" * 2_000, "*" * 2_000))
@example(content_with_names("@everyone" * 200, "\U000122eb" * 2_000))
def test_no_message_exceeds_the_providers_limit(content):
    slack, discord = build_message("slack", content), build_message("discord", content)
    assert len(slack["blocks"][0]["text"]["text"]) <= 3_000
    assert len(discord["embeds"][0]["description"]) <= 4_096
    assert len(encode_message_body("teams", content)) <= 28 * 1024


@pytest.mark.parametrize("provider", get_args(Provider))
def test_a_long_name_is_truncated(provider):
    text = encode_message_body(provider, content_with_names("a" * 257, "b" * 256)).decode()
    assert "a" * 255 + "…" in text
    assert "a" * 256 not in text
    assert "b" * 256 in text


@given(message_contents())
def test_a_name_is_one_line_without_direction_control_characters(content):
    for name in (content.actor, content.target):
        assert len(name) <= MAX_NAME_CHARACTERS + len("The API key ")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", name)
        assert name == " ".join(name.split())


@given(message_contents())
def test_generic_webhooks_receive_the_event_and_the_plain_sentence(content):
    assert build_message("webhook", content) == {"text": content.plain_text, "event": dict(content.event)}


@given(st.lists(st.tuples(st.sampled_from(["wait", "thread_id", "x"]), st.sampled_from(["false", "true", "1"]))))
def test_a_discord_url_has_one_wait_parameter(query):
    query_string = "&".join(f"{name}={value}" for name, value in query)
    url = build_delivery_url("discord", f"https://discord.com/api/webhooks/1/x?{query_string}")
    assert url.count("wait=") == 1
    assert url.endswith("wait=true")
    assert url.startswith("https://discord.com/api/webhooks/1/x?")
    assert all(f"{name}={value}" in url for name, value in query if name != "wait")


def test_text_that_looks_like_an_entity_is_escaped():
    assert "&amp;lt;b" in build_message("slack", content_with_names("&lt;b"))["text"]
