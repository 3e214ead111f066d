"""A process of the service that a test holds in its hand."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from local.paths import ROOT
from tests.emulator.stage import Stage, environment

KILLED: Final = -9

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, order=True)
class Death:
    """At which call of AWS a process dies, counted from 1: just before it, or just after it was answered."""

    call: int
    answered: bool


@dataclass(frozen=True)
class Done:
    """What the steps answered, and the calls of AWS that they made."""

    answers: list[Any]
    calls: list[str]

    @property
    def deaths(self) -> list[Death]:
        """Every death that a process can die that does the same."""
        return [Death(n, answered) for n in range(1, len(self.calls) + 1) for answered in (False, True)]


def step(kind: str, **words: Any) -> Step:
    """Return one thing to do: a kind that `mortal.py` knows, and its words."""
    return kind, words


class Processes:
    """Does each task in a process that begins with it, against the emulator of a stage and a table of its own."""

    def __init__(self, stage: Stage, prefix: str) -> None:
        self._log: Path = stage.state / f"{prefix}.log"
        told = environment(stage.state, SETTINGS_FILE=str(stage.settings_file), LOG_LEVEL="ERROR")
        with self._log.open("wb") as log:
            self._program = subprocess.Popen(
                [sys.executable, "-m", "tests.emulator.killable_process", prefix],
                cwd=ROOT,
                env=told,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.communicate()
        assert self._program.returncode == 0, self._said

    @property
    def _said(self) -> str:
        return self._log.read_text()[-4000:]

    def do(self, kind: str, *, ahead: float = 0, **words: Any) -> Any:
        """Do one thing and return its answer. `ahead`: seconds by which the process's clock is."""
        return self.run(step(kind, **words), ahead=ahead).answers[0]

    def warm(self, *steps: Step) -> list[Any]:
        """Do things in the process from which all later ones come."""
        answer = self._answer(steps, warming=True)
        assert "answers" in answer, self._said
        return Done(**answer).answers

    def run(self, *steps: Step, ahead: float = 0) -> Done:
        """Do things one after the other in one process."""
        answer = self._answer(steps, ahead)
        assert "answers" in answer, self._said
        return Done(**answer)

    def die(self, death: Death, *steps: Step, ahead: float = 0) -> None:
        """Do things until death."""
        answer = self._answer(steps, ahead, (death.call, "after" if death.answered else "before"))
        assert answer == {"ended": KILLED}, self._said

    def _answer(
        self, steps: tuple[Step, ...], ahead: float = 0, death: tuple[int, str] | None = None, *, warming: bool = False
    ) -> dict[str, Any]:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        task = {"steps": steps, "ahead": ahead, "death": death, "warming": warming}
        print(json.dumps(task), file=self._program.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._program.stdout.readline() or "{}")
        return answer
