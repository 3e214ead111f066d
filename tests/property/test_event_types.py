"""Event types: the grammar of their names, and their sentences."""

import re
import string
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chalicelib.features.events.entries.models.schemas import EventIn
from chalicelib.features.events.service_keys.models import ServiceKeyCreate
from chalicelib.features.events.types.entities import EventType
from chalicelib.features.events.types.logic.sentences import list_sentence_errors, render_sentence
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.features.notifications.models.schemas import DeliveriesQuery, EventPatterns
from chalicelib.kernel.core.event_patterns import (
    EVENT_TYPE_OR_PREFIX_PATTERN,
    EVENT_TYPE_PATTERN,
    RESERVED_FIRST_PARTS,
    is_application_type,
)
from chalicelib.kernel.http.models import Input

parts = st.text(string.ascii_lowercase + "_", min_size=1, max_size=20)
properties = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)
names = st.one_of(st.just("actor"), st.just("target"), properties.map("data.{}".format))
texts = st.text(st.characters(exclude_characters="{}"), max_size=10)
braced: Final = re.compile(r"\{[^{}]*\}")


@given(parts, st.lists(parts, min_size=1, max_size=3))
def test_types_of_the_grammar_are_accepted_and_belong_to_the_application_or_the_service(first, others):
    name = ".".join([first, *others])
    assert re.fullmatch(EVENT_TYPE_PATTERN, name)
    assert is_application_type(name) is (first not in RESERVED_FIRST_PARTS)


class Subscriber(Input):
    """The part that webhooks, channels and log streams have in common."""

    events: EventPatterns


def is_accepted(model: Any, **fields: Any) -> bool:
    try:
        model(**fields)
    except ValidationError:
        return False
    return True


def is_type(text: str) -> bool:
    return len(text) <= 100 and text.count(".") > 0 and all(re.fullmatch("[a-z_]+", p) for p in text.split("."))


texts_like_types: Final = st.one_of(
    st.text(max_size=120),
    st.text("ab_.", max_size=8),
    st.text("ab_.*1-A", max_size=8),
    st.builds("{}.{}".format, st.text("ab_", min_size=90, max_size=99), st.sampled_from(["a", "b_", "*"])),
)


@given(texts_like_types)
def test_other_texts_are_no_types(text):
    assert bool(re.fullmatch(EVENT_TYPE_PATTERN, text)) is is_type(text)
    assert bool(re.fullmatch(EventType.parameter_pattern, text)) is is_type(text)
    # Models remove surrounding white space.
    assert is_accepted(EventIn, type=text) is is_type(text.strip())
    assert is_accepted(DeliveriesQuery, eventType=text) is is_type(text.strip())


@given(texts_like_types)
def test_keys_and_subscribers_accept_the_types_of_applications_and_their_prefixes(text):
    name = text.strip()
    is_prefix = len(name) <= 100 and name.endswith(".*") and is_type(name[:-1] + "x")
    assert bool(re.fullmatch(EVENT_TYPE_OR_PREFIX_PATTERN, name)) is (is_type(name) or is_prefix)
    is_expected = (is_type(name) or is_prefix) and is_application_type(name)
    assert is_accepted(ServiceKeyCreate, name="k", types=[text]) is is_expected
    assert is_accepted(Subscriber, events=[text]) is (is_expected or name == "*")


def test_all_built_in_types_match_the_grammar_and_have_reserved_first_parts():
    assert all(re.fullmatch(EVENT_TYPE_PATTERN, name) and not is_application_type(name) for name in EVENT_TYPES)
    assert {name.partition(".")[0] for name in EVENT_TYPES} <= RESERVED_FIRST_PARTS


@given(st.lists(st.tuples(texts, names)), texts, st.text())
def test_a_sentence_is_rendered_in_one_pass(pairs, end, value):
    """A value that looks like a placeholder, or like a format of Python, is shown as it is."""
    sentence = "".join(f"{text}{{{name}}}" for text, name in pairs) + end
    for shown in (value, "{actor}", "{target!r}", "{data.x}", "%s", r"\1"):
        expected = "".join(f"{text}{shown}{name}" for text, name in pairs) + end
        assert render_sentence(sentence, shown.__add__) == expected


@given(st.lists(st.tuples(texts, names)), texts)
def test_a_sentence_of_known_placeholders_has_no_errors_and_is_rendered_completely(pairs, end):
    sentence = "".join(f"{text}{{{name}}}" for text, name in pairs) + end
    known = [name.removeprefix("data.") for _, name in pairs if name.startswith("data.")]
    assert list_sentence_errors(sentence, known) == []
    assert not braced.search(render_sentence(sentence, lambda _: ""))


@given(st.text(alphabet="{}actor.data x", max_size=30))
def test_a_sentence_is_accepted_exactly_if_no_brace_remains_after_the_known_placeholders(sentence):
    remaining = re.sub(r"\{(actor|target|data\.x)\}", "", sentence)
    assert (list_sentence_errors(sentence, ["x"]) == []) is (re.search("[{}]", remaining) is None)
