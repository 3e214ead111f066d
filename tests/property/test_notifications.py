"""Names in chat messages are plain text, and delivery attempts have the documented delays."""

import json
import re
from statistics import median_low
from typing import Final, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chalicelib.features.notifications.channels.logic.application_messages import MAX_TEXT_CHARACTERS
from chalicelib.features.notifications.channels.logic.chat_messages import (
    MessageContent,
    build_delivery_url,
    encode_message_body,
)
from chalicelib.features.notifications.channels.logic.display_names import MAX_NAME_CHARACTERS
from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.logic.retry_schedule import (
    JITTER_FRACTION,
    RETRY_SECONDS,
    next_attempt_at,
)
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.features.notifications.webhooks.models.attempt_counts import build_counts_update, sum_counts
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.event_patterns import matches_any_pattern
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

TIMESTAMP: Final = "2026-11-20T09:30:00.123Z"
SPECIAL_CHARACTERS: Final = "<>&*_~`|\\[](){}#-+=!@:/.^\"'$%;? \t\n\r\u202e\u200b\u2028"
MARKUP: Final = [
    *("<!channel>", "<@U024BE7LH>", "<https://evil.example|here>", "@everyone", "@HERE", "&lt;", "&amp;lt;", "**"),
    *("```", "[x](https://evil.example)", "<at>Ada</at>", "{{DATE(2026-11-20T09:30:00Z)}}", "https://evil.example"),
    *("1. ", "12) ", "# ", "-# ", "> ", "- ", "---", "\\", "\\\\*", "<:smile:1>", "</cmd:1>", "||x||", "<t:1:R>"),
    *("![", "a"),
]

names = st.lists(
    st.sampled_from(MARKUP)
    | st.text(SPECIAL_CHARACTERS + "ab1", max_size=4)
    | st.text(st.characters(exclude_categories=["Cs"])),
    max_size=6,
).map("".join)
kinds = st.sampled_from(["user", "api_key", "service_key", "operator", "anonymous", "system"])
few_examples = settings(max_examples=50)


def build_content(event_type, actor_type, actor, target):
    return MessageContent.from_entry(
        {
            "type": event_type,
            "occurredAt": TIMESTAMP,
            "organizationId": "o",
            "data": {},
            "changes": [],
            "actor": {"type": actor_type, "id": None, "name": actor},
            "target": {"type": "organization", "id": "t", "name": target},
        },
        7,
        None,
    )


def build_application_content(sentence, names_of_actor_and_target, reporter, data, *, asserts_actor=True):
    actor, target = names_of_actor_and_target
    reported_by = {"type": "api_key", "id": "k", "name": reporter}
    named_actor = {"type": "customer", "id": "c-17", "name": actor, "asserted": True}
    reference = {"type": "invoice", "id": "INV-42", "name": target}
    return MessageContent.from_entry(
        {
            "type": "invoice.approved",
            "version": 1,
            "occurredAt": TIMESTAMP,
            "receivedAt": TIMESTAMP,
            "organizationId": "o",
            "data": data,
            "changes": [],
            "actor": named_actor if asserts_actor else reported_by,
            "reportedBy": reported_by,
            "target": reference,
            "targets": [reference],
        },
        7,
        sentence,
    )


application_contents = st.builds(
    build_application_content,
    st.none()
    | st.lists(st.sampled_from(["{actor}", "{target}", "{data.note}", "@", "&"]) | names, max_size=6).map("".join),
    st.tuples(names, names),
    names,
    st.none() | st.fixed_dictionaries({"note": names | st.integers() | st.lists(names, max_size=2)}),
    asserts_actor=st.booleans(),
)
message_contents = (
    st.builds(build_content, st.sampled_from(list(EVENT_TYPES)), kinds, st.none() | names, names) | application_contents
)


def content_with_names(actor: str, target: str = "it") -> MessageContent:
    return build_content("organization.updated", "user", actor, target)


def build_message(provider, content):
    return json.loads(encode_message_body(provider, content))


def visible_text(text):
    return text.replace("\u200b", "")


