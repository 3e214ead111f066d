"""What answers and events show of a record otherwise than its schema's example: secrets, what is begun or over."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args

from pydantic_core import PydanticUndefined

from chalicelib.entrypoints.openapi.examples import example_of
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_types import all_record_types


def secrets(model: type[Output]) -> dict[str, Any]:
    """Return examples of the secrets that an answer holds, once, when they are made."""
    return {
        alias: example_of({"type": "string"}, {}, alias)
        for alias in _aliased(model, dict.fromkeys(model.secret_fields))
    }


def example_record_fields(model: type[Output]) -> dict[str, Any]:
    """Return examples of the fields that tell how far work is, before it begins: what is stored or shown by default."""
    stored = {field.name: field.default for kind in _kinds(model) for field in fields(kind)}
    shown = {name: stored.get(name, field.default) for name, field in model.model_fields.items()}
    return _aliased(model, {name: value for name, value in shown.items() if value not in (MISSING, PydanticUndefined)})


def example_event(model: type[Output], event: str) -> dict[str, Any]:
    """Return what an event shows otherwise: nothing that no record stores, and the record as it is afterwards.

    Its status is the event's own word, where that is one: an expired invitation's. `Output.after` says the rest.
    """
    kinds, word = _kinds(model), event.rpartition(".")[2]
    unknown = {
        name: field.default
        for name, field in model.model_fields.items()
        if kinds and not any(_has(kind, name) for kind in kinds)
    }
    status = {"status": word} if word in _statuses(model) else {}
    return _aliased(model, {**unknown, **status, **model.event_examples.get(event, {})})


def _kinds(model: type[Output]) -> list[type[Entity]]:
    return [kind for kind in all_record_types() if kind.output_model is model]


def _has(kind: type[Entity], name: str) -> bool:
    return hasattr(kind, name) or name in {field.name for field in fields(kind)}


def _statuses(model: type[Output]) -> tuple[Any, ...]:
    field = model.model_fields.get("status")
    return get_args(field.annotation) if field else ()


def _aliased(model: type[Output], values: Mapping[str, Any]) -> dict[str, Any]:
    return {model.model_fields[name].serialization_alias or name: value for name, value in sorted(values.items())}
