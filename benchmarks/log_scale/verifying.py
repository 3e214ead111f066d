"""Verify a log, one window after the other."""

from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.log_scale.logs import Log
from benchmarks.log_scale.meter import Usage, perform_operation, run_in_new_process
from tests.harness.callers import Person


def verify(log: Log, owner: Person) -> dict[str, Any]:
    """Verify a whole log in a new process; return the measurements and the peak memory."""
    windows, memory = run_in_new_process(_verify_windows, log, owner)
    return {
        "entries": log.entries,
        "requests": len(windows),
        "mostCalls": max(windows, key=lambda usage: sum(usage.calls.values())).calls_text,
        "mostUnits": max(usage.units for usage in windows),
        "secondsFirst": round(windows[0].seconds, 2),
        "secondsMedian": round(median(usage.seconds for usage in windows), 2),
        "secondsMost": round(max(usage.seconds for usage in windows), 2),
        "seconds": round(sum(usage.seconds for usage in windows), 1),
        "memory": asdict(memory),
    }


def _verify_windows(log: Log, owner: Person) -> list[Usage]:
    cursor: dict[str, str] = {}
    windows: list[Usage] = []
    while True:
        report, usage = perform_operation("verify_audit_integrity", log.id, owner, cursor)
        windows.append(usage)
        if not report["valid"]:
            raise SystemExit(f"The log of {log.entries} entries is invalid: {report}")
        if not report["nextCursor"]:
            break
        cursor = {"cursor": report["nextCursor"]}
    if report["checkedEntries"] < log.entries:
        raise SystemExit(f"Of {log.entries} entries {report['checkedEntries']} were verified.")
    return windows
