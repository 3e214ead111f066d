"""`make run`: start, stop, and the data that it keeps."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from local.paths import ROOT
from local.server.emulator import responds
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import MAKE, LocalStage, process_environment
from tests.emulator.log_reader import read_verified_log
from tests.harness.project_copies import copy_project

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[LocalStage]:
    """A stage for one test, which is killed afterwards."""
    stage = LocalStage(tmp_path / "state")
    yield stage
    for process in stage.list_processes():
        os.kill(process, signal.SIGKILL)


def test_stage_is_ready_soon(stage, record_property):
    record_property("seconds until ready", round(stage.ready_after_seconds, 2))
    assert stage.ready_after_seconds < 40  # It takes less than 10 s on two idle cores.


def test_data_survives_ctrl_c_until_a_fresh_start(own_stage):
    own_stage.start_with_make()
    with ApiClient(own_stage, "ada") as ada:
        organization = ada.create_organization()
        path = f"/organizations/{organization}"
        names = [f"Name {n}" for n in range(10)]
        for name in names:
            assert ada.patch(path, json={"name": name}).is_success
        own_stage.interrupt()
        assert own_stage.remaining_processes() == {}  # make exits only after all its processes have.
        assert "Stopping, and saving the data." in own_stage.output

        own_stage.start_with_make()
        assert ada.get(path).json()["name"] == names[-1]
        log = read_verified_log(ada, organization)
        assert [entry["data"]["name"] for entry in log[1:]] == names
        own_stage.terminate()
        assert own_stage.remaining_processes() == {}

        own_stage.start_with_make("FRESH=1")
        assert ada.get("/organizations").json()["items"] == []
        assert ada.get(path).status_code == 404
        own_stage.terminate()
        assert own_stage.remaining_processes() == {}


def test_killed_stage_leaves_no_processes(own_stage):
    own_stage.start()
    assert len(own_stage.list_processes()) == 6
    own_stage.kill()
    assert own_stage.remaining_processes(seconds=30) == {}


def test_stage_ends_and_names_a_process_that_died(own_stage):
    own_stage.start()
    (pump_id,) = (
        process
        for process, command in own_stage.list_processes().items()
        if "local.server.event_source_emulator" in command
    )
    os.kill(pump_id, signal.SIGKILL)
    assert own_stage.wait_for_exit() == 1
    assert "The pump ended unexpectedly (exit code -9)" in own_stage.output
    assert own_stage.remaining_processes() == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("LOG_LEVEL", "loud"), ("DATA_KEY", "short"), ("WEBHOOK_ALLOW_PRIVATE", "perhaps")],
)
def test_invalid_setting_is_named_before_any_process_starts(setting, value, tmp_path):
    command = [*MAKE, f"PORT={free_port()}"]
    environ = process_environment(tmp_path, **{setting: value})
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode != 0
    assert setting in result.stderr
    assert value not in result.stderr
    assert not list(tmp_path.rglob("*.log"))


def test_chalice_local_serves_the_app_against_a_running_emulator(stage, tmp_path):
    copy_project((".chalice", "app.py", "chalicelib", "infrastructure", "local", "openapi.json"), tmp_path, "deploy*")
    standalone_stage = LocalStage(tmp_path / ".local")
    provision = [sys.executable, "-m", "local", "provision", "--endpoint", stage.emulator_url]
    subprocess.run(
        provision, cwd=tmp_path, env=process_environment(standalone_stage.state), capture_output=True, check=True
    )

    # Without --no-autoreload a second process would serve, and restart with every change of a file.
    chalice = [str(Path(sys.executable).parent / "chalice"), "local", "--stage", "local", "--no-autoreload"]
    command, environ = [*chalice, "--port", str(standalone_stage.port)], process_environment(standalone_stage.state)
    with (
        (tmp_path / "chalice.log").open("wb") as log,
        _running_process(command, tmp_path, environ, log),
        ApiClient(standalone_stage, "ada") as ada,
    ):
        deadline = time.monotonic() + 120
        while not responds(standalone_stage.port, "/status"):
            assert time.monotonic() < deadline, (tmp_path / "chalice.log").read_text()
            time.sleep(0.05)
        organization = ada.create_organization()
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
