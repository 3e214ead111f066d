"""Processes that are killed while a soak lasts, and what the living ones take of the machine."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from typing import Final

import httpx

from tests.emulator.local_stage import LocalStage

_MODULES: Final = {"service": "local.server.api", "workers": "local.server.event_source_emulator"}
_LOOK_SECONDS: Final = 0.02
_WATCH_SECONDS: Final = 5.0
_REVIVED_SECONDS: Final = 30.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MIB: Final = 1024 * 1024


@dataclass
class Mishaps:
    """Kills the service or its workers at random moments, as the seed has it."""

    stage: LocalStage
    chance: Random
    pauses: tuple[float, float]
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_MODULES, 0))
    revived_after: list[float] = field(default_factory=list)

    def happen(self, stopped: Event) -> None:
        """Kill one after the other, with such pauses, until told to stop."""
        while not stopped.wait(self.chance.uniform(*self.pauses)):
            name = self.chance.choice(list(_MODULES))
            for process in living(self.stage, name):
                with suppress(ProcessLookupError):  # It was about to end, killed before.
                    os.kill(process, signal.SIGKILL)
                    self.kills[name] += 1
            if name == "service":
                self.revived_after.append(self._revived(stopped))

    def _revived(self, stopped: Event) -> float:
        """Return the seconds until the service answers again."""
        began = time.monotonic()
        while time.monotonic() < began + _REVIVED_SECONDS:
            try:
                httpx.get(f"{self.stage.url}/status", trust_env=False, timeout=_REVIVED_SECONDS)
            except httpx.TransportError:
                if stopped.wait(_LOOK_SECONDS):
                    break
            else:
                break
        return round(time.monotonic() - began, 2)


@dataclass
class Watch:
    """What processes took at most: memory in MiB, and open files; by name."""

    stage: LocalStage
    memory: dict[str, float] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def keep_looking(self, stopped: Event) -> None:
        """Look every few seconds until told to stop."""
        while not stopped.wait(_WATCH_SECONDS):
            for name in _MODULES:
                for process in living(self.stage, name):
                    self._look(name, process)

    def _look(self, name: str, process: int) -> None:
        folder = Path("/proc") / str(process)
        try:
            memory = int((folder / "statm").read_text().split()[1]) * _PAGE / _MIB
            files = len(list((folder / "fd").iterdir()))
        except OSError:  # It was killed meanwhile.
            return
        self.memory[name] = round(max(memory, self.memory.get(name, 0)), 1)
        self.files[name] = max(files, self.files.get(name, 0))


def living(stage: LocalStage, name: str) -> list[int]:
    """Return the ids of the processes of that name."""
    return [process for process, command in stage.list_processes().items() if _MODULES[name] in command]
