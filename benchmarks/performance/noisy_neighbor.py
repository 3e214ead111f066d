"""Measure the effect of one tenant's flood on another tenant: `python -m benchmarks.performance.noisy_neighbor`.

The service runs with an emulator and a folder of its own, as four processes on one table. Two processes have a rate
limit, two do not. In turn, the baseline tenant is alone, with a noisy tenant without a rate limit, and with a noisy
tenant that has one. The baseline tenant's API keys send requests at a fixed rate. Latency is measured from the time at
which a request was due, so the full delay of a queued request counts. The noisy tenant's requests come from a separate
process: one key over many connections.

The program takes two minutes. The results are written to `benchmarks/results/noisy_neighbor.json` and
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

from benchmarks.log_scale.results import describe_environment
from benchmarks.performance import document
from benchmarks.performance.noisy_neighbor_section import render
from local.server.emulator import responds
from local.server.processes import Child, start_process, stop_processes
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage, process_environment
from tests.harness.waiting import wait_until

REQUESTS_PER_MINUTE: Final = 600
KEY_COUNT: Final = 10
BASELINE_INTERVAL_SECONDS: Final = 0.5
NOISY_CONNECTIONS: Final = 48
NOISY_INTERVAL_SECONDS: Final = 0.12
ROUNDS: Final = 2
RUN_SECONDS: Final = {"alone": 8, "off": 12, "on": 20}
_PROCESS_COUNT: Final = 2
_PAUSE_SECONDS: Final = 1
_OVERLAP_SECONDS: Final = 0.25
_START_TIMEOUT_SECONDS: Final = 30
_OK: Final = 200


@dataclass(frozen=True)
class TimedRequest:
    """A request: when it was due, when it was finished (Unix timestamps), and its status."""

    due_at: float
    finished_at: float
    status: int


@dataclass(frozen=True)
class PacedClient:
    """A client that reads an organization from one process of the service, again and again."""

    port: int
    path: str
    key: str

    def send_requests(self, interval_seconds: float, seconds: float) -> list[TimedRequest]:
        """Send requests over one connection, at an interval or as fast as responses arrive."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_START_TIMEOUT_SECONDS)
        started_at, requests = time.time(), []
        due_at = started_at
        while due_at < started_at + seconds:
            time.sleep(max(0.0, due_at - time.time()))
            connection.request("GET", self.path, headers={"Authorization": f"Bearer {self.key}"})
            response = connection.getresponse()
            response.read()
            requests.append(TimedRequest(due_at, time.time(), response.status))
            due_at += interval_seconds
        connection.close()
        return requests


@dataclass(frozen=True)
class Tenant:
    """An organization and its API keys."""

    path: str
    keys: Sequence[str]

    @classmethod
    def create(cls, owner: ApiClient, key_count: int) -> "Tenant":
        """Create an organization with API keys."""
        path = f"/organizations/{owner.create_organization()}"
        responses = [
            owner.post(f"{path}/api-keys", json={"name": "Flood", "scopes": ["read"]}) for _ in range(key_count)
        ]
        return cls(path, [response.json()["key"] for response in responses])

    def create_clients(self, ports: Sequence[int], count: int) -> list[PacedClient]:
        """Create clients that share the keys and the processes."""
        return [
            PacedClient(ports[number % len(ports)], self.path, self.keys[number % len(self.keys)])
            for number in range(count)
        ]


def send_all(clients: Sequence[PacedClient], interval_seconds: float, seconds: float) -> list[TimedRequest]:
    """Run all clients concurrently, and return their requests. Their start times are spread over the first interval."""

    def start_client(number: int) -> list[TimedRequest]:
        time.sleep(interval_seconds * number / len(clients))
        return clients[number].send_requests(interval_seconds, seconds)

    with ThreadPoolExecutor(len(clients)) as threads:
        return [request for each in threads.map(start_client, range(len(clients))) for request in each]


@dataclass(frozen=True)
class MeasuredRun:
    """The requests of one run of a scenario."""

    baseline_requests: list[TimedRequest]
    noisy_requests: list[TimedRequest]

    @property
    def baseline_requests_during_admission(self) -> list[TimedRequest]:
        """The baseline tenant's requests at the times at which requests of the noisy tenant were admitted."""
        admitted_at = [request.finished_at for request in self.noisy_requests if request.status == _OK]
        return [
            request
            for request in self.baseline_requests
            if any(
                request.due_at - _OVERLAP_SECONDS < time < request.finished_at + _OVERLAP_SECONDS
                for time in admitted_at
            )
        ]


def main() -> None:
    """Measure, store the results and print them."""
    with TemporaryDirectory() as folder, get_context("spawn").Pool(1) as pool:
        stage = LocalStage(Path(folder), environment_overrides={"LOG_LEVEL": "ERROR"}).start()
        try:
            with (
                run_services(stage, 0) as unlimited_ports,
                run_services(stage, REQUESTS_PER_MINUTE) as limited_ports,
                ApiClient(stage, "ada") as ada,
            ):
                baseline_tenant, noisy_tenant = Tenant.create(ada, KEY_COUNT), Tenant.create(ada, 1)
                results = measure(
                    pool,
                    baseline_tenant,
                    noisy_tenant,
                    {"alone": limited_ports, "off": unlimited_ports, "on": limited_ports},
                )
        finally:
            stage.terminate()
    document.save_results("noisy_neighbor", results)
    print(render(results))


