"""What webhooks are sent, one message for each event that an operation or a task emits (Standard Webhooks)."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from chalicelib.entrypoints.openapi import schemas
from chalicelib.entrypoints.openapi.examples import example_of
from chalicelib.entrypoints.openapi.records import example_event, example_record_fields
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type
from chalicelib.kernel.work.tasks import Task

Schema = dict[str, Any]
Emitter = Operation | Task

_HEADERS: Final = {
    "webhook-id": "The event's id, the same on every try.",
    "webhook-timestamp": "When this try was made, in seconds since 1970.",
    "webhook-signature": "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, "
    "one for each live secret, separated by spaces.",
}
_SOMETIMES: Final = {
    "x-request-id": "The id of the request that led to it, to be quoted in questions; it is not signed."
}
_RESPONSES: Final = {
    "2XX": {"description": "Taken; it is not sent again."},
    "410": {"description": "Never again: disables the webhook."},
    "default": {"description": "Sent again later, for some three days; `Retry-After` is honoured."},
}


def webhooks(emitting: Iterable[Emitter], components: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the webhook object of each event, by the event's name."""
    return {event: {"post": _message(event, by, components)} for event, by in sorted(_emitters(emitting).items())}


def public_models(emitting: Iterable[Emitter]) -> set[type[Output]]:
    """Return the public models of all records that events are about."""
    return {model for event, by in _emitters(emitting).items() for model in _models(event, by)}


def _emitters(emitting: Iterable[Emitter]) -> dict[str, list[Emitter]]:
    emitters: dict[str, list[Emitter]] = {}
    for emitter in emitting:
        for event in emitter.emits:
            emitters.setdefault(event, []).append(emitter)
    return emitters


def _models(event: str, emitters: Iterable[Emitter]) -> set[type[Output]]:
    """Return the public models of the records that an event's data can be.

    A task declares it. Of an operation the whole that it changes says it best, then the record that it answers, if it
    is its usual event, then the event's own name, then the record its path names, then the place it is done at. What
    one operation answers that is of the event's own name, another may answer as somebody else sees it.
    """
    kind = find_record_type(event.rpartition(".")[0])
    records = {entity.output_model for entity in all_record_types()}
    if kind and kind.output_model in {
        e.response_model for e in emitters if isinstance(e, Operation) and event == e.emits[0]
    }:
        records = {kind.output_model}
    ranked: dict[int, set[type[Output]]] = {}
    for emitter in emitters:
        if isinstance(emitter, Task):
            ranked.setdefault(0, set()).add(emitter.emits[event].output_model)
        elif kind and issubclass(kind, RecordSet):
            ranked.setdefault(0, set()).add(kind.output_model)
        elif emitter.response_model and (
            kind is None or (emitter.response_model in records and event == emitter.emits[0])
        ):
            ranked.setdefault(0, set()).add(emitter.response_model)
        elif kind:
            ranked.setdefault(1, set()).add(kind.output_model)
        elif named := _named_by(emitter):
            ranked.setdefault(2 if emitter.records else 3, set()).add(named.output_model)
    return ranked[min(ranked)] if ranked else set()


def _named_by(operation: Operation) -> type[Entity] | None:
    """Return the innermost record that an operation's path names and that has a public model, or else its place."""
    place = [operation.access.container_type] if isinstance(operation.access, RequireRole) else []
    return next((entity for entity in [*[*operation.records.values()][::-1], *place] if entity.output_model), None)


def _message(event: str, emitters: list[Emitter], components: Mapping[str, Schema]) -> dict[str, Any]:
    records = {schemas.public_name(model.__name__): model for model in _models(event, emitters)}
    schema = _body(event, sorted(records))
    example = example_of(schema, components)
    if records:
        example["data"] |= _shown(event, emitters, records[min(records)])
    return {
        "summary": _after(emitters),
        **({"description": EVENT_TYPES[event].description} if event in EVENT_TYPES else {}),
        "tags": ["events"],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": name in _HEADERS,
                "description": text,
                "schema": {"type": "string"},
            }
            for name, text in (_HEADERS | _SOMETIMES).items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example}},
        },
        "responses": _RESPONSES,
    }


def _shown(event: str, emitters: Iterable[Emitter], model: type[Output]) -> dict[str, Any]:
    """Return what the record shows after an event otherwise than in the example of an answer."""
    begins = all(isinstance(e, Operation) and e.success == HTTPStatus.ACCEPTED for e in emitters)
    return (example_record_fields(model) if begins else {}) | example_event(model, event)


def _after(emitters: Iterable[Emitter]) -> str:
    operations = [emitter.id for emitter in emitters if isinstance(emitter, Operation)]
    by_itself = ["by the service itself"] if any(isinstance(emitter, Task) for emitter in emitters) else []
    text = ", or ".join([*(["after " + " or ".join(operations)] if operations else []), *by_itself])
    return text[0].upper() + text[1:]


def _body(event: str, records: list[str]) -> Schema:
    references = [schemas.reference(name) for name in records]
    data = {"type": "object"} if not references else references[0] if len(references) == 1 else {"anyOf": references}
    return {
        "type": "object",
        "properties": {
            "type": {"const": event},
            "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
            "organizationId": {"type": "string", "format": "uuid", "description": "Whose log it is in."},
            "sequence": {"type": "integer", "minimum": 1, "description": "Its place in that log."},
            "data": data,
        },
        "required": ["type", "timestamp", "organizationId", "sequence", "data"],
    }
