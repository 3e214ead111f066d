"""What a tenant's flood does to another tenant's latency: `python -m benchmarks.performance.noisy_neighbor`.

The service runs with an emulator and a folder of its own, as four processes on one table: two count requests, two
don't. In turns a calm tenant is alone, beside a flood that nobody counts, and beside one that is counted. The calm
tenant's API keys ask at a fixed pace, whatever happens; latency is from when a request was due, so that one that had to
wait for another counts in full. The flood comes from a process of its own: a key that asks over many connections.

It ends by itself within two minutes. Figures go to `benchmarks/results/noisy_neighbor.json`, and from there to
`docs/reference/performance.md`.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from math import ceil
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.log_scale.results import circumstances
from benchmarks.performance import document
from benchmarks.performance.noisy_neighbor_section import written
from local.server.emulator import answers
from local.server.processes import Child, start, stop
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage, process_environment
from tests.harness.waiting import wait_until

SETTING: Final = 600
KEYS: Final = 10
PACE_SECONDS: Final = 0.5
CONNECTIONS: Final = 48
FLOOD_PACE_SECONDS: Final = 0.12
ROUNDS: Final = 2
SECONDS: Final = {"alone": 8, "off": 12, "on": 20}
_PROCESSES: Final = 2
_SETTLE_SECONDS: Final = 1
_NEAR_SECONDS: Final = 0.25
_START_SECONDS: Final = 30
_OK: Final = 200


@dataclass(frozen=True)
class Asked:
    """A request: when it was due and when it was answered, in seconds of the machine's clock, and with which status."""

    due: float
    done: float
    status: int


@dataclass(frozen=True)
class Asker:
    """A key that asks one of the service's processes for its organization, again and again."""

    port: int
    path: str
    key: str

    def ask(self, pace: float, seconds: float) -> list[Asked]:
        """Ask over one connection, at a pace or as fast as it is answered."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_START_SECONDS)
        began, asked = time.time(), []
        due = began
        while due < began + seconds:
            time.sleep(max(0.0, due - time.time()))
            connection.request("GET", self.path, headers={"Authorization": f"Bearer {self.key}"})
            answer = connection.getresponse()
            answer.read()
            asked.append(Asked(due, time.time(), answer.status))
            due += pace
        connection.close()
        return asked


@dataclass(frozen=True)
class Tenant:
    """An organization and its keys."""

    path: str
    keys: Sequence[str]

    @classmethod
    def found(cls, owner: ApiClient, keys: int) -> "Tenant":
        """Let somebody make an organization with so many keys."""
        path = f"/organizations/{owner.create_organization()}"
        made = [owner.post(f"{path}/api-keys", json={"name": "Flood", "scopes": ["read"]}) for _ in range(keys)]
        return cls(path, [answer.json()["key"] for answer in made])

    def askers(self, ports: Sequence[int], count: int) -> list[Asker]:
        """Return so many that share the keys and the processes."""
        return [
            Asker(ports[number % len(ports)], self.path, self.keys[number % len(self.keys)]) for number in range(count)
        ]


def ask_all(askers: Sequence[Asker], pace: float, seconds: float) -> list[Asked]:
    """Let all ask at once, and return what they were answered; their paces are spread over the first of it."""

    def begin(number: int) -> list[Asked]:
        time.sleep(pace * number / len(askers))
        return askers[number].ask(pace, seconds)

    with ThreadPoolExecutor(len(askers)) as threads:
        return [asked for each in threads.map(begin, range(len(askers))) for asked in each]


@dataclass(frozen=True)
class Turn:
    """What a turn was answered: the calm tenant, and the flood beside it."""

    calm: list[Asked]
    flood: list[Asked]

    @property
    def passing(self) -> list[Asked]:
        """The calm tenant's requests while requests of the flood were let through."""
        moments = [asked.done for asked in self.flood if asked.status == _OK]
        return [
            asked
            for asked in self.calm
            if any(asked.due - _NEAR_SECONDS < time < asked.done + _NEAR_SECONDS for time in moments)
        ]


def main() -> None:
    """Measure, keep the figures and print them."""
    with TemporaryDirectory() as folder, get_context("spawn").Pool(1) as pool:
        stage = LocalStage(Path(folder), environment_overrides={"LOG_LEVEL": "ERROR"}).start()
        try:
            with services(stage, 0) as off, services(stage, SETTING) as on, ApiClient(stage, "ada") as ada:
                calm, flooding = Tenant.found(ada, KEYS), Tenant.found(ada, 1)
                found = measured(pool, calm, flooding, {"alone": on, "off": off, "on": on})
        finally:
            stage.terminate()
    document.keep("noisy_neighbor", found)
    print(written(found))


