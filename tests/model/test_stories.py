"""The whole service against its model: whatever its people do, and whatever happens meanwhile, it is as it should be.

A story that ever went wrong is kept, as plain steps, in `kept/`, and told again each time.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.invariants import end
from tests.model.machine import machine
from tests.model.story import Story

Begin = Callable[[], Story]

BOUNDED: Final = settings(
    max_examples=25, stateful_step_count=35, deadline=None, derandomize=True, database=None, print_blob=False
)
EXPLORING: Final = settings(BOUNDED, max_examples=20, derandomize=False)

KEPT: Final = sorted((Path(__file__).parent / "regressions").glob("*.json"))


def rounds() -> Iterator[settings]:
    """Yield one round of stories, always the same; or others for `EXPLORE_MINUTES`, as `make explore` does."""
    minutes = float(os.environ.get("EXPLORE_MINUTES", "0"))
    if not minutes:
        yield BOUNDED
    end_at = time.monotonic() + 60 * minutes
    while time.monotonic() < end_at:
        yield EXPLORING


def test_the_service_is_what_the_model_says(begin: Begin) -> None:
    for each in rounds():
        run_state_machine_as_test(machine(begin), settings=each)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_a_story_that_went_wrong_goes_well(file: Path, begin: Begin) -> None:
    story = begin()
    for name, said in json.loads(file.read_text()):
        story.do(name, said)
    end(story)
