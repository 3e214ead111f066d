"""OpenAPI webhooks: the messages to webhooks, one for each event that the service can emit (Standard Webhooks)."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from chalicelib.entrypoints.openapi import schemas
from chalicelib.entrypoints.openapi.examples import example_for_schema
from chalicelib.entrypoints.openapi.interoperability import EXAMPLE_EXTENSION, is_misread_as_schema
from chalicelib.entrypoints.openapi.record_examples import event_example_overrides, record_default_values_by_alias
from chalicelib.features.audit.log.models import ActorReference, FieldChange
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type
from chalicelib.kernel.work.commands import Command
from chalicelib.kernel.work.tasks import Task

Schema = dict[str, Any]
Emitter = Operation | Task | Command

_HEADERS: Final = {
    "webhook-id": "The id of the event, which is the same in each attempt.",
    "webhook-timestamp": "The time of this attempt, in seconds since 1970.",
    "webhook-signature": "`v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`, "
    "once for each active secret, separated by spaces.",
}
_OPTIONAL_HEADERS: Final = {
    "x-request-id": "The id of the request that caused the event, for questions to support. It is not signed."
}
_ANY_RECORD: Final = {
    "type": "object",
    "description": "The public fields of the record.",
    "properties": {
        "id": {
            "type": "string",
            "description": "The id of the record.",
            "examples": ["01939d3c-0000-7000-8000-00000000000b"],
        }
    },
    "required": ["id"],
    "additionalProperties": True,
}
"""The schema of the data of events that can be about records of any type."""

_RESPONSES: Final = {
    "2XX": {"description": "Delivered. The event is not sent again."},
    "410": {"description": "Disables the webhook."},
    "default": {"description": "The event is sent again, for about three days. `Retry-After` delays the next attempt."},
}


def build_webhook_path_items(all_emitters: Iterable[Emitter], components: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the OpenAPI path item of each event, by the name of the event."""
    return {
        event: {"post": _message_operation_object(event, emitters, components)}
        for event, emitters in sorted(_emitters_by_event(all_emitters).items())
    }


def message_models(all_emitters: Iterable[Emitter]) -> set[type[Output]]:
    """Return the models in the messages: of all records in the data of events, of actors and of changes."""
    return {
        ActorReference,
        FieldChange,
        *(
            model
            for event, emitters in _emitters_by_event(all_emitters).items()
            for model in _possible_data_models(event, emitters)
        ),
    }


def _emitters_by_event(all_emitters: Iterable[Emitter]) -> dict[str, list[Emitter]]:
    by_event: dict[str, list[Emitter]] = {}
    for emitter in all_emitters:
        for event in emitter.emits:
            by_event.setdefault(event, []).append(emitter)
    return by_event


def _possible_data_models(event: str, emitters: Iterable[Emitter]) -> set[type[Output]]:
    """Return the public models that the data of an event can have.

    A task declares the record type of each event. The events of a command can be about any type, so none is returned.
    For an operation, the first rule that applies decides: the record set that it changes, the record in its response if
    the event is its main event, the record type that the event is named after, the innermost record in its path, or the
    container in which it requires a role.
    """
    kind = find_record_type(event.rpartition(".")[0])
    records = {entity.output_model for entity in all_record_types()}
    if kind and kind.output_model in {
        e.response_or_item_model for e in emitters if isinstance(e, Operation) and event == e.emits[0]
    }:
        records = {kind.output_model}
    ranked: dict[int, set[type[Output]]] = {}
    for emitter in emitters:
        if isinstance(emitter, Command):
            continue
        if isinstance(emitter, Task):
            ranked.setdefault(0, set()).add(emitter.emits[event].output_model)
        elif kind and issubclass(kind, RecordSet):
            ranked.setdefault(0, set()).add(kind.output_model)
        elif emitter.response_or_item_model and (
            kind is None or (emitter.response_or_item_model in records and event == emitter.emits[0])
        ):
            ranked.setdefault(0, set()).add(emitter.response_or_item_model)
        elif kind:
            ranked.setdefault(1, set()).add(kind.output_model)
        elif path_type := _innermost_path_type_with_output(emitter):
            ranked.setdefault(2 if emitter.record_types_by_parameter else 3, set()).add(path_type.output_model)
    return ranked[min(ranked)] if ranked else set()


def _innermost_path_type_with_output(operation: Operation) -> type[Entity] | None:
    """Return the innermost record type with a public model in an operation's path, or else its container's type."""
    container_types = [operation.access.container_type] if isinstance(operation.access, RequireRole) else []
    record_types = [*[*operation.record_types_by_parameter.values()][::-1], *container_types]
    return next((record_type for record_type in record_types if record_type.output_model), None)


def _message_operation_object(event: str, emitters: list[Emitter], components: Mapping[str, Schema]) -> dict[str, Any]:
    records = {schemas.public_model_name(model.__name__): model for model in _possible_data_models(event, emitters)}
    is_about_any_record = any(isinstance(emitter, Command) for emitter in emitters)
    schema = _message_body_schema(event, _ANY_RECORD if is_about_any_record else _data_schema(sorted(records)))
    example = example_for_schema(schema, components)
    if records:
        example["data"] |= _event_data_example_overrides(event, emitters, records[min(records)])
    return {
        "operationId": f"receive_{event.replace('.', '_')}",
        "summary": _summarize_emitters(emitters),
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
            for name, text in (_HEADERS | _OPTIONAL_HEADERS).items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example}},
        },
        "responses": _RESPONSES,
        **({EXAMPLE_EXTENSION: example} if is_misread_as_schema(example) else {}),
    }


def _event_data_example_overrides(event: str, emitters: Iterable[Emitter], model: type[Output]) -> dict[str, Any]:
    """Return the fields whose values after an event differ from the example of the schema."""
    starts_job = all(isinstance(e, Operation) and e.success == HTTPStatus.ACCEPTED for e in emitters)
    return (record_default_values_by_alias(model) if starts_job else {}) | event_example_overrides(model, event)


def _summarize_emitters(emitters: Iterable[Emitter]) -> str:
    operations = [emitter.id for emitter in emitters if isinstance(emitter, Operation)]
    by_service = ["by the service itself"] if any(isinstance(emitter, Task) for emitter in emitters) else []
    by_operator = ["by an operator"] if any(isinstance(emitter, Command) for emitter in emitters) else []
    text = ", or ".join([*(["after " + " or ".join(operations)] if operations else []), *by_service, *by_operator])
    return text[0].upper() + text[1:]


def _data_schema(model_names: list[str]) -> Schema:
    references = [schemas.schema_reference(name) for name in model_names]
    return {"type": "object"} if not references else references[0] if len(references) == 1 else {"anyOf": references}


def _message_body_schema(event: str, data: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "type": {"const": event},
            "timestamp": {"type": "string", "format": "date-time", "description": "When the event occurred."},
            "organizationId": {
                "type": "string",
                "format": "uuid",
                "description": "The organization whose log contains the event.",
            },
            "sequence": {"type": "integer", "minimum": 1, "description": "The position of the event in that log."},
            "data": data,
            "actor": schemas.schema_reference(ActorReference.__name__),
            "changes": {
                "type": "array",
                "items": schemas.schema_reference(FieldChange.__name__),
                "description": "Each public field of the record that changed, as in the log entry.",
            },
        },
        "required": ["type", "timestamp", "organizationId", "sequence", "data", "actor", "changes"],
    }
