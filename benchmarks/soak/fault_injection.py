"""Kill processes during a soak, and measure the resources of the running ones."""

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
_POLL_INTERVAL_SECONDS: Final = 0.02
_SAMPLE_INTERVAL_SECONDS: Final = 5.0
_RECOVERY_TIMEOUT_SECONDS: Final = 30.0
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_MIB_BYTES: Final = 1024 * 1024


@dataclass
class ProcessKiller:
    """Kills the service or its workers at random times, which depend on the seed."""

    stage: LocalStage
    random: Random
    interval_seconds: tuple[float, float]
    kill_counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_MODULES, 0))
    recovery_seconds: list[float] = field(default_factory=list)

    def has_killed_each(self) -> bool:
        """Return whether the service and the workers were killed, each at least once."""
        return all(self.kill_counts.values())

    def kill_until_stopped(self, stop: Event) -> None:
        """Kill one process after the other, at random intervals, until `stop` is set."""
        while not stop.wait(self.random.uniform(*self.interval_seconds)):
            name = self.random.choice(list(_MODULES))
            for process_id in process_ids(self.stage, name):
                with suppress(ProcessLookupError):  # It was killed before and has ended.
                    os.kill(process_id, signal.SIGKILL)
                    self.kill_counts[name] += 1
            if name == "service":
                self.recovery_seconds.append(self._wait_until_responding(stop))

    def _wait_until_responding(self, stop: Event) -> float:
        """Return the seconds until the service responds again."""
        started_at = time.monotonic()
        while time.monotonic() < started_at + _RECOVERY_TIMEOUT_SECONDS:
            try:
                httpx.get(f"{self.stage.url}/status", trust_env=False, timeout=_RECOVERY_TIMEOUT_SECONDS)
            except httpx.TransportError:
                if stop.wait(_POLL_INTERVAL_SECONDS):
                    break
            else:
                break
        return round(time.monotonic() - started_at, 2)


@dataclass
class ResourceMonitor:
    """The peak memory and the peak number of open files of each kind of process."""

    stage: LocalStage
    peak_memory_mib: dict[str, float] = field(default_factory=dict)
    peak_open_files: dict[str, int] = field(default_factory=dict)

    def sample_until_stopped(self, stop: Event) -> None:
        """Sample every few seconds until `stop` is set."""
        while not stop.wait(_SAMPLE_INTERVAL_SECONDS):
            for name in _MODULES:
                for process_id in process_ids(self.stage, name):
                    self._sample(name, process_id)

    def _sample(self, name: str, process_id: int) -> None:
        folder = Path("/proc") / str(process_id)
        try:
            memory_mib = int((folder / "statm").read_text().split()[1]) * _PAGE_BYTES / _MIB_BYTES
            open_files = len(list((folder / "fd").iterdir()))
        except OSError:  # It has been killed.
            return
        self.peak_memory_mib[name] = round(max(memory_mib, self.peak_memory_mib.get(name, 0)), 1)
        self.peak_open_files[name] = max(open_files, self.peak_open_files.get(name, 0))


def process_ids(stage: LocalStage, name: str) -> list[int]:
    """Return the ids of the service's or the workers' processes."""
    return [process for process, command in stage.list_processes().items() if _MODULES[name] in command]
