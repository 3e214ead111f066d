"""Stateful tests of the whole service against a model: random requests, faults and passing time.

Each run that ever failed is recorded as plain steps in `regressions/`, and repeated in each test run.
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

from tests.model.final_state import check_final_state
from tests.model.model_run import ModelRun
from tests.model.state_machine import create_state_machine

Begin = Callable[[], ModelRun]

REPRODUCIBLE: Final = settings(
    max_examples=4, stateful_step_count=35, deadline=None, derandomize=True, database=None, print_blob=False
)
THOROUGH: Final = settings(REPRODUCIBLE, max_examples=25)
RANDOM: Final = settings(REPRODUCIBLE, max_examples=20, derandomize=False)

REGRESSIONS: Final = sorted((Path(__file__).parent / "regressions").glob("*.json"))


def settings_of_rounds(reproducible: settings) -> Iterator[settings]:
    """Yield reproducible settings once, or random ones for `EXPLORE_MINUTES`, as `make explore` does."""
    minutes = float(os.environ.get("EXPLORE_MINUTES", "0"))
    if not minutes:
        yield reproducible
    end_at = time.monotonic() + 60 * minutes
    while time.monotonic() < end_at:
        yield RANDOM


@pytest.mark.parametrize("reproducible", [REPRODUCIBLE, pytest.param(THOROUGH, marks=pytest.mark.exhaustive)])
def test_service_matches_the_model(begin_run, reproducible):
    for round_settings in settings_of_rounds(reproducible):
        run_state_machine_as_test(create_state_machine(begin_run), settings=round_settings)


@pytest.mark.parametrize("file", REGRESSIONS, ids=lambda file: file.stem)
def test_recorded_regression_passes(file, begin_run):
    run = begin_run()
    for name, arguments in json.loads(file.read_text()):
        run.execute_step(name, arguments)
    check_final_state(run)
