"""`make smoke` passes against the running local stage."""

import re

import pytest

from tests.emulator.local_stage import run_local_command

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

STAGE_CHECKS = {"address", "event sources", "chains of functions", "alarms"}
"""The checks of what only a deployed stage has."""


def test_every_check_passes_but_those_of_a_deployed_stage(stage):
    result = run_local_command(stage.state, "smoke", "--port", str(stage.port))
    assert result.returncode == 0, result.stdout + result.stderr
    outcomes = {name: outcome for outcome, name in re.findall(r"^(\w+) +([^:\n]+): ", result.stdout, re.MULTILINE)}
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == STAGE_CHECKS
    assert set(outcomes.values()) == {"ok", "skipped"}
    assert len(outcomes) >= 30
