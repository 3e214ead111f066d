"""What each operation asks of AWS, beside 10 to 10,000 neighbours: `python -m benchmarks.performance.operations`.

Each operation's example is called on AWS in memory by who has just the right to it, in a world that is each time as it
was, by a process that has met its places. It ends by itself within three minutes. Figures go to
`benchmarks/results/operations.json`, and from there to `docs/reference/performance.md`.
"""

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import groupby
from typing import Any, Final

from benchmarks.costs.meter import metered, watch_too
from benchmarks.log_scale.results import circumstances
from benchmarks.performance import document
from benchmarks.performance.dataset import FEW, LOGS, among
from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.core import aws
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import add_neighbours, get_feature, call_operation
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import aws_calls, snapshots
from tests.harness.snapshots import Snapshot

SIZES: Final = (FEW, 1_000, 10_000)
MOST_ENTRIES: Final = 1_000
"""Longer logs are measured by `benchmarks/log_scale`."""

Figures = dict[str, Any]


def main() -> None:
    """Measure, keep the figures, and write the page."""
    with redirect_stdout(StringIO()), standalone_tenant() as world:  # What the service logs is not asked for.
        measured = dict(rows(world, SIZES))
    document.keep("operations", {"of": circumstances(), "operations": measured})


def rows(world: TenantFixture, sizes: Iterable[int]) -> Iterator[tuple[str, list[Figures]]]:
    """Yield each operation with its figures at these sizes. What is beside other features' examples stays the same."""
    world.workers.run_until_idle()
    aws.reset_clients()
    aws_calls.watch_clients()
    watch_too()
    alone = snapshots.take_snapshot()
    add_neighbours(world, FEW)
    few = snapshots.take_snapshot()
    for feature, grouped in groupby(sorted(operations(), key=get_feature), get_feature):
        print(feature, file=sys.stderr, flush=True)
        made = [*grouped]
        found: dict[str, list[Figures]] = {operation.id: [] for operation in made}
        for size in sizes:
            if feature in LOGS and size > MOST_ENTRIES:
                continue
            gc.unfreeze()
            many = among(few, alone, feature, world, size)
            gc.freeze()  # To look again and again through 10,000 records for what is garbage takes longest.
            for operation in made:
                found[operation.id].append(figures(operation, world, many))
        yield from found.items()


def figures(operation: Operation, world: TenantFixture, table: Snapshot) -> Figures:
    """Return what an operation asks for where the table is like this. Raises SystemExit if it does not succeed."""
    snapshots.restore_snapshot(table)
    world.warm_caches()
    with metered() as spent:
        answer = call_operation(operation, world)
    if answer.status != operation.success:
        raise SystemExit(f"{operation.id}: {answer.text}")
    return {
        "calls": len(answer.calls.call_list),
        "trips": _trips(answer.calls.call_list),
        "read": spent.read,
        "written": spent.written,
        "indexed": spent.indexed,
    }


def _trips(made: Iterable[aws_calls.Call]) -> int:
    """Return how often something was waited for: once for all that is asked side by side."""
    return sum(1 if parallel else len([*run]) for parallel, run in groupby(made, lambda call: call.is_concurrent))


if __name__ == "__main__":
    main()
