"""Measure each operation's AWS calls with 10 to 10,000 neighbors: `python -m benchmarks.performance.operations`.

Each operation's example runs on an in-memory AWS in the same initial state. The caller has exactly the required rights,
and the process has cached the containers in the path. The program takes three minutes. The results are written to
`benchmarks/results/operations.json` and `docs/reference/performance.md`.
"""

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import groupby
from typing import Any, Final

from benchmarks.costs.meter import meter_usage, watch_new_clients
from benchmarks.log_scale.results import describe_environment
from benchmarks.performance import document
from benchmarks.performance.dataset import DEFAULT_SIZE, LOG_FEATURES, add_neighbors
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core import aws
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import add_neighbours, call_operation, get_feature
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import aws_calls, snapshots
from tests.harness.snapshots import Snapshot

SIZES: Final = (DEFAULT_SIZE, 1_000, 10_000)
MAX_LOG_ENTRIES: Final = 1_000
"""`benchmarks/log_scale` measures longer logs."""

Measurement = dict[str, Any]


def main() -> None:
    """Measure, store the results, and write the page."""
    with redirect_stdout(StringIO()), standalone_tenant() as tenant:  # Discard the service's log output.
        measured = dict(measure_operations(tenant, SIZES))
    document.save_results("operations", {"of": describe_environment(), "operations": measured})


def measure_operations(tenant: TenantFixture, sizes: Iterable[int]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield the measurements of each operation at these sizes. Other features keep 10 neighbors."""
    tenant.workers.run_until_idle()
    aws.reset_clients()
    aws_calls.watch_clients()
    watch_new_clients()
    empty = snapshots.take_snapshot()
    add_neighbours(tenant, DEFAULT_SIZE)
    default = snapshots.take_snapshot()
    for feature, grouped in groupby(sorted(all_operations(), key=get_feature), get_feature):
        print(feature, file=sys.stderr, flush=True)
        feature_operations = [*grouped]
        measurements: dict[str, list[Measurement]] = {operation.id: [] for operation in feature_operations}
        for size in sizes:
            if feature in LOG_FEATURES and size > MAX_LOG_ENTRIES:
                continue
            gc.unfreeze()
            table = add_neighbors(default, empty, feature, tenant, size)
            gc.freeze()  # Garbage collection of 10,000 records would take most of the time.
            for operation in feature_operations:
                measurements[operation.id].append(measure_operation(operation, tenant, table))
        yield from measurements.items()


def measure_operation(operation: Operation, tenant: TenantFixture, table: Snapshot) -> Measurement:
    """Measure an operation's AWS calls on a table. Raises SystemExit if it fails."""
    snapshots.restore_snapshot(table)
    tenant.warm_caches()
    with aws_calls.call_with_http_requests(), meter_usage() as usage:
        response = call_operation(operation, tenant)
    if response.status != operation.success:
        raise SystemExit(f"{operation.id}: {response.text}")
    return {
        "calls": len(response.calls.call_list),
        "trips": _count_round_trips(response.calls.call_list),
        "read": usage.read,
        "written": usage.written,
        "indexed": usage.indexed,
    }


def _count_round_trips(recorded_calls: Iterable[aws_calls.Call]) -> int:
    """Count how often the operation waited for AWS: once for concurrent calls."""
    return sum(
        1 if parallel else len([*run]) for parallel, run in groupby(recorded_calls, lambda call: call.is_concurrent)
    )


if __name__ == "__main__":
    main()
