"""Measure the AWS calls of a request or an invocation, with botocore's hooks, and the processor time of the service.

AWS is moto, in this process. Its own processor time, from sending a call to the response, is excluded.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock, current_thread, local
from typing import Any, Final

from benchmarks.costs import item_sizes
from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.table import PARALLEL_READ_THREAD_PREFIX
from tests.harness import memory_aws, snapshots

SUMMED_FIELDS: Final = ("read", "written", "indexed", "standard", "fifo", "puts", "gets", "keys", "mails")
"""The fields of `Usage` that are added up, except time."""

_CHUNK_BYTES: Final = 64 * 1024
_S3_READS: Final = ("GetObject", "HeadObject", "HeadBucket")


@dataclass
class Usage:
    """The AWS usage of a piece of work.

    `waits` lists each time that the work waited for AWS, in order. Concurrent calls count as one. The other fields are
    DynamoDB units, billed requests of SQS, S3 and KMS, emails, and seconds of processor time.
    """

    waits: list[str] = field(default_factory=list)
    read: float = 0
    written: float = 0
    indexed: float = 0
    standard: int = 0
    fifo: int = 0
    puts: int = 0
    gets: int = 0
    keys: int = 0
    mails: int = 0
    cpu: float = 0

    def add(self, other: "Usage") -> None:
        """Add the usage of another call."""
        for name in SUMMED_FIELDS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_active_usages: list[Usage] = []
_active_recordings: list[list["RecordedCall"]] = []
_thread_state = local()
_lock = Lock()
_excluded_seconds: list[float] = []


@contextmanager
def meter_usage() -> Iterator[Usage]:
    """Measure the work within the block."""
    usage = Usage()
    _active_usages.append(usage)
    _excluded_seconds.clear()
    started_at = time.process_time()
    try:
        yield usage
    finally:
        usage.cpu = max(0.0, time.process_time() - started_at - sum(_excluded_seconds))
        _active_usages.remove(usage)


@dataclass(frozen=True)
class RecordedCall:
    """A call of DynamoDB, with its calculated units of the table and of its indexes.

    For a transaction, `items` contains the state before and after of each item that it writes, and the units are those
    of separate plain writes.
    """

    name: str
    parameters: Mapping[str, Any]
    units: tuple[float, float]
    items: tuple[tuple[memory_aws.Item | None, memory_aws.Item | None], ...] = ()


@contextmanager
def record_calls() -> Iterator[list[RecordedCall]]:
    """Record the calls of DynamoDB within the block."""
    _active_recordings.append([])
    try:
        yield _active_recordings[-1]
    finally:
        _active_recordings.pop()


def watch_all_clients() -> None:
    """Observe the clients of this process from now on. Existing clients are discarded."""
    aws.reset_clients()
    watch_new_clients()


def watch_new_clients() -> None:
    """Observe the clients that this process creates from now on, in addition to other observers."""
    session = aws.session()
    session.events.register("before-call", _before_call)
    session.events.register_first("before-send", _before_send)
    session.events.register("before-parse", _before_parse)
    session.events.register("after-call", _after_call)


def _before_call(model: Any, params: Mapping[str, Any], **_: object) -> None:
    if not _active_usages:
        return
    started_at = time.thread_time()
    service, body = model.service_model.service_name, params["body"]
    _thread_state.call = f"{service}:{model.name}"
    _thread_state.parameters = json.loads(body) if service in ("dynamodb", "sqs") and body else {}
    _thread_state.is_parallel = current_thread().name.startswith(PARALLEL_READ_THREAD_PREFIX)
    _thread_state.items_before = [_current_item(action) for action in _thread_state.parameters.get("TransactItems", ())]
    _thread_state.sent_at = None
    _excluded_seconds.append(time.thread_time() - started_at)


def _before_send(**_: object) -> None:
    _thread_state.sent_at = time.thread_time()


def _before_parse(**_: object) -> None:
    if getattr(_thread_state, "sent_at", None) is not None:
        _excluded_seconds.append(time.thread_time() - _thread_state.sent_at)
        _thread_state.sent_at = None


def _after_call(parsed: Mapping[str, Any], **_: object) -> None:
    if not _active_usages:
        return
    started_at = time.thread_time()
    with _lock:
        usage, call = _active_usages[-1], _thread_state.call
        if not (_thread_state.is_parallel and usage.waits and usage.waits[-1] == f"{call} beside"):
            usage.waits.append(f"{call} beside" if _thread_state.is_parallel else call)
        call_usage = Usage()
        _add_call(call_usage, call, _thread_state.parameters, parsed)
        usage.add(call_usage)
        if _active_recordings and call.startswith("dynamodb:"):
            _active_recordings[-1].append(
                _create_recorded_call(call.partition(":")[2], _thread_state.parameters, call_usage)
            )
    _excluded_seconds.append(time.thread_time() - started_at)


def _create_recorded_call(name: str, parameters: Mapping[str, Any], usage: Usage) -> RecordedCall:
    actions = [
        (a, before) for a, before in zip(parameters.get("TransactItems", ()), _thread_state.items_before, strict=True)
    ]
    items = tuple((before, _current_item(action)) for action, before in actions if "ConditionCheck" not in action)
    write_units = sum(item_sizes.write_units(max(map(item_sizes.item_size, item))) for item in items)
    index_read_units = usage.read if "IndexName" in parameters else 0
    return RecordedCall(
        name, parameters, (usage.read - index_read_units + write_units, index_read_units + usage.indexed), items
    )


def _add_call(usage: Usage, call: str, parameters: Mapping[str, Any], response: Mapping[str, Any]) -> None:
    service, _, name = call.partition(":")
    match service, name:
        case "dynamodb", "TransactWriteItems":
            _add_transaction(usage, parameters["TransactItems"])
        case "dynamodb", _:
            usage.read += _read_units(name, parameters, response)
        case "sqs", _:
            chunks = max(1, ceil(len(json.dumps(parameters)) / _CHUNK_BYTES))
            if parameters.get("QueueUrl", "").endswith(".fifo"):
                usage.fifo += chunks
            else:
                usage.standard += chunks
        case "s3", _:
            usage.gets += name in _S3_READS
            usage.puts += name not in _S3_READS
        case "kms", _:
            usage.keys += 1
        case "sesv2", _:
            usage.mails += 1


def _read_units(name: str, parameters: Mapping[str, Any], response: Mapping[str, Any]) -> float:
    if name == "GetItem":
        return item_sizes.read_units(item_sizes.wire_item_size(response.get("Item", {})))
    if name == "BatchGetItem":
        ((table_name, items),) = response["Responses"].items() or (("", []),)
        keys = parameters["RequestItems"][table_name]["Keys"]
        return sum(item_sizes.read_units(item_sizes.wire_item_size(item)) for item in items) + len(keys) - len(items)
    if name != "Query":
        return 0  # Reads no item: the table's description.
    size = (
        sum(map(item_sizes.wire_item_size, response["Items"]))
        if "Items" in response
        else _count_query_bytes(parameters)
    )
    return item_sizes.read_units(size) * (1 if parameters.get("ConsistentRead") else 0.5)


def _count_query_bytes(parameters: Mapping[str, Any]) -> int:
    """Return the bytes that a counting Query reads."""
    names, values = parameters["ExpressionAttributeNames"], parameters["ExpressionAttributeValues"]
    partition = [i for i in snapshots.items_by_key().values() if i.get(names["#pk"]) == values[":pk"]["S"]]
    since, until = (values.get(f":{end}", {"S": default})["S"] for end, default in (("since", ""), ("until", "~")))
    return sum(item_sizes.item_size(i) for i in partition if "#sk" not in names or since <= i[names["#sk"]] <= until)


def _add_transaction(usage: Usage, actions: list[Mapping[str, Any]]) -> None:
    for action, before in zip(actions, _thread_state.items_before, strict=True):
        after = _current_item(action)
        usage.written += 2 * item_sizes.write_units(max(item_sizes.item_size(before), item_sizes.item_size(after)))
        if "ConditionCheck" not in action:
            usage.indexed += item_sizes.index_units(before, after)


def _current_item(action: Mapping[str, Any]) -> memory_aws.Item | None:
    """Return the current state of the item of a transaction's action."""
    (details,) = action.values()
    key = details.get("Key") or details["Item"]
    return memory_aws.get_item(key["pk"]["S"], key["sk"]["S"])
