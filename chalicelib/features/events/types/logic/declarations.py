"""Declarations of event types: their rules, and the versions of their schemas."""

import hashlib
from typing import Any

from chalicelib.features.events.types.entities import EventType, SchemaVersion
from chalicelib.features.events.types.logic.sentences import list_sentence_errors
from chalicelib.features.events.types.models import MAX_VERSIONS, EventTypePut
from chalicelib.kernel.audit_log.entries import canonical_json
from chalicelib.kernel.core.event_patterns import RESERVED_FIRST_PARTS, is_application_type
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context


def declare_event_type(ctx: Context, name: str, declared: EventType | None, body: EventTypePut) -> EventType:
    """Declare an event type or replace it. A replacement without changes writes nothing.

    Raises ValidationProblem if the type is reserved, or the sentence or the schema is not valid, and Problem
    `limit_exceeded` if the schema changes and has the most versions already.
    """
    fields: dict[str, Any] = {"description": body.description, "sentence": body.sentence, "deprecated": body.deprecated}
    has_new_schema = declared is None or not json_equal(declared.data_schema, body.data_schema)
    _reject_invalid_declaration(name, body, has_new_schema=has_new_schema)
    if declared and not has_new_schema:
        updated = ctx.changes.update(declared, **fields)
        return declared if updated is declared else ctx.changes.event(updated)
    schema_fields = build_schema_fields(body.data_schema)
    created_at = [*(declared.schema_created_at if declared else ()), ctx.now]
    if len(created_at) > MAX_VERSIONS:
        detail = f"The type has {MAX_VERSIONS} versions already. Declare another type for the new schema."
        raise Problem("limit_exceeded", detail)
    ctx.changes.create(
        SchemaVersion(**ctx.new_id_and_time_fields(), type=name, number=len(created_at), **schema_fields)
    )
    fields |= {**schema_fields, "schema_created_at": created_at}
    if declared:
        return ctx.changes.event(ctx.changes.update(declared, **fields))
    created = ctx.changes.create(EventType(**ctx.new_id_and_time_fields(), type=name, **fields))
    return ctx.changes.event(created, "system.event_type.created")


def build_schema_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that store a valid schema: the schema, its SHA-256 digest in hex, and an example or None."""
    from chalicelib.features.events.types.logic.data_examples import example_or_none

    digest = hashlib.sha256(canonical_json(schema)).hexdigest()
    return {"data_schema": schema, "schema_digest": digest, "example": example_or_none(schema)}


def _reject_invalid_declaration(name: str, body: EventTypePut, *, has_new_schema: bool) -> None:
    """Raise ValidationProblem with all that is wrong. A schema that is stored already is valid."""
    errors = list[FieldError]()
    if not is_application_type(name):
        reserved = ", ".join(sorted(RESERVED_FIRST_PARTS))
        detail = f"The first part of a type must be another than these, which the service itself uses: {reserved}."
        errors.append(FieldError("path/event_type", "malformed", detail))
    properties = body.data_schema.get("properties")
    names = [*properties] if isinstance(properties, dict) else []
    errors += [FieldError("/sentence", "malformed", detail) for detail in list_sentence_errors(body.sentence, names)]
    errors += _list_schema_errors(body.data_schema) if has_new_schema else []
    if errors:
        raise ValidationProblem(errors)


def _list_schema_errors(schema: dict[str, Any]) -> list[FieldError]:
    from chalicelib.features.events.types.logic.schema_bounds import find_schema_errors

    return [error.with_pointer_prefix("/schema") for error in find_schema_errors(schema)]