@contextmanager
def run_services(stage: LocalStage, requests_per_minute: int) -> Iterator[Sequence[int]]:
    """Run processes of the service with a rate limit within the block, and yield their ports."""
    ports = [free_port() for _ in range(_PROCESS_COUNT)]
    variables = process_environment(
        stage.state,
        SETTINGS_FILE=str(stage.settings_file),
        REQUESTS_PER_MINUTE=str(requests_per_minute),
        LOG_LEVEL="ERROR",
    )
    children: list[Child] = []
    try:
        for port in ports:
            command = [sys.executable, "-m", "local.server.api", str(port)]
            children.append(start_process("service", command, stage.state / f"service-{port}.log", variables))
        wait_until(lambda: all(responds(port, "/status") for port in ports), _START_TIMEOUT_SECONDS)
        yield ports
    finally:
        stop_processes(children, _START_TIMEOUT_SECONDS)


def measure(
    pool: Pool, baseline_tenant: Tenant, noisy_tenant: Tenant, ports_by_scenario: dict[str, Sequence[int]]
) -> dict[str, Any]:
    """Run all rounds, and return the results."""
    for ports in ports_by_scenario.values():  # Warm up each process, because its first responses take longer.
        send_all(baseline_tenant.create_clients(ports, KEY_COUNT), BASELINE_INTERVAL_SECONDS, 1)
    runs: dict[str, list[MeasuredRun]] = {name: [] for name in ports_by_scenario}
    for number in range(ROUNDS):
        for name, ports in ports_by_scenario.items():
            print(f"round {number + 1} of {ROUNDS}: {name}", flush=True)
            runs[name].append(
                measure_run(pool, baseline_tenant, noisy_tenant if name != "alone" else None, ports, RUN_SECONDS[name])
            )
    during_admission = [request for run in runs["on"] for request in run.baseline_requests_during_admission]
    return {
        "of": describe_environment(),
        "setting": REQUESTS_PER_MINUTE,
        "processes": _PROCESS_COUNT,
        "keys": KEY_COUNT,
        "pace": BASELINE_INTERVAL_SECONDS,
        "connections": NOISY_CONNECTIONS,
        "floodPace": NOISY_INTERVAL_SECONDS,
        "rounds": ROUNDS,
        "seconds": RUN_SECONDS,
        "calm": {
            "alone": latency_percentiles([request for run in runs["alone"] for request in run.baseline_requests]),
            "off": latency_percentiles([request for run in runs["off"] for request in run.baseline_requests]),
            "passing": latency_percentiles(during_admission),
            "refused": latency_percentiles(
                [request for run in runs["on"] for request in run.baseline_requests if request not in during_admission]
            ),
        },
        "flood": {name: summarize_noisy_requests(runs[name], RUN_SECONDS[name]) for name in ("off", "on")},
    }


def measure_run(
    pool: Pool, baseline_tenant: Tenant, noisy_tenant: Tenant | None, ports: Sequence[int], seconds: int
) -> MeasuredRun:
    """Run the baseline tenant, together with the noisy tenant if there is one, and wait for all responses."""
    time.sleep(_PAUSE_SECONDS)
    noisy_arguments = (
        (noisy_tenant.create_clients(ports, NOISY_CONNECTIONS), NOISY_INTERVAL_SECONDS, seconds)
        if noisy_tenant
        else None
    )
    noisy_result = pool.apply_async(send_all, noisy_arguments) if noisy_arguments else None
    baseline_requests = send_all(baseline_tenant.create_clients(ports, KEY_COUNT), BASELINE_INTERVAL_SECONDS, seconds)
    return MeasuredRun(baseline_requests, noisy_result.get(2 * _START_TIMEOUT_SECONDS) if noisy_result else [])


def summarize_noisy_requests(runs: Sequence[MeasuredRun], seconds: int) -> dict[str, float]:
    """Return the noisy tenant's responses per second, its admitted requests, and their rate."""
    request_counts = [len(run.noisy_requests) for run in runs]
    admitted_counts = [sum(each.status == _OK for each in run.noisy_requests) for run in runs]
    admission_slots = {
        ceil(each.finished_at / _OVERLAP_SECONDS) for run in runs for each in run.noisy_requests if each.status == _OK
    }
    return {
        "aSecond": round(sum(request_counts) / (len(runs) * seconds)),
        "served": sum(admitted_counts),
        "servedASecond": round(sum(admitted_counts) / (len(admission_slots) * _OVERLAP_SECONDS)),
    }


def latency_percentiles(requests: Sequence[TimedRequest]) -> dict[str, float]:
    """Return the number of requests, and the 50th and 99th percentile of their latency in milliseconds."""
    error_statuses = {request.status for request in requests} - {_OK}
    if error_statuses or not requests:
        raise SystemExit(f"The baseline tenant received {error_statuses or 'no responses'}, so there is no result.")
    latencies = sorted((request.finished_at - request.due_at) * 1000 for request in requests)
    shares = {"p50": 0.5, "p99": 0.99}
    return {"requests": len(latencies)} | {
        n: round(latencies[ceil(share * len(latencies)) - 1], 1) for n, share in shares.items()
    }


if __name__ == "__main__":
    main()
