"""Run steps of the service in forked processes that a test can kill at any AWS call."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from local.paths import ROOT
from tests.emulator.local_stage import LocalStage, process_environment

KILLED_EXIT_CODE: Final = -9

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, order=True)
class KillPoint:
    """The AWS call, counted from 1, before or after whose response a process is killed."""

    call: int
    after_response: bool


@dataclass(frozen=True)
class StepResults:
    """The results of the steps, and the AWS calls that they made."""

    results: list[Any]
    calls: list[str]

    @property
    def kill_points(self) -> list[KillPoint]:
        """All points at which a process that runs the same steps can be killed."""
        return [KillPoint(n, after_response) for n in range(1, len(self.calls) + 1) for after_response in (False, True)]


def create_step(kind: str, **arguments: Any) -> Step:
    """Return a step: its kind, as in `killable_process.py`, and its arguments."""
    return kind, arguments


class KillableProcesses:
    """Runs each task in a new process, against the emulator of a stage and a table of its own."""

    def __init__(self, stage: LocalStage, prefix: str) -> None:
        self._log = stage.state / f"{prefix}.log"
        command = [sys.executable, "-m", "tests.emulator.killable_process", prefix]
        environ = process_environment(stage.state, SETTINGS_FILE=str(stage.settings_file), LOG_LEVEL="ERROR")
        pipe = subprocess.PIPE
        with self._log.open("wb") as log:
            self._parent = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, stderr=log, text=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()
        assert self._parent.returncode == 0, self._log_tail

    @property
    def _log_tail(self) -> str:
        return self._log.read_text()[-4000:]

    def run_step(self, kind: str, *, ahead: float = 0, **arguments: Any) -> Any:
        """Run one step in a new process and return its result. `ahead` is how many seconds its clock is ahead."""
        return self.run_steps(create_step(kind, **arguments), ahead=ahead).results[0]

    def run_steps(self, *steps: Step, ahead: float = 0, in_parent: bool = False) -> StepResults:
        reply = self._send_task(steps, ahead=ahead, in_parent=in_parent)
        assert "results" in reply, self._log_tail
        return StepResults(**reply)

    def run_in_parent(self, *steps: Step) -> list[Any]:
        """Run steps in the parent, so that the processes forked later have already run them."""
        return self.run_steps(*steps, in_parent=True).results

    def run_until_killed(self, kill_point: KillPoint, *steps: Step, ahead: float = 0) -> None:
        point = (kill_point.call, "after" if kill_point.after_response else "before")
        reply = self._send_task(steps, ahead=ahead, kill_point=point)
        assert reply == {"exit_code": KILLED_EXIT_CODE}, self._log_tail

    def _send_task(self, steps: tuple[Step, ...], **options: Any) -> dict[str, Any]:
        assert self._parent.stdin
        assert self._parent.stdout
        print(json.dumps({"steps": steps, **options}), file=self._parent.stdin, flush=True)
        reply: dict[str, Any] = json.loads(self._parent.stdout.readline() or "{}")
        return reply
