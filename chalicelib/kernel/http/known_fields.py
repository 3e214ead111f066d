"""The fields that a model has at a place in a request, for suggestions to callers who misspelled one."""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from chalicelib.kernel.http.models import Input, Query

Model = type[Input | Query]


def public_field_names(model: Model) -> set[str]:
    """Return the fields of a model as callers name them."""
    return {field.alias or name for name, field in model.model_fields.items()}


def known_names_at(model: Model, value: Any, location: Sequence[int | str]) -> list[str]:
    """Return the names of the fields that an object in a request can have, or nothing if it has no model.

    `value` is the request's value of the model, and `location` the path from there to a member of the object.
    """
    return sorted({name for each in _models_at(model, value, location) for name in public_field_names(each)})


def names_of_objects_with(model: Model, value: Any, location: Sequence[int | str]) -> list[str]:
    """Return the fields of an object in a request which contain objects that have a field of the location's last name.

    The arguments are those of `known_names_at`.
    """
    return sorted(
        {
            field.alias or name
            for each in _models_at(model, value, location)
            for name, field in each.model_fields.items()
            if any(location[-1] in public_field_names(inner) for inner in _models_of_object(field.annotation))
        }
    )


def _models_of_object(annotation: Any) -> list[Model]:
    """Return the models of a field that is an object, such as `Model | None`, but not a list of objects."""
    types = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [each for each in types if isinstance(each, type) and issubclass(each, Input | Query)]


def _models_at(model: Model, value: Any, location: Sequence[int | str]) -> list[Model]:
    """Return the models that an object in a request can have.

    If it can have several, such as the blocks of a page, it is the one with the object's `type`.
    """
    models: list[Model] = [model]
    for part in location[:-1]:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            value = None
        if isinstance(part, str):
            models = [inner for each in models for inner in _models_of_field(each, part)]
    return [each for each in models if _has_type_of(each, value)]


def _models_of_field(model: Model, alias: str) -> list[Model]:
    fields = [field for name, field in model.model_fields.items() if (field.alias or name) == alias]
    return [inner for field in fields for part in (field.annotation, *field.metadata) for inner in _models_in(part)]


def _models_in(annotation: Any) -> Iterator[Model]:
    """Yield the models in an annotation, such as `list[Model] | None`, or in the input type of a validator."""
    if isinstance(annotation, type) and issubclass(annotation, Input | Query):
        yield annotation
    parts = get_args(annotation) if get_origin(annotation) is not Literal else ()
    for part in (*parts, *(getattr(annotation, "__metadata__", ()))):
        yield from _models_in(part)
    input_type = getattr(annotation, "json_schema_input_type", None)
    if input_type is not None:
        yield from _models_in(input_type)


def _has_type_of(model: Model, value: Any) -> bool:
    """Return whether a model can have the `type` of an object."""
    types = get_args(model.model_fields["type"].annotation) if "type" in model.model_fields else ()
    return not types or not isinstance(value, Mapping) or value.get("type") in types
