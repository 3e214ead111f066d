"""`make run`: start, stop, and the data that it keeps."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from local.paths import ROOT
from local.server.emulator import answers
from local.server.run import free_port
from tests.emulator.outside import whole_log
from tests.emulator.people import Caller
from tests.emulator.stage import MAKE, Stage, environment
from tests.harness.project_copies import copied

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage for one test, which is killed afterwards."""
    stage = Stage(tmp_path / "state")
    yield stage
    for process in stage.processes():
        os.kill(process, signal.SIGKILL)


def test_stage_is_ready_within_ten_seconds(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    record_property("seconds until ready", round(stage.ready_after, 2))
    assert stage.ready_after < 10


def test_data_survives_ctrl_c_until_a_fresh_start(own_stage: Stage) -> None:
    own_stage.make()
    with Caller(own_stage, "ada") as ada:
        organization = ada.makes_organization()
        path = f"/organizations/{organization}"
        names = [f"Name {n}" for n in range(10)]
        for name in names:
            assert ada.patch(path, json={"name": name}).is_success
        own_stage.interrupt()
        assert own_stage.processes_left() == {}  # make exits only after all its processes have.
        assert "the emulator saves its state" in own_stage.said

        own_stage.make()
        assert ada.get(path).json()["name"] == names[-1]
        log = whole_log(ada, organization)
        assert [entry["data"]["name"] for entry in log[1:]] == names
        own_stage.terminate()
        assert own_stage.processes_left() == {}

        own_stage.make("FRESH=1")
        assert ada.get("/organizations").json()["items"] == []
        assert ada.get(path).status_code == 404
        own_stage.terminate()
        assert own_stage.processes_left() == {}


def test_killed_stage_leaves_no_processes(own_stage: Stage) -> None:
    own_stage.start()
    assert len(own_stage.processes()) == 6
    own_stage.kill()
    assert own_stage.processes_left(seconds=30) == {}


def test_stage_ends_and_names_a_process_that_died(own_stage: Stage) -> None:
    own_stage.start()
    (pump_id,) = (
        process for process, command in own_stage.processes().items() if "local.server.event_source_emulator" in command
    )
    os.kill(pump_id, signal.SIGKILL)
    assert own_stage.ended() == 1
    assert "The pump ended by itself (exit code -9)" in own_stage.said
    assert own_stage.processes_left() == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("LOG_LEVEL", "loud"), ("DATA_KEY", "short"), ("WEBHOOK_ALLOW_PRIVATE", "perhaps")],
)
def test_invalid_setting_is_named_before_any_process_starts(setting: str, value: str, tmp_path: Path) -> None:
    command = [*MAKE, f"PORT={free_port()}"]
    environ = environment(tmp_path, **{setting: value})
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode != 0
    assert setting in result.stderr
    assert value not in result.stderr
    assert not list(tmp_path.rglob("*.log"))


def test_chalice_local_serves_the_app_against_a_running_emulator(stage: Stage, tmp_path: Path) -> None:
    copied((".chalice", "app.py", "chalicelib", "infrastructure", "local", "openapi.json"), tmp_path, "deploy*")
    standalone_stage = Stage(tmp_path / ".local")
    provision = [sys.executable, "-m", "local", "provision", "--endpoint", stage.endpoint]
    subprocess.run(provision, cwd=tmp_path, env=environment(standalone_stage.state), capture_output=True, check=True)

    # Without --no-autoreload a second process would serve, and restart with every change of a file.
    chalice = [str(Path(sys.executable).parent / "chalice"), "local", "--stage", "local", "--no-autoreload"]
    command, environ = [*chalice, "--port", str(standalone_stage.port)], environment(standalone_stage.state)
    with (
        (tmp_path / "chalice.log").open("wb") as log,
        _running_process(command, tmp_path, environ, log),
        Caller(standalone_stage, "ada") as ada,
    ):
        deadline = time.monotonic() + 30
        while not answers(standalone_stage.port, "/status"):
            assert time.monotonic() < deadline, (tmp_path / "chalice.log").read_text()
            time.sleep(0.05)
        organization = ada.makes_organization()
        assert ada.get("/organizations").json()["items"][0]["id"] == organization


@contextmanager
def _running_process(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], log: IO[bytes]
) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()
