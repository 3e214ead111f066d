import os
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.kernel.core.aws import client
from local.__main__ import main
from local.paths import ROOT
from local.server.configuration import configure


@pytest.mark.usefixtures("local_run")
@pytest.mark.parametrize("words", [[], ["--port", "8000"]])
@pytest.mark.parametrize("schedule", ["sweep", "anchor"])
def test_a_schedule_ticks_at_once(words: list[str], schedule: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = {"pk": "Q#log", "sk": "!", "index2pk": "ANCHOR#0", "index2sk": "2026-11-20T09:30:00.000Z#log"}
    due = {"pk": "A", "sk": "#", "task": "some.task", "duepk": "DUE#0", "duesk": "2026-11-20T09:30:00.000Z#A#"}
    for item in (head, due):
        client("dynamodb").put_item(TableName="atrium", Item={name: {"S": value} for name, value in item.items()})
    assert main(["tick", schedule, *words]) == 0
    assert capsys.readouterr().out == f"{schedule}: 1 queued.\n"


@pytest.mark.usefixtures("local_run")
@pytest.mark.parametrize("schedule", ["sweep", "anchor"])
def test_what_ran_and_what_it_did_is_all_that_a_process_prints(schedule: str, state_folder: Path) -> None:
    program = f"""
import sys
from moto import mock_aws
from local.__main__ import main
from local.server.provisioning import provision
with mock_aws():
    provision("atrium")
    sys.exit(main(["tick", "{schedule}"]))
"""
    command = [sys.executable, "-W", "error", "-c", program]
    environment = {**os.environ, "LOCAL_STATE": str(state_folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{schedule}: 0 queued.\n", "")


@pytest.mark.usefixtures("local_run")
def test_a_schedule_that_is_none_is_refused_by_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tick", "clock"]) == 1
    assert capsys.readouterr().err == "There is no schedule 'clock'. There are: anchor, sweep.\n"


@pytest.mark.usefixtures("state_folder")
def test_without_a_run_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tick", "anchor"]) == 1
    assert capsys.readouterr().err == "No run was found. Start `make run`.\n"


def test_a_run_that_is_over_does_not_answer(state_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(state_folder, endpoint="http://127.0.0.1:1", public_url="http://127.0.0.1:8000")
    assert main(["tick", "anchor"]) == 1
    assert capsys.readouterr().err == "The database did not respond in time. Try again in a moment.\n"
