"""Fields of responses that are measured, not stored with the record, and what a merge patch may repeat of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.http.models import Output, class_in_annotation_or_none


@dataclass(frozen=True)
class MeasuredRecord:
    """A record as responses show it: with values that change without a new version of the record, such as a lag.

    `model`: that of the record itself. `measure` returns the response.
    """

    model: type[Output]
    measure: Callable[[], Output]

    @cached_property
    def response(self) -> Output:
        """The present response."""
        return self.measure()

    @cached_property
    def shown_fields(self) -> Mapping[str, Any]:
        """The public fields of the present response."""
        shown: Mapping[str, Any] = self.response.model_dump(mode="json", by_alias=True)
        return shown

    def matches_earlier_response(self, shown_before: Mapping[str, Any], public_record: Mapping[str, Any]) -> bool:
        """Return whether a response may have shown these fields since the record has its version.

        A value that the record itself can have must be its present one, which is in `public_record`.
        """
        measurable, stored = _fields_by_public_name(type(self.response)), _fields_by_public_name(self.model)
        return all(
            (name in public_record and json_equal(public_record[name], value))
            or (_is_valid(measurable[name], value) and not (name in stored and _is_valid(stored[name], value)))
            for name, value in shown_before.items()
        )


def _fields_by_public_name(model: type[Output]) -> Mapping[str, FieldInfo]:
    return {field.serialization_alias or name: field for name, field in model.model_fields.items()}


def _is_valid(field: FieldInfo, value: Any) -> bool:
    """Return whether a field of a response can have a value."""
    nested = class_in_annotation_or_none(field.annotation, Output)
    if nested and isinstance(value, dict):
        fields = _fields_by_public_name(nested)
        return fields.keys() == value.keys() and all(_is_valid(fields[name], each) for name, each in value.items())
    annotated: Any = Annotated[field.annotation, Field(), *field.metadata]
    adapter: TypeAdapter[Any] = TypeAdapter(annotated)
    try:
        adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return False
    return True
