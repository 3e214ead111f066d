"""The commands `python -m local tick`, which runs a schedule now, and `python -m local migrate`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.features.admin.migrations.logic import runner
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
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


def test_a_run_that_has_ended_does_not_respond(local_state):
    write_run_settings(local_state, endpoint="http://127.0.0.1:1", public_url="http://127.0.0.1:8000")
    completed = run_python(local_state, "-m", "local", "tick", "anchor")
    assert completed.returncode == 1
    assert completed.stderr == "The database did not respond in time. Try again in a moment.\n"


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("arguments", [[], ["--port", "8000"]])
def test_pending_migrations_are_applied_and_printed(arguments, capsys):
    assert main(["migrate", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": applied in ")[0] for line in lines] == [migration.id for migration in MIGRATIONS]
    assert main(["migrate", *arguments]) == 0
    assert capsys.readouterr().out == "No migrations are pending.\n"


@pytest.mark.usefixtures("run_settings")
def test_a_failed_migration_is_printed_with_its_error(monkeypatch, capsys):
    broken = Migration("0001-lost", "Has no module.", "0" * 64, "chalicelib.lost")
    monkeypatch.setattr(runner.apply_migrations_yielding_outcomes, "__defaults__", ((broken,),))
    assert main(["migrate"]) == 1
    assert "0001-lost: failed. A step ended by ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["tick", "anchor"], "No run was found. Start `make run`.\n"),
        (["migrate", "--port", "8001"], "Start `make run`"),
        *((command, "make run") for command in (["dns", "list"], ["mail"], ["seed"])),
    ],
)
def test_without_a_run_a_command_fails_with_a_hint(command, hint, local_state, capsys):
    assert main(command) == 1
    assert hint in capsys.readouterr().err
