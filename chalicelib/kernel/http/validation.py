"""Validation of requests. All errors are reported at once, each with a pointer."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.problems import MAX_ERRORS, FieldError, Problem, ValidationProblem
from chalicelib.kernel.http.forms import FORMS, parse_form
from chalicelib.kernel.http.known_fields import known_names_at, names_of_objects_with, public_field_names
from chalicelib.kernel.http.measured_fields import MeasuredRecord
from chalicelib.kernel.http.models import Input, Patch, Query, class_in_annotation_or_none
from chalicelib.kernel.http.query_handling import STRICT_HANDLING_APPLIED
from chalicelib.kernel.http.request import Request

M = TypeVar("M", bound=Input)

MAX_BODY_BYTES: Final = 1 << 20
"""Size of the body of a request, unless an operation declares another one."""

_MAX_NAME_CHARACTERS: Final = 200
"""Maximum length of a name in a pointer. The names of actual fields are shorter."""
_JSON: Final = ("application/json", "application/merge-patch+json")
_ERROR_DETAILS: Final = {
    "missing": ("required", "This field is required."),
    "null": ("required", "This field is required: it can't be null."),
    "extra_forbidden": ("unknown_field", "There is no such field."),
    "value_error": ("malformed", "{error}"),
    "string_pattern_mismatch": ("malformed", "must match {pattern}"),
    "string_type": ("wrong_type", "must be text"),
    "int_type": ("wrong_type", "must be a whole number"),
    "int_parsing": ("wrong_type", "must be a whole number"),
    "float_type": ("wrong_type", "must be a number"),
    "bool_type": ("wrong_type", "must be true or false"),
    "bool_parsing": ("wrong_type", "must be true or false"),
    "list_type": ("wrong_type", "must be a list"),
    "dict_type": ("wrong_type", "must be an object"),
    "model_type": ("not_an_object", "must be an object"),
    "string_too_short": ("too_short", "must have {min_length} or more characters"),
    "string_too_long": ("too_long", "must have {max_length} characters or fewer"),
    "too_short": ("too_few", "must have {min_length} or more items"),
    "too_long": ("too_many", "must have {max_length} items or fewer"),
    "too_large": ("too_large", "must have {max_bytes} bytes or fewer as JSON; this has {size}"),
    "out_of_range": ("out_of_range", "{message}"),
    "repeated": ("repeated", "must differ from those of all earlier elements"),
    "greater_than_equal": ("out_of_range", "must be {ge} or more"),
    "less_than_equal": ("out_of_range", "must be {le} or less"),
    "int_parsing_size": ("out_of_range", "must be a number of fewer digits"),
    "enum": ("not_one_of", "must be one of {expected}"),
    "literal_error": ("not_one_of", "must be one of {expected}"),
}
"""Pydantic's error types, with the codes and messages of the API. Braces contain values of the error's context."""


class _NoBody(Input):
    """The body of an operation without one."""


def validate_body(
    model: type[Input] | None,
    request: Request,
    public_record: Mapping[str, Any] | None,
    *,
    accepts_form: bool = False,
    is_required: bool = False,
    max_bytes: int = MAX_BODY_BYTES,
    measured: MeasuredRecord | None = None,
) -> Input:
    """Return the request's body as its model.

    `public_record`: the record as the caller sees it, to which a merge patch applies. `accepts_form`: whether the body
    can be an HTML form. `is_required`: whether a missing body is an error. Otherwise it is equal to `{}`. `max_bytes`:
    the size of a body. `measured`: the record as responses show it, if they show more than the record.

    Raises Problem `payload_too_large`, `unsupported_media_type`, `malformed_json` or `validation_failed`.
    """
    model = model or _NoBody
    body = _json_body_bytes(request, max_bytes, accepts_form=accepts_form)
    if is_required and not body:
        detail = "The body is missing. Send the fields to change as JSON, or {} to change nothing."
        raise Problem("malformed_json", detail)
    raw = body or b"{}"
    if b"NaN" in raw or b"Infinity" in raw:
        _parse_json(raw)  # Pydantic accepts these words as numbers, but JSON does not (RFC 8259, section 6).
    try:
        if issubclass(model, Patch):
            return _merge_and_validate_patch(model, raw, public_record or {}, measured)
        return model.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            raise _malformed_body_problem(first["msg"].removeprefix("Invalid JSON: ")) from None
        raise ValidationProblem(_to_field_errors(error, model, from_json(raw))) from None


def validate_value(model: type[M], value: Mapping[str, Any], pointer: str) -> M:
    """Return a value as its model. Raises ValidationProblem with errors below a pointer."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ValidationProblem(_to_field_errors(error, model, value, pointer)) from None


