"""Stateful tests of the whole service against a model: random requests, faults and passing time.

Each run that ever failed is recorded as plain steps in `regressions/`, and repeated in each test run.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from local.paths import ROOT
from tests.model.actions import ACTION_GROUPS, steps_for_group
from tests.model.final_state import check_final_state
from tests.model.model_run import ModelRun

Begin = Callable[[], ModelRun]

REPRODUCIBLE: Final = settings(
    max_examples=4, stateful_step_count=35, deadline=None, derandomize=True, database=None, print_blob=False
)
THOROUGH: Final = settings(REPRODUCIBLE, max_examples=25)
RANDOM: Final = settings(REPRODUCIBLE, max_examples=20, derandomize=False)

FAILED: Final = ROOT / "build/model/failed.json"
"""The steps of the last failed run. After Hypothesis has shrunk it, this is the shortest one."""

REGRESSIONS: Final = sorted((Path(__file__).parent / "regressions").glob("*.json"))


def create_state_machine(begin: Begin) -> type[RuleBasedStateMachine]:
    """Return a state machine whose runs begin in the state that `begin` returns."""

    class ServiceStateMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.model_run = begin()
            self.failed = False

        def take_step(self, step: tuple[str, Any]) -> None:
            self.failed = True
            with save_steps_on_failure(self.model_run):
                self.model_run.execute_step(*step)
            self.failed = False

        def teardown(self) -> None:
            if not self.failed:
                with save_steps_on_failure(self.model_run):
                    check_final_state(self.model_run)

    for group in ACTION_GROUPS:
        setattr(ServiceStateMachine, group, rule(step=steps_for_group(group))(_create_rule(group)))
    return ServiceStateMachine


def _create_rule(group: str) -> Callable[[Any, tuple[str, Any]], None]:
    def run_step(self: Any, step: tuple[str, Any]) -> None:
        self.take_step(step)

    run_step.__name__ = group
    return run_step


@contextmanager
def save_steps_on_failure(run: ModelRun) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        FAILED.parent.mkdir(parents=True, exist_ok=True)
        FAILED.write_text(run.steps_as_json() + "\n")
        error.add_note(f"The steps are in {FAILED}. Record them as tests/model/regressions/<failure>.json")
        raise


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
