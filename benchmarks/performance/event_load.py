"""Measure how many application events the running service writes for one organization: part of `make load`.

The whole service runs as with `make run`, in a temporary folder and without the limits of volume. A few writers send
batches as fast as they receive responses. Meanwhile the program samples how long the oldest pending entry has waited.

The program fails, and stores no results, unless every batch was accepted, each event has exactly one entry, the events
of a batch are in the log in the order of the request, and the whole log is valid. The results are written to
`benchmarks/results/event_load.json` and `docs/reference/performance.md`.
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from benchmarks.log_scale.results import describe_environment
from benchmarks.performance import document
from benchmarks.performance.event_load_section import render
from benchmarks.performance.load import Tenant, sample_pending_seconds
from tests.emulator.api_clients import ApiClient, sign_token
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import LogEntry, list_entries, wait_until_all_verified
from tests.harness.event_types import INVOICE_SCHEMA

BATCH: Final = 25
WRITER_COUNTS: Final = (1, 4)
NOTE: Final = "x" * 1300
"""With it, an entry has almost 2 KB."""


def main() -> None:
    """Measure, store the results and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.event_load", description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="how long each number of writers writes")
    seconds = parser.parse_args().seconds
    limits = {"EVENTS_PER_SECOND": "0", "EVENT_BYTES_PER_SECOND": "0"}
    with TemporaryDirectory() as folder:
        stage = LocalStage(Path(folder), environment_overrides={"LOG_LEVEL": "ERROR", **limits}).start()
        try:
            with ApiClient(stage, "ada") as ada:
                declare_type(stage, ada)
                results = measure(ada, seconds)
        finally:
            stage.terminate()
    document.save_results("event_load", results)
    print(render(results))


def declare_type(stage: LocalStage, client: ApiClient) -> None:
    """Declare the type of the events as an operator."""
    token = sign_token(stage, client.person, groups=["operators"])
    body = {
        "description": "An invoice was approved.",
        "sentence": "{actor} approved {target}.",
        "schema": INVOICE_SCHEMA,
    }
    response = client.put("/event-types/invoice.approved", json=body, headers={"Authorization": f"Bearer {token}"})
    response.raise_for_status()


def measure(client: ApiClient, seconds: int) -> dict[str, Any]:
    """Measure each number of writers, and check the log."""
    tenant = Tenant(client, client.create_organization(), "", [])
    numbers, rows, batches = count(1), list[dict[str, Any]](), list[list[str]]()
    for writers in WRITER_COUNTS:
        print(f"{writers} writers", flush=True)
        row, written = measure_run(tenant, writers, seconds, numbers)
        rows.append({"writers": writers, **row})
        batches += written
    check_log(tenant, batches)
    return {
        "of": describe_environment(),
        "seconds": seconds,
        "batch": BATCH,
        "events": BATCH * len(batches),
        "rows": rows,
    }


def measure_run(
    tenant: Tenant, writers: int, seconds: int, numbers: "count[int]"
) -> tuple[dict[str, Any], list[list[str]]]:
    """Return what some writers achieved, and the ids of the events of each batch."""
    done, ends_at = Event(), time.monotonic() + seconds
    with ThreadPoolExecutor(writers + 1) as threads:
        pending_seconds = threads.submit(sample_pending_seconds, tenant, done)
        try:
            runs = [threads.submit(write_batches, tenant, ends_at, numbers) for _ in range(writers)]
            written = [batch for run in runs for batch in run.result()]
            stopped_at = time.monotonic()
            wait_until_all_verified(tenant.owner, tenant.organization)
        finally:
            done.set()
    latencies = sorted(latency for latency, _ in written)
    row = {
        "aSecond": round(BATCH * len(written) / (seconds + max(0.0, stopped_at - ends_at)), 1),
        "p50": round(1000 * latencies[len(latencies) // 2]),
        "p99": round(1000 * latencies[len(latencies) * 99 // 100]),
        "ledger": {
            "max": round(max(pending_seconds.result()), 2),
            "behind": round(time.monotonic() - stopped_at, 2),
        },
    }
    return row, [ids for _, ids in written]


def write_batches(tenant: Tenant, ends_at: float, numbers: "count[int]") -> list[tuple[float, list[str]]]:
    """Write batches until a time. Return the latency of each, and the ids of its events."""
    written = list[tuple[float, list[str]]]()
    target = {"type": "invoice", "id": "INV-42", "name": "Invoice 42"}
    while time.monotonic() < ends_at:
        events = [
            {
                "type": "invoice.approved",
                "actor": {"type": "clerk", "id": "c-17"},
                "targets": [target],
                "data": {"amount": next(numbers), "note": NOTE},
            }
            for _ in range(BATCH)
        ]
        started_at = time.monotonic()
        response = tenant.owner.post(f"/organizations/{tenant.organization}/events/batch", json={"events": events})
        if not response.is_success:
            raise SystemExit(f"A batch was not accepted: {response.status_code} {response.text}")
        written.append((time.monotonic() - started_at, [item["id"] for item in response.json()["items"]]))
    return written


def check_log(tenant: Tenant, batches: Sequence[Sequence[str]]) -> None:
    """Exit unless each event has exactly one entry, and those of a batch follow one another in their order."""
    entries = list_entries(tenant.owner, tenant.organization, type="invoice.approved")
    if violations := find_batches_out_of_order(batches, entries):
        raise SystemExit(f"{len(violations)} batches are not in the log as they were written: {violations}")
    if len(entries) != BATCH * len(batches):
        raise SystemExit(f"{BATCH * len(batches)} events were written, and the log has {len(entries)}.")


def find_batches_out_of_order(batches: Sequence[Sequence[str]], entries: Sequence[LogEntry]) -> list[Sequence[str]]:
    """Return the batches whose events lack an entry, or are not in the log in their order."""
    sequences = {entry["id"]: entry["sequence"] or 0 for entry in entries}
    found = {tuple(ids): [sequences.get(each, 0) for each in ids] for ids in batches}
    return [ids for ids, places in found.items() if 0 in places or places != sorted(places)]


if __name__ == "__main__":
    main()
