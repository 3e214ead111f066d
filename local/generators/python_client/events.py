"""What the template of the events shows: the messages to webhooks, by the record that they contain."""

from collections.abc import Mapping
from typing import Any

from local.generators.python_client.prose import describe
from local.generators.python_client.types import TypeWriter, iter_references


def describe_events(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the template."""
    writer = TypeWriter(document["components"]["schemas"])
    types_by_data: dict[str, list[str]] = {}
    for type_, message in document["webhooks"].items():
        schema = message["post"]["requestBody"]["content"]["application/json"]["schema"]
        types_by_data.setdefault(writer.write(schema["properties"]["data"]), []).append(type_)
    return {
        "types_by_data": types_by_data,
        "envelope": _envelope(document, writer),
        "model_names": sorted(set(iter_references(document["webhooks"]))),
    }


def _envelope(document: Mapping[str, Any], writer: TypeWriter) -> list[dict[str, str]]:
    """Return the fields that all messages have."""
    message = next(iter(document["webhooks"].values()))
    properties = message["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    return [
        {"name": name, "type": writer.write(schema), "description": describe(schema)}
        for name, schema in properties.items()
    ]
