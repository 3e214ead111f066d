"""A run of the local stage, started, watched and ended as a person at a desk would."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local.paths import ROOT
from local.server.run import free_port

READY_SECONDS: Final = 60
STOP_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.02
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")

# Without make's two prerequisites: tests never install anything.
MAKE: Final = (
    "make",
    "--no-print-directory",
    "--old-file=.venv/installed",
    "--old-file=.venv-emulator/installed",
    "run",
)


def environment(state: Path, **more: str) -> dict[str, str]:
    """Return what a process of the stage is told: of this process's environment only what no setting reads."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "LOCAL_STATE": str(state), "PYTHONUNBUFFERED": "1", **more}


@dataclass
class Stage:
    """`make run` on a port of its own, with its state in a folder of its own."""

    state: Path
    port: int = field(default_factory=free_port)
    told: Mapping[str, str] = field(default_factory=dict)
    ready_after: float = 0.0
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Where the service answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self) -> Mapping[str, str]:
        """What a request needs to get there: nothing."""
        return {}

    @property
    def settings_file(self) -> Path:
        """What the service was told by the run."""
        return self.state / str(self.port) / "settings.json"

    @property
    def endpoint(self) -> str:
        """Where the emulator answers."""
        return str(json.loads(self.settings_file.read_text())["aws_endpoint_url"])

    @property
    def said(self) -> str:
        """What the last run has printed."""
        return self._output.read_text()

    @property
    def _output(self) -> Path:
        return self.state / f"{self.port}.out"

    def make(self, *words: str) -> "Stage":
        """Start it by `make run` and wait until it says that it is ready."""
        return self._start([*MAKE, f"PORT={self.port}", *words])

    def start(self, *words: str) -> "Stage":
        """Start it without make."""
        return self._start([sys.executable, "-m", "local", "run", f"--port={self.port}", *words])

    def _start(self, command: Sequence[str]) -> "Stage":
        began = time.monotonic()
        self.state.mkdir(parents=True, exist_ok=True)
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(self.state, **self.told),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while "Atrium is ready" not in self.said:
            assert self._process.poll() is None, f"it ended with {self._process.returncode}:\n{self.said}"
            assert time.monotonic() - began < READY_SECONDS, f"it isn't ready:\n{self.said}"
            time.sleep(_LOOK_SECONDS)
        self.ready_after = time.monotonic() - began
        return self

    def interrupt(self) -> int:
        """End it as Ctrl-C does, which reaches make and all that it runs; return the exit code."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGINT)
        return self.ended()

    def terminate(self) -> int:
        """End it as a supervisor does, by SIGTERM to what was started; return the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self.ended()

    def kill(self) -> None:
        """End what was started so that it can do nothing about the rest."""
        assert self._process is not None
        self._process.kill()
        self.ended()

    def ended(self) -> int:
        """Wait for its end, whatever brings it about, and return the exit code."""
        assert self._process is not None
        code = self._process.wait(STOP_SECONDS)
        self._process = None
        return code

    def processes(self) -> dict[int, str]:
        """Return the living processes that were started for this folder: id and command."""
        living = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                told, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            except OSError:  # It ended meanwhile, or belongs to somebody else.
                continue
            if str(self.state).encode() in told and command:
                living[int(folder.name)] = command.replace(b"\0", b" ").decode().strip()
        return living

    def processes_left(self, seconds: float = 0) -> dict[int, str]:
        """Return the processes that still live after so many seconds at most."""
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        return left
