"""Event types: the grammar of their names, and their sentences."""

import re
import string
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.events.types.logic.sentences import list_sentence_errors, render_sentence
from chalicelib.features.events.types.models import EVENT_TYPE_PATTERN
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.core.event_patterns import BUILT_IN_SUBJECTS, is_application_type

parts = st.text(string.ascii_lowercase + "_", min_size=1, max_size=20)
properties = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)
names = st.one_of(st.just("actor"), st.just("target"), properties.map("data.{}".format))
texts = st.text(st.characters(exclude_characters="{}"), max_size=10)
braced: Final = re.compile(r"\{[^{}]*\}")


@given(parts, st.lists(parts, min_size=1, max_size=3))
def test_types_of_the_grammar_are_accepted_and_belong_to_the_application_or_the_service(first, others):
    name = ".".join([first, *others])
    assert re.fullmatch(EVENT_TYPE_PATTERN, name)
    assert is_application_type(name) is (first not in BUILT_IN_SUBJECTS)


@given(st.text(max_size=120))
def test_other_texts_are_no_types(text):
    is_type = len(text) <= 100 and text.count(".") > 0 and all(re.fullmatch("[a-z_]+", p) for p in text.split("."))
    assert bool(re.fullmatch(EVENT_TYPE_PATTERN, text)) is is_type


def test_all_built_in_types_match_the_grammar_and_have_reserved_first_parts():
    assert all(re.fullmatch(EVENT_TYPE_PATTERN, name) and not is_application_type(name) for name in EVENT_TYPES)
    assert {name.partition(".")[0] for name in EVENT_TYPES} <= BUILT_IN_SUBJECTS


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
