"""Every event has its words: what it says has happened, and the sentence that it is told with."""

from string import Formatter

import pytest

from chalicelib.entrypoints.catalogue import events
from chalicelib.features.notifications.models.event_types import EVENT_PATTERNS, EVENT_TYPES, EventType


def test_every_event_is_described_and_nothing_else() -> None:
    assert sorted(EVENT_TYPES) == events()


@pytest.mark.parametrize("event_type", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_words_are_sentences(event_type: EventType) -> None:
    for words in (event_type.description, event_type.sentence):
        assert words.endswith(".")
        assert words[0] == "{" or words[0].isupper()
    assert {name for _, name, _, _ in Formatter().parse(event_type.sentence) if name} <= {"actor", "target"}


def test_no_two_events_are_told_alike() -> None:
    assert len({event_type.sentence for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)
    assert len({event_type.description for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)


def test_a_pattern_is_of_one_event_at_least() -> None:
    assert {"*", "organization.*", "organization.webhook.*", "organization.updated"} <= EVENT_PATTERNS
    assert (
        not {"organization", "organization.", "organization.web*", "organization.updated.*", "**", ""} & EVENT_PATTERNS
    )
