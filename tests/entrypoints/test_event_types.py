"""Every event type has a description, and a sentence for messages."""

from string import Formatter

import pytest

from chalicelib.entrypoints.catalogue import event_names
from chalicelib.features.notifications.models.event_types import EVENT_PATTERNS, EVENT_TYPES


def test_the_event_types_are_those_that_the_service_emits():
    assert sorted(EVENT_TYPES) == event_names()


@pytest.mark.parametrize("event_type", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_descriptions_and_message_templates_are_sentences(event_type):
    for text in (event_type.description, event_type.sentence):
        assert text.endswith(".")
        assert text[0] == "{" or text[0].isupper()
    assert {name for _, name, _, _ in Formatter().parse(event_type.sentence) if name} <= {"actor", "target"}


def test_descriptions_and_sentences_are_unique():
    assert len({event_type.sentence for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)
    assert len({event_type.description for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)


def test_patterns_match_at_least_one_event():
    assert {"*", "organization.*", "organization.webhook.*", "organization.updated"} <= EVENT_PATTERNS
    assert (
        not {"organization", "organization.", "organization.web*", "organization.updated.*", "**", ""} & EVENT_PATTERNS
    )