def validate_query(model: type[Query], request: Request, rejected_names: Sequence[str] = ()) -> Query:
    """Return the request's query as its model, with the last of repeated parameters.

    Raises ValidationProblem with every error, including one for each of `rejected_names`: unknown parameters of a
    request that prefers strict handling.
    """
    query_values = {name: values[-1] for name, values in request.query.items() if values}
    errors = [_unknown_parameter_error(name, model) for name in rejected_names]
    headers = STRICT_HANDLING_APPLIED if rejected_names else {}
    try:
        query = model.model_validate(query_values)
    except ValidationError as error:
        raise ValidationProblem([*errors, *_to_field_errors(error, model, query_values, "query")], headers) from None
    if errors:
        raise ValidationProblem(errors, headers)
    return query


def unknown_query_parameters(query: type[Query] | None, body: type[Input] | None, request: Request) -> list[str]:
    """Return the names of the request's query parameters that an operation neither has nor rejects as misplaced."""
    known_names = {*(public_field_names(query) if query else ()), *(_field_pointers_by_name(body) if body else ())}
    return [name for name in request.query if name not in known_names]


def _unknown_parameter_error(name: str, model: type[Query]) -> FieldError:
    names = sorted(public_field_names(model))
    advice = f"It has: {', '.join(names)}." if names else "It has none."
    question = _ask_for_nearest(name, names)
    detail = " ".join(filter(None, ("The operation has no such parameter.", question, advice)))
    return FieldError(_build_error_pointer([name], "query"), "unknown_parameter", detail)


def valid_field_or_none(model: type[Input], name: str, request: Request) -> Any:
    """Return the value of one field of the body, or None if it is not valid. The other fields need not be valid.

    A field that is not sent, or null, has its default value or, in a merge patch, the value None.
    """
    field = model.model_fields[name]
    value = request.unvalidated_json_object_or_empty.get(field.alias or name)
    if value is None:
        return None if issubclass(model, Patch) or field.is_required() else field.get_default(call_default_factory=True)
    try:
        return _field_adapter(model, name).validate_python(value)
    except ValidationError:
        return None


@cache
def _field_adapter(model: type[Input], name: str) -> TypeAdapter[Any]:
    field = model.model_fields[name]
    field_type: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(field_type, config=ConfigDict(strict=True, str_strip_whitespace=True))


def reject_body_fields_in_query(body: type[Input], query: type[Query] | None, request: Request) -> None:
    """Raise ValidationProblem if the query contains a field of the body.

    If it were ignored, the operation could do more than the caller intended. Unknown parameters are ignored.
    """
    query_names = public_field_names(query) if query else set()
    misplaced = {
        name: pointer
        for name, pointer in _field_pointers_by_name(body).items()
        if name in request.query and name not in query_names
    }
    if misplaced:
        advice = "This field belongs in the body, as {}. Nothing was changed."
        raise ValidationProblem(
            [FieldError(f"query/{name}", "misplaced", advice.format(pointer)) for name, pointer in misplaced.items()]
        )


@cache
def _field_pointers_by_name(body: type[Input]) -> Mapping[str, str]:
    """Return the pointers of the fields of a body by name, including those of nested objects."""
    pointers: dict[str, str] = {}
    for name, field in body.model_fields.items():
        alias = field.alias or name
        inner = class_in_annotation_or_none(field.annotation, Input)
        nested = (
            {each: f"/{alias}{pointer}" for each, pointer in _field_pointers_by_name(inner).items()} if inner else {}
        )
        pointers = {**nested, **pointers, alias: f"/{alias}"}
    return pointers


def _json_body_bytes(request: Request, max_bytes: int, *, accepts_form: bool) -> bytes:
    if len(request.body) > max_bytes:
        raise Problem(
            "payload_too_large", f"A body can have at most {max_bytes} bytes. This one has {len(request.body)}."
        )
    if request.body.strip():
        content_type = request.headers.get("content-type", "application/json")
        media_type = ascii_lower(content_type.split(";")[0].strip())
        if accepts_form and media_type in FORMS:
            return json.dumps(parse_form(content_type, request.body)).encode()
        allowed = _JSON if request.method == "PATCH" else _JSON[:1]
        if media_type not in allowed:
            raise Problem("unsupported_media_type", f"Send {' or '.join(allowed)} instead of {media_type[:100]!r}.")
    return request.body.strip()


