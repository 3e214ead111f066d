"""Run a stack's function as Lambda does: `function.py MODULE ATTRIBUTE`, in the folder of its package.

It reads a plan as JSON: the events by name, the number of calls for each, and the name of the first. It prints the time
of the first response from the import on, the memory at that point, the processor time of each later call, and the last
response of each. Before the measurement it imports only modules that Lambda's own runtime has loaded.
"""

import gc
import json
import os
import sys
import time
from typing import Any


class Context:
    """Lambda's context of an invocation."""

    function_name, function_version, memory_limit_in_mb = "bench", "$LATEST", 1024
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:bench"
    aws_request_id = "8f5b3c1e-7f0e-4f9e-9c57-3f6f0a8e9b11"
    log_group_name, log_stream_name = "/aws/lambda/bench", "2026/11/22/[$LATEST]0"

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time."""
        return 29_000


def main() -> None:
    """Execute the plan."""
    plan = json.load(sys.stdin)
    output = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - pathlib is not loaded yet
    first = plan["calls"][plan["first"]]["event"]
    started_at, cpu_started_at = time.perf_counter(), time.process_time()
    handler = getattr(__import__(sys.argv[1], fromlist=["_"]), sys.argv[2])
    handler(first, Context())
    results: dict[str, Any] = {
        "coldMs": (time.perf_counter() - started_at) * 1000,
        "coldCpuMs": (time.process_time() - cpu_started_at) * 1000,
        "memoryMb": _resident_mb(),
    }
    responses = {
        name: _call_repeatedly(handler, call["event"], call["warmUp"])[1] for name, call in plan["calls"].items()
    }
    gc.collect()
    results["cpuMs"] = {
        name: _call_repeatedly(handler, call["event"], call["times"])[0] for name, call in plan["calls"].items()
    }
    json.dump({**results, "answers": responses}, output)


def _call_repeatedly(handler: Any, event: Any, times: int) -> tuple[float, Any]:
    """Return the processor time of one call, and the last response."""
    response, cpu_started_at = None, time.process_time()
    for _ in range(times):
        response = handler(event, Context())
    return (time.process_time() - cpu_started_at) * 1000 / max(times, 1), response


def _resident_mb() -> float:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - as above
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1_000_000


if __name__ == "__main__":
    main()
