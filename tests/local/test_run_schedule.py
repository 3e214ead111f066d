"""The command `python -m local tick`: runs a schedule now."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.kernel.core.aws import client
from local.__main__ import main
from local.paths import ROOT
from local.server.configuration import write_run_settings


def run_python(local_state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, with the state of a local stage."""
    environment = {**os.environ, "LOCAL_STATE": str(local_state)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("arguments", [[], ["--port", "8000"]])
@pytest.mark.parametrize("schedule", ["sweep", "anchor"])
def test_a_schedule_runs_at_once(arguments, schedule, capsys):
    head = {"pk": "Q#log", "sk": "!", "index2pk": "ANCHOR#0", "index2sk": "2026-11-20T09:30:00.000Z#log"}
    due = {"pk": "A", "sk": "#", "task": "some.task", "duepk": "DUE#0", "duesk": "2026-11-20T09:30:00.000Z#A#"}
    for item in (head, due):
        client("dynamodb").put_item(TableName="atrium", Item={name: {"S": value} for name, value in item.items()})
    assert main(["tick", schedule, *arguments]) == 0
    assert capsys.readouterr().out == f"{schedule}: 1 queued.\n"


@pytest.mark.usefixtures("run_settings")
def test_only_the_schedule_and_the_number_of_queued_tasks_are_printed(local_state):
    program = """
import sys
from moto import mock_aws
from local.__main__ import main
from local.server.provisioning import provision
with mock_aws():
    provision("atrium")
    sys.exit(main(["tick", "sweep"]) or main(["tick", "anchor"]))
"""
    completed = run_python(local_state, "-W", "error", "-c", program)
    assert (completed.returncode, completed.stdout, completed.stderr) == (
        0,
        "sweep: 0 queued.\nanchor: 0 queued.\n",
        "",
    )


@pytest.mark.usefixtures("run_settings")
def test_an_unknown_schedule_fails_with_the_list_of_schedules(capsys):
    assert main(["tick", "clock"]) == 1
    assert capsys.readouterr().err == "Unknown schedule 'clock'. The schedules are: anchor, sweep.\n"


@pytest.mark.usefixtures("local_state")
def test_without_a_run_the_command_fails_with_a_hint(capsys):
    assert main(["tick", "anchor"]) == 1
    assert capsys.readouterr().err == "No run was found. Start `make run`.\n"


def test_a_run_that_has_ended_does_not_respond(local_state):
    write_run_settings(local_state, endpoint="http://127.0.0.1:1", public_url="http://127.0.0.1:8000")
    completed = run_python(local_state, "-m", "local", "tick", "anchor")
    assert completed.returncode == 1
    assert completed.stderr == "The database did not respond in time. Try again in a moment.\n"
