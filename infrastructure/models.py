"""What the package tells botocore of AWS: its own models of services, cut down to the calls that the service makes.

Of DynamoDB and SQS botocore reads a megabyte of JSON at each start, and of all regions of all services another one. Of
that the service needs a twentieth: the rest takes 23 ms of processor time and 11 MB. What is not here botocore reads as
ever from its own folder, such as the models of S3, SES and KMS, which few functions need.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from botocore.loaders import Loader

CALLS: Final[Mapping[str, frozenset[str]]] = {
    "dynamodb": frozenset({"BatchGetItem", "GetItem", "Query", "TransactWriteItems", "UpdateItem"}),
    "sqs": frozenset({"GetQueueAttributes", "SendMessage", "SendMessageBatch"}),
}
"""The calls of a service that functions make."""
_REGIONS_OF: Final = ("dynamodb", "email", "kms", "s3", "sqs", "sts")
"""Services as the list of regions names them."""

Json = dict[str, Any]


def write(folder: Path) -> None:
    """Write the models into a folder that is laid out as botocore's own."""
    loader = Loader()
    _put(folder / "endpoints.json", _regions(loader.load_data("endpoints")))
    for service, calls in CALLS.items():
        version = loader.determine_latest_version(service, "service-2")
        _put(
            folder / service / version / "service-2.json", _cut(loader.load_service_model(service, "service-2"), calls)
        )


def _put(file: Path, model: Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(model, separators=(",", ":"), sort_keys=True))


def _regions(endpoints: Json) -> Json:
    partitions = [
        {**each, "services": {name: each["services"][name] for name in _REGIONS_OF if name in each["services"]}}
        for each in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _cut(model: Json, calls: Iterable[str]) -> Json:
    """Return a model of these calls only, and of what they send and answer; without documentation."""
    operations = {name: model["operations"][name] for name in calls}
    fields_used = [
        fields for each in operations.values() for fields in (each.get("input"), each.get("output")) if fields
    ]
    fields_used += [error for each in operations.values() for error in each.get("errors", [])]
    needed: dict[str, Json] = {}
    while fields_used:
        name = fields_used.pop()["shape"]
        if name not in needed:
            shape = needed[name] = model["shapes"][name]
            fields_used += [
                *shape.get("members", {}).values(),
                *(shape[k] for k in ("member", "key", "value") if k in shape),
            ]
    cut: Json = _undocumented({**model, "operations": operations, "shapes": needed})
    return cut


def _undocumented(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _undocumented(inner) for name, inner in value.items() if not _is_documentation(name, inner)}
    return [_undocumented(inner) for inner in value] if isinstance(value, list) else value


def _is_documentation(name: str, value: object) -> bool:
    return name == "documentation" and isinstance(value, str)
