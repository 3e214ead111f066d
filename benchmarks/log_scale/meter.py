"""Perform operations, and measure their AWS calls, read units, bytes, time and memory."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

from botocore.awsrequest import AWSResponse
from pydantic_core import from_json

from benchmarks.log_scale import disk_table
from benchmarks.log_scale.stage import prepare_process
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core import aws
from chalicelib.kernel.execution.pipeline import execute_or_raise_problem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import CLIENT_IP
from tests.harness.callers import Person

T = TypeVar("T")
_READ_CALLS: Final = ("GetItem", "BatchGetItem", "Query")


@dataclass
class Usage:
    """The measurements of a piece of work. `units` are read capacity units, `received` is bytes from DynamoDB."""

    calls: Counter[str] = field(default_factory=Counter)
    units: float = 0
    received: int = 0
    sent: int = 0
    seconds: float = 0

    @property
    def calls_text(self) -> str:
        """The calls as text: `1 BatchGetItem, 2 Query`."""
        return ", ".join(f"{number} {name}" for name, number in sorted(self.calls.items()))


@contextmanager
def measure_usage() -> Iterator[Usage]:
    """Measure the work of this process within the block."""
    usage, started_at = Usage(), time.perf_counter()
    _active_usages().append(usage)
    try:
        yield usage
    finally:
        usage.seconds = time.perf_counter() - started_at
        _active_usages().remove(usage)


@cache
def _active_usages() -> list[Usage]:
    usages: list[Usage] = []

    def request_consumed_capacity(params: dict[str, Any], **_: object) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}

    def count_call(model: Any, http_response: AWSResponse, parsed: Mapping[str, Any], **_: object) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        listed = consumed if isinstance(consumed, list) else [consumed]
        for usage in usages:
            usage.calls[model.name] += 1
            if model.service_model.service_name == "dynamodb":
                usage.units += sum(each["CapacityUnits"] for each in listed) if model.name in _READ_CALLS else 0
                usage.received += len(http_response.content)

    aws.reset_clients()  # Existing clients would not report their calls.

    def count_disk_table_call(name: str, units: float, returned: int) -> None:
        for usage in usages:
            usage.calls[name] += 1
            usage.units += units
            usage.received += returned

    disk_table.call_observers.append(count_disk_table_call)
    events = aws.session().events
    for name in _READ_CALLS:
        events.register(f"provide-client-params.dynamodb.{name}", request_consumed_capacity)
    events.register("after-call", count_call)
    return usages


@cache
def _operation(name: str) -> Operation:
    return next(operation for operation in all_operations() if operation.id == name)


def perform_operation(
    operation_id: str,
    organization_id: str,
    owner: Person,
    query: Mapping[str, str] | None = None,
    **path_parameters: str,
) -> tuple[Any, Usage]:
    """Perform an operation on an organization's log for its owner; return the response body and the usage.

    `path_parameters` are the path's parameters besides the organization.
    """
    operation, parameters = _operation(operation_id), {"organization_id": organization_id, **path_parameters}
    request = Request(
        method=operation.method,
        path=operation.path.format_map(parameters),
        parameters=parameters,
        query={name: [value] for name, value in (query or {}).items()},
        body=b"",
        id="benchmark",
        ip=CLIENT_IP,
        headers={"authorization": f"Bearer {owner.credential}"},
    )
    with measure_usage() as usage:
        response = execute_or_raise_problem(operation, request)
    usage.sent = len(response.body)
    return from_json(response.body), usage


@dataclass(frozen=True)
class Memory:
    """The memory of a process at the start of its work and at its peak, in MiB."""

    before: int
    most: int


def run_in_new_process(work: Callable[..., T], *arguments: object) -> tuple[T, Memory]:
    """Run a function in a new process; return its result and its memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=prepare_process) as process:
        return process.submit(_run_measuring_memory, work, *arguments).result()


def _run_measuring_memory(work: Callable[..., T], *arguments: object) -> tuple[T, Memory]:
    before = _memory_mib("VmRSS")
    result = work(*arguments)
    return result, Memory(before, _memory_mib("VmHWM"))


def _memory_mib(name: str) -> int:
    # `getrusage` would include the peak of the parent process.
    return int(re.findall(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) // 1024
