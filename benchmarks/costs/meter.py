"""What a request or a turn of a worker asks of AWS, by hooks of botocore, and the processor time of the service itself.

AWS is moto, in this process: what it takes itself, from the moment a call is sent to its answer, is not counted.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock, current_thread, local
from typing import Any, Final

from benchmarks.costs import sizes
from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.table import MAX_PARALLEL_READS
from tests.harness import memory_aws, snapshots

COUNTED: Final = ("read", "written", "indexed", "standard", "fifo", "puts", "gets", "keys", "mails")
"""What of it is a number that adds up, but for time."""

_CHUNK_BYTES: Final = 64 * 1024
_S3_READS: Final = ("GetObject", "HeadObject", "HeadBucket")


@dataclass
class Spent:
    """What was asked of AWS.

    `waits` says for each time that something was waited for what that was, in order: calls that are made side by side
    are waited for once. Units of DynamoDB, billed requests of SQS, S3, KMS, mails, seconds of processor time.
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

    def add(self, other: "Spent") -> None:
        """Add what another call asked for."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_meter: list[Spent] = []
_remembered: list[list["Call"]] = []
_here = local()
_one_at_a_time = Lock()
_apart: list[float] = []


@contextmanager
def metered() -> Iterator[Spent]:
    """Meter what is done within the block."""
    spent = Spent()
    _meter.append(spent)
    _apart.clear()
    began = time.process_time()
    try:
        yield spent
    finally:
        spent.cpu = max(0.0, time.process_time() - began - sum(_apart))
        _meter.remove(spent)


@dataclass(frozen=True)
class Call:
    """A call of DynamoDB, and what it was reckoned to take: units of the table, and of its indexes.

    Of a transaction `items` has each item as it was before and as it was after, but those that it only checked; what
    it takes is reckoned as if they had been written one by one.
    """

    name: str
    asked: Mapping[str, Any]
    units: tuple[float, float]
    items: tuple[tuple[memory_aws.Item | None, memory_aws.Item | None], ...] = ()


@contextmanager
def remembered() -> Iterator[list[Call]]:
    """Remember the calls of DynamoDB within the block."""
    _remembered.append([])
    try:
        yield _remembered[-1]
    finally:
        _remembered.pop()


def watch() -> None:
    """Watch the clients of this process from now on, and those that it has already no longer."""
    aws.reset_clients()
    watch_too()


def watch_too() -> None:
    """Watch the clients that this process makes from now on, beside whoever watches them."""
    session = aws.session()
    session.events.register("before-call", _before)
    session.events.register_first("before-send", _sent)
    session.events.register("before-parse", _answered)
    session.events.register("after-call", _after)


def _before(model: Any, params: Mapping[str, Any], **_: object) -> None:
    if not _meter:
        return
    began = time.thread_time()
    service, body = model.service_model.service_name, params["body"]
    _here.call = f"{service}:{model.name}"
    _here.asked = json.loads(body) if service in ("dynamodb", "sqs") and body else {}
    _here.is_parallel = current_thread().name.startswith(MAX_PARALLEL_READS)
    _here.stored = [_standing(action) for action in _here.asked.get("TransactItems", ())]
    _here.sent = None
    _apart.append(time.thread_time() - began)


def _sent(**_: object) -> None:
    _here.sent = time.thread_time()


def _answered(**_: object) -> None:
    if getattr(_here, "sent", None) is not None:
        _apart.append(time.thread_time() - _here.sent)
        _here.sent = None


def _after(parsed: Mapping[str, Any], **_: object) -> None:
    if not _meter:
        return
    began = time.thread_time()
    with _one_at_a_time:
        spent, call = _meter[-1], _here.call
        if not (_here.is_parallel and spent.waits and spent.waits[-1] == f"{call} beside"):
            spent.waits.append(f"{call} beside" if _here.is_parallel else call)
        one = Spent()
        _count(one, call, _here.asked, parsed)
        spent.add(one)
        if _remembered and call.startswith("dynamodb:"):
            _remembered[-1].append(_call(call.partition(":")[2], _here.asked, one))
    _apart.append(time.thread_time() - began)


def _call(name: str, asked: Mapping[str, Any], spent: Spent) -> Call:
    written = [(a, before) for a, before in zip(asked.get("TransactItems", ()), _here.stored, strict=True)]
    items = tuple((before, _standing(action)) for action, before in written if "ConditionCheck" not in action)
    plain = sum(sizes.write_units(max(map(sizes.size, item))) for item in items)
    of_index = spent.read if "IndexName" in asked else 0
    return Call(name, asked, (spent.read - of_index + plain, of_index + spent.indexed), items)


def _count(spent: Spent, call: str, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    service, _, name = call.partition(":")
    match service, name:
        case "dynamodb", "TransactWriteItems":
            _count_writes(spent, asked["TransactItems"])
        case "dynamodb", _:
            spent.read += _read(name, asked, answer)
        case "sqs", _:
            chunks = max(1, ceil(len(json.dumps(asked)) / _CHUNK_BYTES))
            if asked.get("QueueUrl", "").endswith(".fifo"):
                spent.fifo += chunks
            else:
                spent.standard += chunks
        case "s3", _:
            spent.gets += name in _S3_READS
            spent.puts += name not in _S3_READS
        case "kms", _:
            spent.keys += 1
        case "sesv2", _:
            spent.mails += 1


def _read(name: str, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> float:
    if name == "GetItem":
        return sizes.read_units(sizes.wire_size(answer.get("Item", {})))
    if name == "BatchGetItem":
        ((of_table, found),) = answer["Responses"].items() or (("", []),)
        keys = asked["RequestItems"][of_table]["Keys"]
        return sum(sizes.read_units(sizes.wire_size(item)) for item in found) + len(keys) - len(found)
    if name != "Query":
        return 0  # Reads no item: the table's description.
    size = sum(map(sizes.wire_size, answer["Items"])) if "Items" in answer else _counted_bytes(asked)
    return sizes.read_units(size) * (1 if asked.get("ConsistentRead") else 0.5)


def _counted_bytes(asked: Mapping[str, Any]) -> int:
    """Return how much a Query reads that only counts."""
    names, values = asked["ExpressionAttributeNames"], asked["ExpressionAttributeValues"]
    partition = [i for i in snapshots.items_by_key().values() if i.get(names["#pk"]) == values[":pk"]["S"]]
    since, until = (values.get(f":{end}", {"S": default})["S"] for end, default in (("since", ""), ("until", "~")))
    return sum(sizes.size(i) for i in partition if "#sk" not in names or since <= i[names["#sk"]] <= until)


def _count_writes(spent: Spent, actions: list[Mapping[str, Any]]) -> None:
    for action, before in zip(actions, _here.stored, strict=True):
        after = _standing(action)
        spent.written += 2 * sizes.write_units(max(sizes.size(before), sizes.size(after)))
        if "ConditionCheck" not in action:
            spent.indexed += sizes.index_units(before, after)


def _standing(action: Mapping[str, Any]) -> memory_aws.Item | None:
    """Return the item that an action of a transaction is about, as it stands in the table now."""
    (details,) = action.values()
    key = details.get("Key") or details["Item"]
    return memory_aws.get_item(key["pk"]["S"], key["sk"]["S"])