def unescape_once(text):
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@given(message_contents)
@example(content_with_names("&" * 2_000, "*" * 2_000))
@example(content_with_names("@everyone" * 200, "\U000122eb" * 2_000))
@example(content_with_names("&lt;b"))
def test_slack_shows_the_sentence_without_parsing_it(content):
    body = build_message("slack", content)
    section, context = body["blocks"]
    for text in (body["text"], section["text"]["text"]):
        assert not set(text) & {"<", ">"}
        assert re.fullmatch(r"(?:[^&]|&(?:amp|lt|gt);)*", text)
        assert visible_text(unescape_once(text)) == visible_text(content.plain_text)
    assert len(section["text"]["text"]) <= 3_000
    assert section["text"]["verbatim"] is context["elements"][0]["verbatim"] is True
    date_and_type = r"<!date\^1795167000\^{date_short_pretty} {time}\|[^<>|]*> · [a-z_.]+"
    assert re.fullmatch(date_and_type, context["elements"][0]["text"])


@pytest.mark.parametrize("provider", ["discord", "teams"])
@given(content=message_contents)
@example(content=content_with_names("1. x"))
@example(content=content_with_names("123456789) x"))
@example(content=content_with_names("---"))
@example(content=content_with_names("https://evil.example"))
@example(content=content_with_names("&" * 2_000, "*" * 2_000))
@example(content=content_with_names("@everyone" * 200, "\U000122eb" * 2_000))
def test_markdown_shows_the_sentence_as_one_paragraph_of_plain_text(provider, content):
    body = build_message(provider, content)
    if provider == "discord":
        text = body["embeds"][0]["description"]
        assert body["allowed_mentions"] == {"parse": []}
        assert len(text) <= 4_096
    else:
        text = body["attachments"][0]["content"]["body"][0]["text"]
        assert len(encode_message_body("teams", content)) <= 28 * 1024
    paragraph, inline, end = MarkdownIt("js-default").parse(text)
    assert (paragraph.type, end.type) == ("paragraph_open", "paragraph_close")
    texts = [child.content for child in inline.children or [] if child.type in ("text", "text_special")]
    assert len(texts) == len(inline.children or []), [child.type for child in inline.children or []]
    assert visible_text("".join(texts)) == visible_text(content.plain_text)
    assert not re.search(r"(?<!\\)://|{{", text)


@pytest.mark.parametrize("provider", ["slack", "discord", "teams"])
@few_examples
@given(content=message_contents)
def test_no_message_mentions_everyone(provider, content):
    text = encode_message_body(provider, content).decode()
    assert not re.search(r"@(?:everyone|here|channel|group)", text, re.IGNORECASE)


@given(application_contents)
@example(build_application_content("{data.note}everyone", ("a", "b"), "c", {"note": "@"}))
@example(build_application_content("{actor}{actor}{actor}", ("&" * 500, "b"), "c" * 500, {}))
def test_a_text_about_an_application_event_is_one_short_line_that_a_value_cannot_extend(content):
    assert content.plain_text == " ".join(content.plain_text.split())
    assert 0 < len(content.plain_text) <= MAX_TEXT_CHARACTERS
    assert "{data." not in content.plain_text or "{data." in json.dumps(content.event)


@pytest.mark.parametrize("provider", get_args(Provider))
def test_a_long_name_is_truncated(provider):
    text = encode_message_body(provider, content_with_names("a" * 257, "b" * 256)).decode()
    assert "a" * 255 + "…" in text
    assert "a" * 256 not in text
    assert "b" * 256 in text


@given(message_contents)
def test_a_name_is_one_line_and_generic_webhooks_receive_the_event_and_the_plain_sentence(content):
    for name in (content.actor, content.target):
        assert len(name) <= MAX_NAME_CHARACTERS + len("The API key ")
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", name)
        assert name == " ".join(name.split())
    assert build_message("webhook", content) == {"text": content.plain_text, "event": dict(content.event)}


@few_examples
@given(st.lists(st.tuples(st.sampled_from(["wait", "thread_id", "x"]), st.sampled_from(["false", "true", "1"]))))
def test_a_discord_url_has_one_wait_parameter(query):
    query_string = "&".join(f"{name}={value}" for name, value in query)
    url = build_delivery_url("discord", f"https://discord.com/api/webhooks/1/x?{query_string}")
    assert (url.count("wait="), url.endswith("wait=true")) == (1, True)
    assert url.startswith("https://discord.com/api/webhooks/1/x?")
    assert all(f"{name}={value}" in url for name, value in query if name != "wait")


