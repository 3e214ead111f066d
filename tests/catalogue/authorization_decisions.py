"""Observes what authorization decides, and loads and stores the recorded decisions.

`python -m tests.catalogue.authorization_decisions` records the decisions of the current code.
"""

import gzip
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core import threads
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.authorization_cases import PLACES, Callers, Place, callers_of, create_callers
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse

FILE: Final = Path(__file__).with_suffix(".json.gz")

Decisions = dict[str, dict[str, str]]
"""Decisions about the requests of one operation, by place and caller."""

_VARYING: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z?")
_REJECTIONS: Final = (401, 403, 404)


def observe(operation: Operation, place: Place, tenant: TenantFixture, callers: Callers) -> dict[str, str]:
    """Return the decisions about an operation's example in a place, by caller. AWS has the tenant and the callers."""
    before = snapshots.take_snapshot()
    example = place.change(tenant, operation, get_example(operation, tenant))
    place.prepare(tenant, operation)
    prepared = snapshots.take_snapshot()
    decisions = {}
    for name, caller in callers_of(operation, callers).items():
        snapshots.restore_snapshot(prepared)
        if place is PLACES["ancestors cached"]:
            tenant.warm_caches()
        decisions[name] = _describe(call_operation(operation, tenant, example, caller=caller))
    snapshots.restore_snapshot(before)
    return decisions


def _describe(answer: ApiResponse) -> str:
    """Return the status, the problem and the reads of a request: `404 not_found "…" BatchGetItem 4`."""
    problem = ""
    if answer.status >= 400:
        detail = _VARYING.sub("…", answer.json["detail"]) if answer.status in _REJECTIONS else ""
        problem = f" {answer.json['code']} {detail}"
    return f"{answer.status}{problem} | {_describe_reads(answer)}"


def _describe_reads(answer: ApiResponse) -> str:
    """Return the names of the reads of a request with the number of their keys, sorted."""
    reads = [call for call in answer.calls.call_list if call.name in answer.calls.read_names]
    sizes = [
        f"{call.name.partition(':')[2]} {sum(len(each['Keys']) for each in call.parameters['RequestItems'].values())}"
        if "RequestItems" in call.parameters
        else call.name.partition(":")[2]
        for call in reads
    ]
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in sorted(Counter(sizes).items()))


def decide(operation: Operation, tenant: TenantFixture, callers: Callers) -> Decisions:
    """Return the decisions about an operation in all places that it distinguishes."""
    places = {name: place for name, place in PLACES.items() if place.applies(operation)}
    return {name: observe(operation, place, tenant, callers) for name, place in places.items()}


def load() -> dict[str, Decisions]:
    """Return the recorded decisions by operation id."""
    recorded = json.loads(gzip.decompress(FILE.read_bytes()))
    return {
        operation_id: {
            place: {caller: recorded["decisions"][index] for caller, index in by_caller.items()}
            for place, by_caller in places.items()
        }
        for operation_id, places in recorded["operations"].items()
    }


def _save(operations: Mapping[str, Decisions]) -> int:
    indexes: dict[str, int] = {}
    encoded: Any = {
        operation_id: {
            place: {caller: indexes.setdefault(decision, len(indexes)) for caller, decision in by_caller.items()}
            for place, by_caller in places.items()
        }
        for operation_id, places in operations.items()
    }
    text = json.dumps({"decisions": [*indexes], "operations": encoded}, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    return sum(len(by_caller) for places in operations.values() for by_caller in places.values())


def main() -> None:
    logging.disable()
    with standalone_tenant() as tenant, pytest.MonkeyPatch.context() as patched:
        patched.setattr(threads, "start_in_background", lambda function, **_: function())
        callers = create_callers(tenant)
        with_callers = snapshots.take_snapshot()
        operations = {}
        for operation in all_operations():
            snapshots.restore_snapshot(with_callers)
            operations[operation.id] = decide(operation, tenant, callers)
    count = _save(operations)
    sys.stdout.write(f"{FILE.name}: {count} decisions, {FILE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
