"""Start and stop the processes of a run. No process outlives the run."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local.paths import ROOT

_SET_PARENT_DEATH_SIGNAL: Final = 1
_LOG_LINES_SHOWN: Final = 15


class ProcessEnded(Exception):
    """A process of the run ended unexpectedly."""


@dataclass(frozen=True)
class Child:
    """A process of the run and its log file. `restart` starts it again, and returns the new process."""

    name: str
    log: Path
    process: "subprocess.Popen[bytes]"
    restart: Callable[[], "Child"]

    def check_running(self) -> None:
        """Raise ProcessEnded, with the end of its log, if the process has ended."""
        code = self.process.poll()
        if code is not None:
            last_lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:]
            raise ProcessEnded(
                "\n  ".join(
                    [f"The {self.name} ended unexpectedly (exit code {code}). Last lines of {self.log}:", *last_lines]
                )
            )


def start_process(
    name: str, command: Sequence[str], log: Path, environment: Mapping[str, str], keep_open: Sequence[int] = ()
) -> Child:
    """Start a process that does not receive Ctrl-C, and that receives SIGTERM when this process ends."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    return _spawn(name, command, log, environment, keep_open)


def _spawn(
    name: str, command: Sequence[str], log: Path, environment: Mapping[str, str], keep_open: Sequence[int]
) -> Child:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=keep_open,
            preexec_fn=_die_with_parent(os.getpid()) if sys.platform == "linux" else None,  # noqa: PLW1509 - no thread runs here
        )
    return Child(name, log, process, lambda: _spawn(name, command, log, environment, keep_open))


def stop_processes(children: Sequence[Child], seconds: float) -> None:
    """Send SIGTERM to all processes, and kill those that do not end in time."""
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + seconds
    for child in children:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"The {child.name} did not stop within {seconds:.0f} s and is killed.", file=sys.stderr)
            child.process.kill()
            child.process.wait()


def _die_with_parent(parent: int) -> Callable[[], None]:
    """Return a function for the new process that requests SIGTERM when its parent dies (prctl(2))."""
    prctl = ctypes.CDLL(None).prctl

    def tie() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # The parent died before the request.
            os._exit(1)

    return tie
