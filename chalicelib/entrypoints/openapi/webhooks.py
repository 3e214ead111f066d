"""What webhooks are sent, one message for each event that an operation emits (Standard Webhooks)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from chalicelib.entrypoints.openapi import schemas
from chalicelib.entrypoints.openapi.examples import example_of
from chalicelib.kernel.models import Output
from chalicelib.kernel.operation import Operation

Schema = dict[str, Any]

_HEADERS: Final = {
    "webhook-id": "The event's id, the same on every try.",
    "webhook-timestamp": "When this try was made, in seconds since 1970.",
    "webhook-signature": "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, "
    "one for each live secret, separated by spaces.",
}
_RESPONSES: Final = {
    "2XX": {"description": "Taken; it is not sent again."},
    "410": {"description": "Never again: disables the webhook."},
    "default": {"description": "Sent again later, for some three days; `Retry-After` is honoured."},
}


def webhooks(operations: Iterable[Operation], components: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the webhook object of each event, by the event's name."""
    emitters: dict[str, list[Operation]] = {}
    for operation in operations:
        for event in operation.emits:
            emitters.setdefault(event, []).append(operation)
    return {event: {"post": _message(event, emitters[event], components)} for event in sorted(emitters)}


def record_of(emitters: Iterable[Operation]) -> list[str]:
    """Return the names of the public records that an event's data can be.

    What an operation answers says it best, then the record its path names, then the place it is done at.
    """
    ranked: dict[int, set[type[Output]]] = {}
    for operation in emitters:
        if operation.answer:
            ranked.setdefault(0, set()).add(operation.answer)
        elif public := schemas.public_models(operation):
            ranked.setdefault(1 if operation.records else 2, set()).add(public[0])
    return sorted(schemas.public_name(model.__name__) for model in ranked[min(ranked)]) if ranked else []


def _message(event: str, emitters: list[Operation], components: Mapping[str, Schema]) -> dict[str, Any]:
    schema = _body(event, record_of(emitters))
    return {
        "summary": "After " + " or ".join(operation.id for operation in emitters),
        "tags": ["events"],
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example_of(schema, components)}},
        },
        "responses": _RESPONSES,
    }


def _body(event: str, records: list[str]) -> Schema:
    references = [schemas.reference(name) for name in records]
    data = {"type": "object"} if not references else references[0] if len(references) == 1 else {"anyOf": references}
    return {
        "type": "object",
        "properties": {
            "type": {"const": event},
            "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
            "organizationId": {"type": "string", "format": "uuid", "description": "Whose log it is in."},
            "sequence": {"type": "integer", "minimum": 0, "description": "Its place in that log."},
            "data": data,
        },
        "required": ["type", "timestamp", "organizationId", "sequence", "data"],
    }