def _merge_and_validate_patch(
    model: type[Patch], raw: bytes, public_record: Mapping[str, Any], measured: MeasuredRecord | None
) -> Input:
    patch = _parse_json(raw)
    if not isinstance(patch, dict):
        raise ValidationProblem([FieldError("", *_ERROR_DETAILS["model_type"])])
    names = public_field_names(model)
    read_only = {name: value for name, value in patch.items() if name not in names}
    shown = measured.shown_fields if measured and read_only else public_record
    rejected_names = [n for n, value in read_only.items() if n not in shown or not json_equal(shown[n], value)]
    is_whole_record = read_only.keys() == shown.keys() - names
    if measured and rejected_names and is_whole_record and measured.matches_earlier_response(read_only, public_record):
        rejected_names = []
    errors = [
        _unknown_field_error(name, shown, model if number < MAX_ERRORS else None)
        for number, name in enumerate(rejected_names)
    ]
    if fixed_errors := _fixed_field_errors(model, public_record, patch):
        raise ValidationProblem([*errors, *fixed_errors])
    merged = {name: value for name, value in merge_patch(public_record, patch).items() if name in names}
    try:
        validated = model.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        raise ValidationProblem([*errors, *_to_field_errors(error, model, merged)]) from None
    if errors:
        raise ValidationProblem(errors)
    return validated


def _fixed_field_errors(model: type[Patch], public_record: Mapping[str, Any], patch: Any) -> list[FieldError]:
    """Return the errors about fields in objects that a patch changes although they are fixed."""
    changed = [
        path
        for path in model.fixed_fields
        if (value := _value_at_or_none(patch, path)) is not None and value != _value_at_or_none(public_record, path)
    ]
    return [FieldError(_build_error_pointer(path, ""), "read_only", model.fixed_fields[path]) for path in changed]


def _value_at_or_none(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with a JSON Merge Patch applied (RFC 7396, section 2)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _parse_json(raw: bytes) -> Any:
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise _malformed_body_problem(str(error)) from None


def _unknown_field_error(name: str, shown_names: Container[str], model: type[Patch] | None) -> FieldError:
    """Return the error about a field that a patch cannot have. With a model, it suggests another field."""
    pointer = _build_error_pointer([name], "")
    if name in shown_names:
        return FieldError(pointer, "read_only", "The service sets this field. Omit it.")
    code, detail = _ERROR_DETAILS["extra_forbidden"]
    advice = _advice_on_unknown_field(model, {}, [name]) if model else ""
    return FieldError(pointer, code, f"{detail} {advice}".rstrip())


def _advice_on_unknown_field(model: type[Input | Query], value: Any, location: Sequence[int | str]) -> str:
    """Return where the field at a location belongs, a question about the nearest field, or an empty text."""
    if objects := names_of_objects_with(model, value, location):
        return f"Put it into {' or '.join(f'`{each}`' for each in objects)}."
    return _ask_for_nearest(str(location[-1]), known_names_at(model, value, location))


def _ask_for_nearest(name: str, known_names: Iterable[str]) -> str:
    return ask_whether_meant(f"`{nearest}`" for nearest in find_nearest_names(name, known_names))


def _malformed_body_problem(why: str) -> Problem:
    return Problem("malformed_json", f"The body is not JSON: {why}.")


def _to_field_errors(
    error: ValidationError, model: type[Input | Query], value: Any, pointer_prefix: str = ""
) -> list[FieldError]:
    """Return the errors in a value of a model. Those that a response shows suggest the nearest name or value."""
    details = error.errors(include_url=False)
    shown = [_to_field_error(each, pointer_prefix, _suggestion(each, model, value)) for each in details[:MAX_ERRORS]]
    return [*shown, *(_to_field_error(each, pointer_prefix) for each in details[MAX_ERRORS:])]


def _suggestion(error: Mapping[str, Any], model: type[Input | Query], value: Any) -> str:
    """Return advice on an unknown field or value, to append to the message of the error, or an empty text."""
    if error["type"] == "extra_forbidden":
        advice = _advice_on_unknown_field(model, value, error["loc"])
        return f" {advice}" if advice else ""
    if error["type"] not in ("enum", "literal_error") or not isinstance(error["input"], str):
        return ""
    expected_values = str(error["ctx"]["expected"]).split("'")[1::2]
    nearest = [f"'{each}'" for each in find_nearest_names(error["input"], expected_values)]
    return f". {ask_whether_meant(nearest)}" if nearest else ""


def _to_field_error(error: Mapping[str, Any], pointer_prefix: str, suggestion: str = "") -> FieldError:
    code, message = _ERROR_DETAILS.get(error["type"], ("malformed", "is not valid"))
    context = dict(error.get("ctx", {}))
    context["expected"] = str(context.get("expected")).replace(" or ", ", ")
    pointer = _build_error_pointer(error["loc"], pointer_prefix)
    return FieldError(pointer, code, message.format(**context) + suggestion)


def _build_error_pointer(location: Sequence[int | str], pointer_prefix: str) -> str:
    if location and location[-1] == "[key]":
        location = location[:-1]  # The name of the member is invalid.
    parts = [_truncate(str(part)).replace("~", "~0").replace("/", "~1") for part in location]
    return "/".join([pointer_prefix, *parts]) if pointer_prefix or parts else ""


def _truncate(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[:_MAX_NAME_CHARACTERS]}…"
