"""Measure the throughput of the running service, and check that no change is lost: `make load`, within five minutes.

The whole service runs as with `make run`, in a temporary folder. autocannon, in a process of its own, sends requests as
fast as it receives responses, over an increasing number of connections: for a record, for a list, for a change of a
record, and for a mix of these. A webhook receives each change. Meanwhile the program samples twice a second how long
the oldest pending entry has waited to be appended to the log.

The program fails, and stores no results, unless every acknowledged change has exactly one entry and reached the
webhook, an external client verifies the log, and no error occurred other than conflicts of concurrent changes (409).
The results are written to `benchmarks/results/load.json` and `docs/reference/performance.md`.
"""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from benchmarks.deliveries.lag import Arrival, percentiles
from benchmarks.log_scale.results import describe_environment
from benchmarks.performance import document
from benchmarks.performance.load_section import render
from chalicelib.kernel.core.clock import timestamp_ms
from local.tools.node import find_node
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import LogEntry, list_entries, read_verified_log, wait_until_appended
from tests.harness.receiver import Receiver, Reply
from tests.harness.waiting import wait_until

CONNECTION_COUNTS: Final = (1, 10, 50)
RUN_SECONDS: Final = 5
LIST_LIMIT: Final = 25
SPACE_COUNT: Final = 50
REQUEST_MIX: Final = {"read": 6, "list": 3, "mutation": 1}
_POLL_INTERVAL_SECONDS: Final = 0.5
_DELIVERY_TIMEOUT_SECONDS: Final = 100
_MAX_RUN_SECONDS: Final = 90
_AUTOCANNON_PROGRAM: Final = Path(__file__).with_name("load.mjs")


@dataclass
class Tenant:
    """An organization with a platform whose spaces are read, listed and renamed."""

    owner: ApiClient
    organization: str
    platform: str
    spaces: Sequence[str]
    acknowledged_names: list[str] = field(default_factory=list)

    @classmethod
    def create(cls, owner: ApiClient, receiver: Receiver) -> "Tenant":
        """Create the organization, its spaces, and a webhook for their changes."""
        organization = owner.create_organization()
        platform = _create_record(owner, "/platforms", organizationId=organization, name="Engines")
        spaces = [
            _create_record(owner, "/spaces", platformId=platform, name=f"Looms {number}")
            for number in range(SPACE_COUNT)
        ]
        wait_until_appended(owner, organization)
        url = receiver.url_at("127.0.0.1")
        _create_record(owner, f"/organizations/{organization}/webhooks", url=url, events=["space.updated"])
        return cls(owner, organization, platform, spaces)

    def requests(self, kind: str) -> list[dict[str, Any]]:
        """Return the requests that a connection repeats."""
        of_kind: dict[str, dict[str, Any]] = {
            "read": {"method": "GET", "path": f"/spaces/{self.spaces[0]}"},
            "list": {"method": "GET", "path": f"/platforms/{self.platform}/spaces?limit={LIST_LIMIT}"},
            "mutation": {"method": "PATCH", "renames": [f"/spaces/{space}" for space in self.spaces]},
        }
        return [
            of_kind[each]
            for each, times in REQUEST_MIX.items()
            for _ in range(times if kind == "mix" else kind == each)
        ]

    def oldest_pending_seconds(self) -> float:
        """Return how long the oldest pending entry has waited to be appended to the log."""
        requested_at, pending, query = time.time(), [], {"limit": "100"}
        while True:
            response = self.owner.get(f"/organizations/{self.organization}/audit-log", params=query).raise_for_status()
            page = response.json()
            pending += [entry for entry in page["items"] if entry["sequence"] is None]
            if page["nextCursor"] is None or any(entry["sequence"] for entry in page["items"]):
                return max((requested_at - timestamp_ms(entry["occurredAt"]) / 1000 for entry in pending), default=0.0)
            query["cursor"] = page["nextCursor"]


def main() -> None:
    """Measure, store the results and print them."""
    with TemporaryDirectory() as folder, Receiver() as receiver:
        receiver.default_reply = Reply(status=204)
        stage = LocalStage(Path(folder), environment_overrides={"LOG_LEVEL": "ERROR"}).start()
        try:
            with ApiClient(stage, "ada") as ada:
                results = measure(Tenant.create(ada, receiver), receiver)
        finally:
            stage.terminate()
    document.save_results("load", results)
    print(render(results))


