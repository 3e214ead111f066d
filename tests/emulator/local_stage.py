"""Start, observe and stop the local stage (`make run`) as a developer does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from local.paths import ROOT
from local.server.run import free_port

READY_SECONDS: Final = 60
STOP_SECONDS: Final = 60
_POLL_SECONDS: Final = 0.02
_INHERITED_VARIABLES: Final = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")

# With the running interpreter, and without make's two prerequisites: tests never install anything.
_INTERPRETER: Final = f"BIN={Path(sys.executable).parent}"
_SKIPPED: Final = ("-o", ".venv/installed", "-o", ".venv-emulator/installed")
MAKE: Final = ("make", "--no-print-directory", *_SKIPPED, _INTERPRETER, "run")


def process_environment(state: Path, **more: str) -> dict[str, str]:
    """Return the environment of the stage's processes. It inherits only variables that no setting reads."""
    inherited = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    return {**inherited, "LOCAL_STATE": str(state), "PYTHONUNBUFFERED": "1", **more}


def run_local_command(state: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of the local stage, such as `seed`, in a process of its own."""
    command, environ = [sys.executable, "-m", "local", *arguments], process_environment(state)
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=240)


def list_processes(*texts: str) -> dict[int, str]:
    """Return the commands of the running processes whose environment contains all these texts, by process id."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended or belongs to another user.
            environ, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            if command and all(text.encode() in environ for text in texts):
                processes[int(folder.name)] = command.replace(b"\0", b" ").decode().strip()
    return processes


@dataclass
class LocalStage:
    """A local stage with its own port and state folder. `environment_overrides` adds environment variables."""

    state: Path
    port: int = field(default_factory=free_port)
    environment_overrides: Mapping[str, str] = field(default_factory=dict)
    ready_after_seconds: float = 0.0
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self) -> Mapping[str, str]:
        return {}

    @property
    def settings_file(self) -> Path:
        return self.state / str(self.port) / "settings.json"

    @property
    def emulator_url(self) -> str:
        return str(json.loads(self.settings_file.read_text())["aws_endpoint_url"])

    @property
    def output(self) -> str:
        return (self.state / f"{self.port}.out").read_text()

    def start_with_make(self, *words: str) -> "LocalStage":
        return self._start([*MAKE, f"PORT={self.port}", *words])

    def start(self, *words: str) -> "LocalStage":
        return self._start([sys.executable, "-m", "local", "run", f"--port={self.port}", *words])

    def _start(self, command: Sequence[str]) -> "LocalStage":
        started_at = time.monotonic()
        self.state.mkdir(parents=True, exist_ok=True)
        environ = process_environment(self.state, **self.environment_overrides)
        with (self.state / f"{self.port}.out").open("wb") as output:
            streams: Any = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, start_new_session=True, **streams)
        while "Atrium is ready" not in self.output:
            assert self._process.poll() is None, f"the stage exited with {self._process.returncode}:\n{self.output}"
            assert time.monotonic() - started_at < READY_SECONDS, f"the stage is not ready:\n{self.output}"
            time.sleep(_POLL_SECONDS)
        self.ready_after_seconds = time.monotonic() - started_at
        return self

    def interrupt(self) -> int:
        """Interrupt make and all its processes, as Ctrl-C does, and return the exit code."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGINT)
        return self.wait_for_exit()

    def terminate(self) -> int:
        """Send SIGTERM to the started process, as a supervisor does, and return the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self.wait_for_exit()

    def wait_for_exit(self) -> int:
        assert self._process is not None
        code = self._process.wait(STOP_SECONDS)
        self._process = None
        return code

    def list_processes(self) -> dict[int, str]:
        """Return the commands of the stage's running processes by process id."""
        return list_processes(str(self.state))

    def remaining_processes(self, seconds: float = 0) -> dict[int, str]:
        """Return the processes that are still running after a number of seconds at most."""
        deadline = time.monotonic() + seconds
        while (remaining := self.list_processes()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return remaining
