"""Where the example of a record in a response or an event differs from the example of its schema."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args

from pydantic_core import PydanticUndefined

from chalicelib.entrypoints.openapi.examples import example_for_schema
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_types import all_record_types


def example_secret_fields(model: type[Output]) -> dict[str, Any]:
    """Return examples of the example_secrets that only the response that creates them contains."""
    return {
        alias: example_for_schema({"type": "string"}, {}, alias)
        for alias in _values_by_alias(model, dict.fromkeys(model.secret_fields))
    }


def record_default_values_by_alias(model: type[Output]) -> dict[str, Any]:
    """Return the default values of a record's fields, as the response that starts background work has them."""
    stored = {
        field.name: field.default for record_type in _record_types_with_output(model) for field in fields(record_type)
    }
    defaults = {name: stored.get(name, field.default) for name, field in model.model_fields.items()}
    return _values_by_alias(
        model, {name: value for name, value in defaults.items() if value not in (MISSING, PydanticUndefined)}
    )


def event_example_overrides(model: type[Output], event: str) -> dict[str, Any]:
    """Return the fields whose values in an event differ from the example of the schema.

    Fields that no record stores have their defaults. If the last part of the event's name is a status, as in
    `invitation.expired`, it is the status of the example. Further values are from `Output.event_examples`.
    """
    types, last_part = _record_types_with_output(model), event.rpartition(".")[2]
    not_stored = {
        name: field.default
        for name, field in model.model_fields.items()
        if types and not any(_has_attribute(record_type, name) for record_type in types)
    }
    status = {"status": last_part} if last_part in _possible_statuses(model) else {}
    return _values_by_alias(model, {**not_stored, **status, **model.event_examples.get(event, {})})


def _record_types_with_output(model: type[Output]) -> list[type[Entity]]:
    return [each for each in all_record_types() if each.output_model is model]


def _has_attribute(record_type: type[Entity], name: str) -> bool:
    return hasattr(record_type, name) or name in {field.name for field in fields(record_type)}


def _possible_statuses(model: type[Output]) -> tuple[Any, ...]:
    field = model.model_fields.get("status")
    return get_args(field.annotation) if field else ()


def _values_by_alias(model: type[Output], values: Mapping[str, Any]) -> dict[str, Any]:
    return {model.model_fields[name].serialization_alias or name: value for name, value in sorted(values.items())}
