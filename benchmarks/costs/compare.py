"""Compare the calculated units with those that DynamoDB Local reports for the same calls."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.costs import meter
from benchmarks.costs.bench import COMPARED_OPERATIONS, Bench
from benchmarks.costs.meter import RecordedCall
from infrastructure import resources
from tests.harness import memory_aws, snapshots
from tests.harness.memory_aws import PREFIX

_AUTHORIZATION: Final = "AWS4-HMAC-SHA256 Credential=local/20260101/us/dynamodb/aws4_request, SignedHeaders=, Signature"

Units = tuple[float, float]
"""Units of the table, and of its indexes."""


def compare_units(bench: Bench, url: str) -> list[tuple[str, str, Units, Units]]:
    """Return the operation, the call, the calculated units and the consumed units of each call of the sample.

    Each call is first made in memory, then sent to DynamoDB Local at `url`, on the same items. Reads are sent
    unchanged. Each item that a transaction writes is sent as a plain write, because the units that DynamoDB Local
    reports for transactions are wrong: four for one small item, and also four for two.
    """
    rows = []
    for operation in COMPARED_OPERATIONS:
        bench.reset()
        _send(url, "DeleteTable", {"TableName": PREFIX}, missing_is_fine=True)
        _send(url, "CreateTable", resources.table_definition(PREFIX))
        for item in snapshots.items_by_key().values():
            _send(url, "PutItem", {"TableName": PREFIX, "Item": memory_aws.to_wire_json(item)})
        with meter.record_calls() as calls:
            bench.perform(operation)
        rows += [(operation, call.name, call.units, _consumed_units(url, call)) for call in calls]
    return rows


def _consumed_units(url: str, call: RecordedCall) -> Units:
    request = {"TableName": PREFIX, "ReturnConsumedCapacity": "INDEXES"}
    if not call.items:
        return _parse_capacity(_send(url, call.name, {**call.parameters, "ReturnConsumedCapacity": "INDEXES"}))
    responses = []
    for before, after in call.items:
        if after:
            responses.append(_send(url, "PutItem", request | {"Item": memory_aws.to_wire_json(after)}))
        elif before:
            key = memory_aws.to_wire_json({name: before[name] for name in ("pk", "sk")})
            responses.append(_send(url, "DeleteItem", request | {"Key": key}))
    table_units, index_units = zip(*map(_parse_capacity, responses), strict=True)
    return sum(table_units), sum(index_units)


def _parse_capacity(response: Mapping[str, Any]) -> Units:
    capacity = response["ConsumedCapacity"]
    tables = capacity if isinstance(capacity, list) else [capacity]
    indexes = [index for table in tables for index in table.get("GlobalSecondaryIndexes", {}).values()]
    return sum(t.get("Table", {}).get("CapacityUnits", 0) for t in tables), sum(i["CapacityUnits"] for i in indexes)


def _send(url: str, call_name: str, body: Mapping[str, Any], *, missing_is_fine: bool = False) -> dict[str, Any]:
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{call_name}", "Authorization": _AUTHORIZATION}
    headers["Content-Type"] = "application/x-amz-json-1.0"
    # DynamoDB accepts empty strings; versions of DynamoDB Local before May 2020 do not.
    encoded_body = json.dumps(body).replace('{"S": ""}', '{"S": "-"}')
    request = urllib.request.Request(url, encoded_body.encode(), headers)  # noqa: S310 - a URL of this machine
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - as above  # nosec B310
            content: dict[str, Any] = json.loads(response.read())
    except urllib.error.HTTPError as error:
        if missing_is_fine:
            return {}
        raise SystemExit(f"{call_name}: {error.read().decode()}") from error
    return content