@contextmanager
def services(stage: LocalStage, setting: int) -> Iterator[Sequence[int]]:
    """Let processes of the service run within the block that let so many requests through, and give their ports."""
    ports = [free_port() for _ in range(_PROCESSES)]
    variables = process_environment(
        stage.state, SETTINGS_FILE=str(stage.settings_file), REQUESTS_PER_MINUTE=str(setting), LOG_LEVEL="ERROR"
    )
    children: list[Child] = []
    try:
        for port in ports:
            command = [sys.executable, "-m", "local.server.api", str(port)]
            children.append(start("service", command, stage.state / f"service-{port}.log", variables))
        wait_until(lambda: all(answers(port, "/status") for port in ports), _START_SECONDS)
        yield ports
    finally:
        stop(children, _START_SECONDS)


def measured(pool: Pool, calm: Tenant, flooding: Tenant, ports: dict[str, Sequence[int]]) -> dict[str, Any]:
    """Return the figures of all rounds."""
    for where in ports.values():  # Each process is asked once before: its first answers take longer.
        ask_all(calm.askers(where, KEYS), PACE_SECONDS, 1)
    turns: dict[str, list[Turn]] = {name: [] for name in ports}
    for number in range(ROUNDS):
        for name, where in ports.items():
            print(f"round {number + 1} of {ROUNDS}: {name}", flush=True)
            turns[name].append(turn(pool, calm, flooding if name != "alone" else None, where, SECONDS[name]))
    passing = [asked for turn in turns["on"] for asked in turn.passing]
    return {
        "of": circumstances(),
        "setting": SETTING,
        "processes": _PROCESSES,
        "keys": KEYS,
        "pace": PACE_SECONDS,
        "connections": CONNECTIONS,
        "floodPace": FLOOD_PACE_SECONDS,
        "rounds": ROUNDS,
        "seconds": SECONDS,
        "calm": {
            "alone": spread([asked for turn in turns["alone"] for asked in turn.calm]),
            "off": spread([asked for turn in turns["off"] for asked in turn.calm]),
            "passing": spread(passing),
            "refused": spread([asked for turn in turns["on"] for asked in turn.calm if asked not in passing]),
        },
        "flood": {name: flood_of(turns[name], SECONDS[name]) for name in ("off", "on")},
    }


def turn(pool: Pool, calm: Tenant, flooding: Tenant | None, ports: Sequence[int], seconds: int) -> Turn:
    """Let the calm tenant ask, beside the flood if there is one, and wait until all have their answers."""
    time.sleep(_SETTLE_SECONDS)
    words = (flooding.askers(ports, CONNECTIONS), FLOOD_PACE_SECONDS, seconds) if flooding else None
    flood = pool.apply_async(ask_all, words) if words else None
    asked = ask_all(calm.askers(ports, KEYS), PACE_SECONDS, seconds)
    return Turn(asked, flood.get(2 * _START_SECONDS) if flood else [])


def flood_of(turns: Sequence[Turn], seconds: int) -> dict[str, float]:
    """Return how many requests of the flood were answered a second, how many were served, and how fast these were."""
    asked = [len(turn.flood) for turn in turns]
    served = [sum(each.status == _OK for each in turn.flood) for turn in turns]
    slots = {ceil(each.done / _NEAR_SECONDS) for turn in turns for each in turn.flood if each.status == _OK}
    return {
        "aSecond": round(sum(asked) / (len(turns) * seconds)),
        "served": sum(served),
        "servedASecond": round(sum(served) / (len(slots) * _NEAR_SECONDS)),
    }


def spread(requests: Sequence[Asked]) -> dict[str, float]:
    """Return how many there were, and the latency of the middle one and of the slowest in a hundred, in ms."""
    wrong = {asked.status for asked in requests} - {_OK}
    if wrong or not requests:
        raise SystemExit(f"The calm tenant was answered {wrong or 'nothing'}: that is no measure.")
    ordered = sorted((asked.done - asked.due) * 1000 for asked in requests)
    at = {"p50": 0.5, "p99": 0.99}
    return {"requests": len(ordered)} | {
        n: round(ordered[ceil(share * len(ordered)) - 1], 1) for n, share in at.items()
    }


if __name__ == "__main__":
    main()
