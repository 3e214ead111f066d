"""AWS calls and round trips of every operation, as a Markdown table: `python -m benchmarks.calls`.

Each operation's example is called on AWS in memory, once by a user and, where API keys are let in, by a key that the
process meets for the first time. Calls of a request wait for one another, so there are as many round trips: only those
of `list_system_audit_log`, a Query for each of its logs, are made side by side, and are one.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operation import Operation
from local.markdown import code, table
from tests.catalogue.alone import standing_alone
from tests.catalogue.examples.registry import perform
from tests.catalogue.world import World
from tests.harness import snapshots


def rows(world: World) -> Iterator[tuple[str, ...]]:
    """Yield a row for each operation, called in a world that is each time as it was."""
    key = world.key("admin")
    world.workers.settle()
    snapshot = snapshots.taken()
    for operation in operations():
        snapshots.put_back(snapshot)
        calls = _calls(operation, world)
        snapshots.put_back(snapshot)
        by_key = str(len(_calls(operation, world, as_=key))) if operation.scope else ""
        yield code(operation.id), *_counted(calls), str(len(calls)), by_key


def _calls(operation: Operation, world: World, **words: Any) -> list[str]:
    answer = perform(operation, world, **words)
    if answer.status != operation.success:
        raise SystemExit(f"{operation.id}: {answer.text}")
    return answer.calls.names


def _counted(calls: list[str]) -> tuple[str, str, str]:
    kinds = Counter(call.partition(":")[2] for call in calls)
    reads = ", ".join(f"{kinds[kind]} {kind}" for kind in ("GetItem", "BatchGetItem", "Query") if kinds[kind])
    sends = ", ".join(f"{kinds[kind]} {kind}" for kind in ("SendMessage", "GetQueueAttributes") if kinds[kind])
    return reads, str(kinds["TransactWriteItems"] or ""), sends


if __name__ == "__main__":
    heads = ("operation", "reads", "transactions", "SQS", "round trips", "by a new API key")
    with redirect_stdout(StringIO()), standing_alone() as standing:  # What the service logs is not asked for.
        counted = list(rows(standing))
    print(table(heads, counted))
