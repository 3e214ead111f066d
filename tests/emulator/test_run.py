"""`make run`: how it starts, what it keeps, and that it ends whole."""

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
def own(tmp_path: Path) -> Iterator[Stage]:
    """A run of the test's own."""
    stage = Stage(tmp_path / "state")
    yield stage
    for process in stage.processes():
        os.kill(process, signal.SIGKILL)


def test_it_is_ready_in_ten_seconds(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    record_property("seconds until ready", round(stage.ready_after, 2))
    assert stage.ready_after < 10


def test_what_was_written_is_there_after_ctrl_c_until_a_fresh_start(own: Stage) -> None:
    own.make()
    with Caller(own, "ada") as ada:
        organization = ada.makes_organization()
        path = f"/organizations/{organization}"
        names = [f"Name {n}" for n in range(10)]
        for name in names:
            assert ada.patch(path, json={"name": name}).is_success
        own.interrupt()
        assert own.processes_left() == {}  # make gives the prompt back when all has ended, and not before.
        assert "the emulator saves its state" in own.said

        own.make()
        assert ada.get(path).json()["name"] == names[-1]
        log = whole_log(ada, organization)
        assert [entry["data"]["name"] for entry in log[1:]] == names
        own.terminate()
        assert own.processes_left() == {}

        own.make("FRESH=1")
        assert ada.get("/organizations").json()["items"] == []
        assert ada.get(path).status_code == 404
        own.terminate()
        assert own.processes_left() == {}


def test_a_run_that_is_killed_leaves_nothing_behind(own: Stage) -> None:
    own.start()
    assert len(own.processes()) == 6
    own.kill()
    assert own.processes_left(seconds=30) == {}


def test_a_process_that_falls_ends_the_run_by_name(own: Stage) -> None:
    own.start()
    (pump,) = (
        process for process, command in own.processes().items() if "local.server.event_source_emulator" in command
    )
    os.kill(pump, signal.SIGKILL)
    assert own.ended() == 1
    assert "The pump ended by itself (exit code -9)" in own.said
    assert own.processes_left() == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("LOG_LEVEL", "loud"), ("DATA_KEY", "short"), ("WEBHOOK_ALLOW_PRIVATE", "perhaps")],
)
def test_a_wrong_setting_stops_it_by_name_before_anything_starts(setting: str, value: str, tmp_path: Path) -> None:
    command = [*MAKE, f"PORT={free_port()}"]
    told = environment(tmp_path, **{setting: value})
    said = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False, timeout=30)
    assert said.returncode != 0
    assert setting in said.stderr
    assert value not in said.stderr
    assert not list(tmp_path.rglob("*.log"))


def test_chalice_serves_it_on_its_own_when_an_emulator_is_up(stage: Stage, tmp_path: Path) -> None:
    copied((".chalice", "app.py", "chalicelib", "infrastructure", "local", "openapi.json"), tmp_path, "deploy*")
    alone = Stage(tmp_path / ".local")
    provision = [sys.executable, "-m", "local", "provision", "--endpoint", stage.endpoint]
    subprocess.run(provision, cwd=tmp_path, env=environment(alone.state), capture_output=True, check=True)

    # Without --no-autoreload a second process would serve, and every file that changes below would start it again.
    chalice = [str(Path(sys.executable).parent / "chalice"), "local", "--stage", "local", "--no-autoreload"]
    command, told = [*chalice, "--port", str(alone.port)], environment(alone.state)
    with (
        (tmp_path / "chalice.log").open("wb") as log,
        _running(command, tmp_path, told, log),
        Caller(alone, "ada") as ada,
    ):
        deadline = time.monotonic() + 30
        while not answers(alone.port, "/status"):
            assert time.monotonic() < deadline, (tmp_path / "chalice.log").read_text()
            time.sleep(0.05)
        organization = ada.makes_organization()
        assert ada.get("/organizations").json()["items"][0]["id"] == organization


@contextmanager
def _running(command: Sequence[str], folder: Path, told: Mapping[str, str], log: IO[bytes]) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=folder, env=told, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()