def measure(tenant: Tenant, receiver: Receiver) -> dict[str, Any]:
    """Measure all kinds of requests over all numbers of connections, and check the log and the deliveries."""
    rows = []
    run_autocannon(tenant, "read", CONNECTION_COUNTS[0], 1)  # The first responses take longer.
    for kind in (*REQUEST_MIX, "mix"):
        for connections in CONNECTION_COUNTS:
            print(f"{kind} over {connections}", flush=True)
            rows.append({"kind": kind, "connections": connections} | measure_run(tenant, receiver, kind, connections))
    check_log_and_deliveries(tenant, receiver)
    return {
        "of": describe_environment(),
        "seconds": RUN_SECONDS,
        "listed": LIST_LIMIT,
        "mix": REQUEST_MIX,
        "spaces": SPACE_COUNT,
        "changed": len(tenant.acknowledged_names),
        "rows": rows,
    }


def measure_run(tenant: Tenant, receiver: Receiver, kind: str, connections: int) -> dict[str, Any]:
    """Measure one kind of load and, for changes, the time until their entries are appended and delivered."""
    count_before, done = len(tenant.acknowledged_names), Event()
    if kind in ("read", "list"):
        return run_autocannon(tenant, kind, connections, RUN_SECONDS)
    with ThreadPoolExecutor(1) as threads:
        pending_seconds = threads.submit(sample_pending_seconds, tenant, done)
        try:
            row = run_autocannon(tenant, kind, connections, RUN_SECONDS)
            ended = time.monotonic()
            wait_until_appended(tenant.owner, tenant.organization)
        finally:
            done.set()
        row["ledger"] = {"max": round(max(pending_seconds.result()), 2), "behind": round(time.monotonic() - ended, 2)}
    names = set(tenant.acknowledged_names[count_before:])
    wait_until(
        lambda: names <= {_space_name(request.body) for request in list(receiver.requests)},
        _DELIVERY_TIMEOUT_SECONDS,
        interval_seconds=1,
    )
    lags = [
        Arrival.from_request(request).lag_seconds
        for request in list(receiver.requests)
        if _space_name(request.body) in names
    ]
    return row | {"changed": len(names), "delivery": percentiles(lags)}


def run_autocannon(tenant: Tenant, kind: str, connections: int, seconds: int) -> dict[str, Any]:
    """Run autocannon, and return the throughput and the latency. Exit if a request failed."""
    options = {
        "url": str(tenant.owner.base_url),
        "connections": connections,
        "seconds": seconds,
        "token": tenant.owner.token,
        "requests": tenant.requests(kind),
    }
    process = subprocess.run(  # noqa: S603 - a constant program
        [find_node().program, str(_AUTOCANNON_PROGRAM)],
        input=json.dumps(options),
        capture_output=True,
        text=True,
        check=False,
        timeout=_MAX_RUN_SECONDS,
    )
    if process.returncode:
        raise SystemExit(f"autocannon did not run; `make load` installs it:\n{process.stderr}")
    results = json.loads(process.stdout)
    if results["failed"] or not results["answered"]:
        raise SystemExit(f"{kind} over {connections}: {results['failed']} requests failed: {results['statuses']}.")
    tenant.acknowledged_names += results["names"]
    common = {name: results[name] for name in ("p50", "p99", "putOff")}
    return {"aSecond": round(results["answered"] / results["seconds"], 1), **common}


def sample_pending_seconds(tenant: Tenant, done: Event) -> list[float]:
    """Return samples of the oldest pending entry's waiting time, until `done` is set."""
    samples = [tenant.oldest_pending_seconds()]
    while not done.wait(_POLL_INTERVAL_SECONDS):
        samples.append(tenant.oldest_pending_seconds())
    return samples


def check_log_and_deliveries(tenant: Tenant, receiver: Receiver) -> None:
    """Exit unless the log is valid, has one entry for each acknowledged change, and was delivered in order."""
    read_verified_log(tenant.owner, tenant.organization)
    entries = list_entries(tenant.owner, tenant.organization, type="space.updated")
    if violations := find_names_without_one_entry(tenant.acknowledged_names, entries):
        raise SystemExit(f"{len(violations)} acknowledged changes do not have exactly one entry: {violations}")
    _check_order([Arrival.from_request(request).sequence for request in receiver.requests])


def find_names_without_one_entry(names: Sequence[str], entries: Sequence[LogEntry]) -> list[str]:
    """Return the names that do not have exactly one entry."""
    counts = Counter(entry["data"]["name"] for entry in entries)
    return [name for name in names if counts[name] != 1]


def _check_order(sequences: Sequence[int]) -> None:
    distinct = list(dict.fromkeys(sequences))
    if distinct != sorted(distinct):
        raise SystemExit(f"The webhook did not receive events in log order: {distinct}")


def _create_record(owner: ApiClient, path: str, **body: Any) -> str:
    record_id: str = owner.post(path, json=body).raise_for_status().json()["id"]
    return record_id


def _space_name(body: bytes) -> str:
    name: str = json.loads(body)["data"]["name"]
    return name


if __name__ == "__main__":
    main()
