"""Reduced botocore service models for the package: only the API actions that the service calls.

botocore parses 1 MB of JSON for DynamoDB and SQS at each start, and 1 MB more for the regions of all services. The
service needs a twentieth of that; the rest takes 23 ms of CPU time and 11 MB of memory. botocore loads other models,
such as those of S3, SES and KMS, from its own folder.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from botocore.loaders import Loader

API_ACTIONS: Final[Mapping[str, frozenset[str]]] = {
    "dynamodb": frozenset({"BatchGetItem", "GetItem", "Query", "TransactWriteItems", "UpdateItem"}),
    "sqs": frozenset(
        {
            "ChangeMessageVisibility",
            "DeleteMessage",
            "GetQueueAttributes",
            "ReceiveMessage",
            "SendMessage",
            "SendMessageBatch",
        }
    ),
}
"""The API actions of each service that the functions call."""
_ENDPOINT_SERVICES: Final = ("dynamodb", "email", "kms", "s3", "sqs", "sts")
"""Services whose endpoints are kept, as endpoints.json names them."""

Json = dict[str, Any]


def write_models(folder: Path) -> None:
    """Write the models into a folder with the layout of botocore's own data folder."""
    loader = Loader()
    _write_json(folder / "endpoints.json", _reduce_endpoints(loader.load_data("endpoints")))
    for service, calls in API_ACTIONS.items():
        version = loader.determine_latest_version(service, "service-2")
        _write_json(
            folder / service / version / "service-2.json",
            _reduce_model(loader.load_service_model(service, "service-2"), calls),
        )


def _write_json(file: Path, model: Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(model, separators=(",", ":"), sort_keys=True))


def _reduce_endpoints(endpoints: Json) -> Json:
    partitions = [
        {**each, "services": {name: each["services"][name] for name in _ENDPOINT_SERVICES if name in each["services"]}}
        for each in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _reduce_model(model: Json, actions: Iterable[str]) -> Json:
    """Return a model with only these operations and the shapes that they use, without documentation."""
    operations = {name: model["operations"][name] for name in actions}
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
    cut: Json = _without_documentation({**model, "operations": operations, "shapes": needed})
    return cut


def _without_documentation(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_documentation(inner) for name, inner in value.items() if not _is_documentation(name, inner)
        }
    return [_without_documentation(inner) for inner in value] if isinstance(value, list) else value


def _is_documentation(name: str, value: object) -> bool:
    return name == "documentation" and isinstance(value, str)
