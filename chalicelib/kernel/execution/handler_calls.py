"""Calls the handler of an operation with its arguments, and builds the response."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution import conditions, envelope
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.principal_names import add_names_if_requested
from chalicelib.kernel.execution.responses import build_response, reduced_page_limit_or_zero
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.measured_fields import MeasuredRecord
from chalicelib.kernel.http.models import Input, Patch
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.operations.inputs import Measurement
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.rate_limits.buckets import RateLimitState
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.work import outbox

_AFTER_CONDITIONS: Final = (409, 429)
"""Statuses of problems with a record's state. A failed precondition takes precedence over them."""


def run_handler_within_size_limit(
    ctx: Context, access: Access, rate_limit_states: Sequence[RateLimitState]
) -> Response:
    """Return the response to a request. A page that is too large for Lambda gets fewer items.

    The handler is called again with a lower limit, so that the cursor follows from the last item. Raises Problem
    `limit_exceeded` if not even one item fits, or if the response is not a list.
    """
    while True:
        result = add_names_if_requested(ctx, _call_handler_and_check_preconditions(ctx, access, rate_limit_states))
        response = build_response(ctx, result)
        if envelope.is_within_response_size_limit(response):
            return response
        max_items = reduced_page_limit_or_zero(ctx, result, response)
        if not max_items:
            raise envelope.response_too_large_problem(ctx.operation)
        ctx.page_limit = max_items


def _call_handler_and_check_preconditions(
    ctx: Context, access: Access, rate_limit_states: Sequence[RateLimitState]
) -> Any:
    operation = ctx.operation
    target = _record_or_container_to_change(operation, access)
    arguments: dict[str, Any] = {name: ctx.request.parameters[name] for name in operation.text_path_parameters}
    arguments |= access.records
    if operation.handler_container_parameter_name:
        arguments[operation.handler_container_parameter_name] = access.container
    arguments |= _parse_query_and_body_arguments(ctx, target)
    arguments |= access.prefetched
    if operation.has_external_effects:
        _enforce_preconditions_until_commit(ctx, target)
        ctx.effect.charge_rate_limits_once(rate_limit_states)
    try:
        if operation.volume_limits:
            ctx.effect.count_volume_once(operation, arguments["body"], access.outermost_container_pk)
        result = operation.function(ctx, **arguments)
    except Problem as problem:
        if problem.status in _AFTER_CONDITIONS:
            _enforce_preconditions_until_commit(ctx, target)
        raise
    _enforce_preconditions_until_commit(ctx, target)
    return result


def _enforce_preconditions_until_commit(ctx: Context, target: Entity | None) -> None:
    if target and ctx.operation.can_create_record_in_path:
        conditions.raise_on_if_none_match(ctx.request, target)
    if ctx.operation.supports_if_match and conditions.has_if_match_raising_on_mismatch(ctx.request, target) and target:
        ctx.changes.require_unchanged(target)


def _record_or_container_to_change(operation: Operation, access: Access) -> Entity | None:
    """Return the record to which `If-Match` and a merge patch apply, or None if it does not exist.

    Of several records in the path it is the one that the operation returns, or else the last.
    """
    if not access.records:
        return access.container
    returned_names = (
        name
        for name, kind in operation.record_types_by_parameter.items()
        if operation.response_or_item_model and kind.output_model is operation.response_or_item_model
    )
    return access.records[next(returned_names, [*access.records][-1])]


def _parse_query_and_body_arguments(ctx: Context, target: Entity | None) -> dict[str, Any]:
    operation, query = ctx.operation, ctx.input.query
    parsed: dict[str, Any] = {}
    if operation.query_model:
        parsed["query"] = query.model_copy(update={"limit": ctx.page_limit}) if ctx.page_limit else query
    if operation.method in ("POST", "PUT", "PATCH"):
        body = _parse_body(ctx, target)
        if operation.body_model:
            validation.reject_body_fields_in_query(operation.body_model, operation.query_model, ctx.request)
            parsed["body"] = body
    return parsed


def _parse_body(ctx: Context, target: Entity | None) -> Input:
    """Return the body. A merge patch applies to the target, or to a part of it."""
    model = ctx.operation.body_model
    if target is None or model is None or not issubclass(model, Patch):
        return ctx.input.validated_body(None)
    public_record = outbox.public_fields_of_record(target)
    if model.part:
        return ctx.input.validated_body(public_record[model.part] or {})
    measurement = next((each for each in ctx.access.prefetched.values() if isinstance(each, Measurement)), None)
    if measurement is None:
        return ctx.input.validated_body(public_record)
    measured = MeasuredRecord(target.output_model, partial(measurement.describe, target))
    return ctx.input.validated_body(public_record, measured)