TIMESTAMPS = st.integers(0, 4_000_000_000_000).map(timestamp)
JITTER = st.floats(-1, 1)
ATTEMPTS = st.integers(1, len(RETRY_SECONDS))
RETRY_AFTER_SECONDS = st.none() | st.integers(0, 10**9)
DAY = 86_400


def retry_delay(attempts: int, failed_at: str, jitter: float, retry_after: int | None = None) -> float:
    retry_at = next_attempt_at(attempts, failed_at, jitter, retry_after)
    assert retry_at is not None
    return (timestamp_ms(retry_at) - timestamp_ms(failed_at)) / 1000


def test_the_delays_are_the_documented_ones():
    assert (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, DAY) == RETRY_SECONDS
    assert JITTER_FRACTION == 0.2


@given(ATTEMPTS, TIMESTAMPS, JITTER, RETRY_AFTER_SECONDS)
def test_delays_are_spread_over_the_whole_jitter_of_a_fifth_and_respect_retry_after(
    attempts, failed_at, jitter, retry_after
):
    seconds, delay = RETRY_SECONDS[attempts - 1], retry_delay(attempts, failed_at, jitter)
    earliest, latest = retry_delay(attempts, failed_at, -1), retry_delay(attempts, failed_at, 1)
    assert 0.8 * seconds - 0.001 <= earliest <= delay <= latest <= 1.2 * seconds + 0.001
    assert abs(latest - earliest - 0.4 * seconds) < 0.01
    assert retry_delay(attempts, failed_at, jitter, retry_after) == max(delay, min(retry_after or 0, DAY))


@given(st.integers(len(RETRY_SECONDS) + 1, 1_000), TIMESTAMPS, JITTER, RETRY_AFTER_SECONDS)
def test_after_the_tenth_attempt_there_is_none(attempts, failed_at, jitter, retry_after):
    assert next_attempt_at(attempts, failed_at, jitter, retry_after) is None


@given(JITTER)
def test_ten_attempts_take_between_two_and_four_days(jitter):
    failed_at = started_at = timestamp(1_800_000_000_000)
    attempts = 0
    while failed_at:
        attempts, last = attempts + 1, failed_at
        failed_at = next_attempt_at(attempts, failed_at, jitter) or ""
    assert attempts == 10
    assert 2.5 * DAY < (timestamp_ms(last) - timestamp_ms(started_at)) / 1000 < 4 * DAY


SEGMENTS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
EVENT_NAMES = st.lists(SEGMENTS, min_size=2, max_size=4).map(".".join)


@given(EVENT_NAMES, st.lists(EVENT_NAMES))
def test_a_type_matches_its_name_its_prefixes_and_everything(name, others):
    segments = name.split(".")
    patterns = [".".join([*segments[:n], "*"]) for n in range(1, len(segments))]
    assert all(matches_any_pattern([*others, pattern], name) for pattern in (name, "*", *patterns))


@given(EVENT_NAMES, EVENT_NAMES)
def test_a_type_does_not_match_other_names_or_prefixes(name, other):
    assert matches_any_pattern([other], name) == (other == name)
    assert matches_any_pattern([f"{other}.*"], name) == name.startswith(f"{other}.")
    assert not matches_any_pattern([], name)


DURATIONS_MS = st.integers(0, 60_000)


@given(st.lists(DURATIONS_MS, min_size=1, max_size=40), st.lists(DURATIONS_MS, max_size=40))
@example([19], [])  # The middle of its range, 17.4, is rounded away from it.
def test_the_median_duration_of_attempts_with_a_response_is_right_within_ten_percent(durations_ms, unanswered_ms):
    unanswered = [WebhookResponse(None, "The connection was refused.", "", each) for each in unanswered_ms]
    responses = [*unanswered, *(WebhookResponse(200, None, "", each) for each in durations_ms)]
    update = build_counts_update("V#1", responses, TIMESTAMP)
    counts = sum_counts([{"pk": "V#1", "sk": update.key[1], **update.add}], TIMESTAMP, 1)
    exact = median_low(durations_ms)
    assert (counts.delivered, counts.failed) == (len(durations_ms), len(unanswered_ms))
    assert abs(counts.median_duration_ms - exact) <= max(1, 0.1 * exact + 0.5)
