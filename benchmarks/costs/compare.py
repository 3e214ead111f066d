"""Whether units are reckoned as Amazon does it: the same calls in DynamoDB Local, which says what each consumed."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.costs import meter
from benchmarks.costs.measuring import SAMPLE, Bench
from benchmarks.costs.meter import Call
from infrastructure import resources
from tests.harness import memory_aws, snapshots
from tests.harness.memory_aws import PREFIX

_SIGNED: Final = "AWS4-HMAC-SHA256 Credential=local/20260101/us/dynamodb/aws4_request, SignedHeaders=, Signature"

Units = tuple[float, float]
"""Of the table itself, and of its indexes."""


def compared(bench: Bench, url: str) -> list[tuple[str, str, Units, Units]]:
    """Return for each call of the sample the operation, its name, the units reckoned and those that were consumed.

    The calls are first made in memory, then sent to DynamoDB Local at `url`, onto the same items: reads as they were,
    what a transaction wrote as one plain write an item. What it tells of transactions is of no use: one that
    puts one small item consumes four units there, and one that puts two of them four as well.
    """
    rows = []
    for operation in SAMPLE:
        bench.begin()
        _ask(url, "DeleteTable", {"TableName": PREFIX}, missing_is_fine=True)
        _ask(url, "CreateTable", resources.table(PREFIX))
        for item in snapshots.items_by_key().values():
            _ask(url, "PutItem", {"TableName": PREFIX, "Item": memory_aws.to_wire_json(item)})
        with meter.remembered() as calls:
            bench.perform(operation)
        rows += [(operation, call.name, call.units, _consumed(url, call)) for call in calls]
    return rows


def _consumed(url: str, call: Call) -> Units:
    request = {"TableName": PREFIX, "ReturnConsumedCapacity": "INDEXES"}
    if not call.items:
        return _units(_ask(url, call.name, {**call.asked, "ReturnConsumedCapacity": "INDEXES"}))
    answers = []
    for before, after in call.items:
        if after:
            answers.append(_ask(url, "PutItem", request | {"Item": memory_aws.to_wire_json(after)}))
        elif before:
            key = memory_aws.to_wire_json({name: before[name] for name in ("pk", "sk")})
            answers.append(_ask(url, "DeleteItem", request | {"Key": key}))
    of_table, of_indexes = zip(*map(_units, answers), strict=True)
    return sum(of_table), sum(of_indexes)


def _units(answer: Mapping[str, Any]) -> Units:
    capacity = answer["ConsumedCapacity"]
    tables = capacity if isinstance(capacity, list) else [capacity]
    indexes = [index for table in tables for index in table.get("GlobalSecondaryIndexes", {}).values()]
    return sum(t.get("Table", {}).get("CapacityUnits", 0) for t in tables), sum(i["CapacityUnits"] for i in indexes)


def _ask(url: str, name: str, body: Mapping[str, Any], *, missing_is_fine: bool = False) -> dict[str, Any]:
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{name}", "Authorization": _SIGNED}
    headers["Content-Type"] = "application/x-amz-json-1.0"
    # DynamoDB takes empty text; DynamoDB Local of before May 2020 doesn't.
    sent = json.dumps(body).replace('{"S": ""}', '{"S": "-"}')
    request = urllib.request.Request(url, sent.encode(), headers)  # noqa: S310 - an address of this machine
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above  # nosec B310
            found: dict[str, Any] = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if missing_is_fine:
            return {}
        raise SystemExit(f"{name}: {error.read().decode()}") from error
    return found
