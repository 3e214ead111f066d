"""The state machine that Hypothesis drives. It has one rule for each group of actions and checks every step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from hypothesis.stateful import RuleBasedStateMachine, rule

from local.paths import ROOT
from tests.model.actions import ACTION_GROUPS, steps_for_group
from tests.model.final_state import check_final_state
from tests.model.model_run import ModelRun

FAILED: Final = ROOT / "build/model/failed.json"
"""The steps of the last failed run. After Hypothesis has shrunk it, this is the shortest one."""


def create_state_machine(begin: Callable[[], ModelRun]) -> type[RuleBasedStateMachine]:
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
    """Save the steps of a run if the block fails."""
    try:
        yield
    except BaseException as error:
        FAILED.parent.mkdir(parents=True, exist_ok=True)
        FAILED.write_text(run.steps_as_json() + "\n")
        error.add_note(f"The steps are in {FAILED}. Record them as tests/model/regressions/<failure>.json")
        raise
