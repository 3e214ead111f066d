"""The pipeline that runs every operation, from the request to the response, in the order of its steps."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from chalicelib.kernel.authorization.access import Access, authorize, reject_principal_type
from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.clock import now, sleep_with_jittered_backoff
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.threads import waiting_for_background_work
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution import conditions, envelope
from chalicelib.kernel.execution.context import Context, ExternalEffect
from chalicelib.kernel.execution.idempotency import IdempotentRequest
from chalicelib.kernel.execution.rate_limit_subjects import RateLimitUsage
from chalicelib.kernel.http import query_handling, validation
from chalicelib.kernel.http.models import Output, Patch, RecordOutput
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity import last_used
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import ErrorDocument, ListPage, RawResponse, Redirect
from chalicelib.kernel.rate_limits.buckets import RateLimitBucket, RateLimitState, Scope, with_joined_rate_limit_headers
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.unit_of_work import IdempotencyKeyConflict
from chalicelib.kernel.work import outbox

_MAX_WAIT_SECONDS: Final = 10.0
"""Time during which a request is retried after conflicts. Then the response is `conflict`."""

_MAX_ATTEMPTS: Final = 20
"""Attempts of a request after conflicts. Then the response is `conflict`."""

_PAUSE_SECONDS: Final = 0.02
_MAX_PAUSE_SECONDS: Final = 0.64
_NOT_MODIFIED: Final = 304
_MAX_STORED_BYTES: Final = 256 * 1024
"""Maximum size of the stored response to a request that changes nothing. An item can have 400 KB."""
_AFTER_CONDITIONS: Final = (409, 429)
"""Statuses of problems with a record's state. A failed `If-Match` takes precedence over them."""


def execute_or_raise_problem(operation: Operation, request: Request) -> Response:
    """Perform an operation and return its response. Responses and problems announce a deprecation.

    Raises Problem, in which case nothing has changed. Only with `unavailable` may the transaction have succeeded.
    """
    announcement = operation.deprecation.headers if operation.deprecation else {}
    try:
        with waiting_for_background_work():
            response = _count_and_run(operation, request)
    except Problem as problem:
        problem.headers = {**problem.headers, **announcement}
        raise
    response.headers = {**response.headers, **announcement}
    return response


def _count_and_run(operation: Operation, request: Request) -> Response:
    _reject_unknown_api_version(request)
    request_input, usage = RequestInput(operation, request), RateLimitUsage.authenticate_and_count_request(request)
    add_fields(principal=usage.caller.actor_type)
    try:
        response = _authorize_and_run_with_retries(request_input, usage)
    except Problem as problem:
        usage.count_or_refund_failure_adding_headers(problem)
        raise
    usage.add_rate_limit_headers(response)
    query_handling.add_query_handling_headers(response, request, request_input.unknown_query_parameters)
    return response


def _authorize_and_run_with_retries(request_input: RequestInput, usage: RateLimitUsage) -> Response:
    operation, request, caller = request_input.operation, request_input.request, usage.caller
    reject_principal_type(operation, caller, request.ip)
    idempotent_request = _idempotent_request(operation, request, caller.id)
    subjects: dict[Scope, str] = {"principal": caller.id, "network": ip_networks.client_network(request.ip)}
    known_buckets = _rate_limit_buckets(operation, subjects)  # The organization is not known yet.
    started_at, attempt, effect = time.monotonic(), 0, ExternalEffect()
    while True:
        access = authorize(request_input, caller, [each.key for each in (idempotent_request, *known_buckets) if each])
        usage.ensure_counted_against_api_key()
        add_fields(tenant=access.container.audit_log_id if access.container else None)
        if idempotent_request and (
            stored := idempotent_request.replayed_response_or_none(access.items.get(idempotent_request.key))
        ):
            return stored
        last_used.write_last_used_in_background(access.principal)
        ctx = _create_context(request_input, access, attempt, effect)
        buckets = _rate_limit_buckets(operation, {**subjects, "organization": access.outermost_container_pk})
        states = effect.rate_limit_states or [
            bucket.state_or_raise_if_exhausted(access.items.get(bucket.key), ctx.now) for bucket in buckets
        ]
        try:
            return _run_handler_and_commit_once(ctx, access, idempotent_request, states)
        except ConcurrentModification:
            attempt += 1
            _back_off(started_at, attempt)
        except IdempotencyKeyConflict as conflict:
            if idempotent_request and (stored := idempotent_request.replayed_response_or_none(conflict.item)):
                return stored
            raise Problem(
                "idempotency_in_progress", "The same request is under way. Try again in a moment."
            ) from conflict
        except Problem as problem:
            # A derived slug is chosen again, once.
            if not (ctx.has_derived_slug and problem.code == "slug_taken" and attempt == 0):
                raise
            attempt += 1


def _run_handler_and_commit_once(
    ctx: Context, access: Access, idempotent_request: IdempotentRequest | None, states: Sequence[RateLimitState]
) -> Response:
    response = _run_handler_within_size_limit(ctx, access, states)
    for state in states:
        response.headers = with_joined_rate_limit_headers(response.headers, state)
    counted_states = [] if ctx.operation.has_external_effects else states
    _commit_and_store_idempotent_response(ctx, response, idempotent_request, counted_states)
    return response


def _idempotent_request(operation: Operation, request: Request, caller_id: str) -> IdempotentRequest | None:
    """Return the request if it has an idempotency key and may change something. An invalid key is always rejected."""
    idempotent_request = IdempotentRequest.from_request(request, caller_id)
    return idempotent_request if operation.emits_events else None


def _create_context(request_input: RequestInput, access: Access, attempt: int, effect: ExternalEffect) -> Context:
    operation = request_input.operation
    ctx = Context(request_input, access, now(), attempt, effect)
    ctx.headers |= {"Cache-Control": operation.cache_control} if operation.cache_control else {}
    ctx.changes.chains = access.chains
    if operation.grants_access and access.container:
        ctx.add_access_not_revoked_conditions(
            access.outermost_container_pk, access.items, access.granting_records_by_subject
        )
    return ctx


def _rate_limit_buckets(operation: Operation, subjects: Mapping[Scope, str]) -> list[RateLimitBucket]:
    """Return the buckets in which an operation's requests count, for the subjects that are known."""
    return [
        rate_limit.bucket_for(subjects[rate_limit.per])
        for rate_limit in operation.rate_limits
        if rate_limit.per in subjects
    ]


def _reject_unknown_api_version(request: Request) -> None:
    requested_version = request.headers.get("api-version")
    if requested_version not in (None, API_VERSION):
        detail = f"This service supports version {API_VERSION}. Send this version, or omit API-Version."
        raise Problem.create_with_field_error("header/API-Version", "unknown_api_version", detail)


def _run_handler_within_size_limit(
    ctx: Context, access: Access, rate_limit_states: Sequence[RateLimitState]
) -> Response:
    """Return the response to a request. A page that is too large for Lambda gets fewer items.

    The handler is called again with a lower limit, so that the cursor follows from the last item. Raises Problem
    `limit_exceeded` if not even one item fits, or if the response is not a list.
    """
    while True:
        result = _call_handler_and_check_if_match(ctx, access, rate_limit_states)
        response = _build_response(ctx, result)
        if envelope.is_within_response_size_limit(response):
            return response
        max_items = _reduced_page_limit_or_zero(ctx, result, response)
        if not max_items:
            raise envelope.response_too_large_problem(ctx.operation)
        ctx.page_limit = max_items


def _reduced_page_limit_or_zero(ctx: Context, result: Any, response: Response) -> int:
    """Return how many items a response that is too large can have, or 0 if fewer items do not help."""
    if not isinstance(result, ListPage) or ctx.operation.emits_events or ctx.operation.query_model is None:
        return 0
    empty_page = _build_page_response(ctx, ListPage([], result.next_cursor, result.metadata))
    items = [
        item
        if isinstance(item, bytes)
        else _list_type_adapter(ctx.operation.response_or_item_model).dump_json([item], by_alias=True)
        for item in result.items
    ]
    max_items = len(items) - 1 if ctx.page_limit is None else ctx.page_limit - 1
    empty_page.headers = empty_page.headers | response.headers
    return min(envelope.count_fitting_items(items, empty_page), max_items)


def _call_handler_and_check_if_match(ctx: Context, access: Access, rate_limit_states: Sequence[RateLimitState]) -> Any:
    operation = ctx.operation
    target = _record_or_container_to_change(operation, access)
    arguments: dict[str, Any] = {name: ctx.request.parameters[name] for name in operation.text_path_parameters}
    arguments |= access.records
    if operation.handler_container_parameter_name:
        arguments[operation.handler_container_parameter_name] = access.container
    arguments |= _parse_query_and_body_arguments(ctx, target)
    arguments |= access.prefetched
    if operation.has_external_effects:
        _enforce_if_match_until_commit(ctx, target)
        ctx.effect.charge_rate_limits_once(rate_limit_states)
    try:
        result = operation.function(ctx, **arguments)
    except Problem as problem:
        if problem.status in _AFTER_CONDITIONS:
            _enforce_if_match_until_commit(ctx, target)
        raise
    _enforce_if_match_until_commit(ctx, target)
    return result


def _enforce_if_match_until_commit(ctx: Context, target: Entity | None) -> None:
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
        body = ctx.input.validated_body(_value_to_patch(operation, target))
        if operation.body_model:
            validation.reject_body_fields_in_query(operation.body_model, operation.query_model, ctx.request)
            parsed["body"] = body
    return parsed


def _value_to_patch(operation: Operation, target: Entity | None) -> Mapping[str, Any] | None:
    """Return the value to which a merge patch applies, or None for other bodies."""
    if target is None or operation.body_model is None or not issubclass(operation.body_model, Patch):
        return None
    public_record = outbox.public_fields_of_record(target)
    return public_record[operation.body_model.part] or {} if operation.body_model.part else public_record


def _build_response(ctx: Context, result: Any) -> Response:
    operation, request = ctx.operation, ctx.request
    status = operation.existing_status if ctx.already_existed and operation.existing_status else operation.success
    if result is None:
        return Response(status)
    if isinstance(result, Redirect):
        base = request.base if result.location.startswith("/") and not result.is_of_other_host else ""
        return Response(result.status, headers={**ctx.headers, "Location": base + result.location})
    if isinstance(result, RawResponse):
        return _build_raw_or_not_modified_response(request, result, status)
    if isinstance(result, ListPage):
        return _build_page_response(ctx, result)
    body = result.model_dump_json(by_alias=True).encode()
    headers = {"Content-Type": "application/json", **ctx.headers}
    secret = result.no_store or any(getattr(result, name) for name in result.secret_fields)
    if secret:
        headers["Cache-Control"] = "no-store"
    if isinstance(result, RecordOutput):
        headers["ETag"] = conditions.record_etag(result.id, result.version, body)
    elif result.content_etag:
        headers["ETag"] = conditions.digest_etag(body)
    if operation.succeeds_with_created_or_accepted and status == operation.success:
        path_values = {**request.parameters, **ctx.container_ids_by_parameter}
        collection_path = (
            operation.collection_path.format_map(path_values) if operation.collection_path else request.path
        )
        suffix = f"/{getattr(result, result.id_field)}" if result.id_field else ""
        headers["Location"] = request.base + collection_path + suffix
    return _apply_if_none_match(ctx, Response(status, body, headers, secret=secret))


def _apply_if_none_match(ctx: Context, response: Response) -> Response:
    """Return the response, or 304 if its tag is in the request's `If-None-Match`."""
    tag = response.headers.get("ETag")
    if ctx.operation.method == "GET" and tag and conditions.if_none_match(ctx.request, tag):
        return Response(_NOT_MODIFIED, headers={**ctx.headers, "ETag": tag})
    return response


def _build_raw_or_not_modified_response(request: Request, raw: RawResponse, status: int) -> Response:
    if isinstance(raw, ErrorDocument):
        return Response(raw.status, raw.text.encode(), {"Content-Type": raw.content_type, **raw.headers})
    body = b"" if raw.tag else raw.text.encode()
    tag = raw.tag or conditions.digest_etag(body)
    headers = {**raw.headers, "ETag": tag}
    if request.method == "GET" and conditions.if_none_match(request, tag):
        return Response(_NOT_MODIFIED, headers=headers)
    return Response(status, body or raw.text.encode(), {"Content-Type": raw.content_type, **headers})


def _build_page_response(ctx: Context, page: ListPage[Any]) -> Response:
    operation, request = ctx.operation, ctx.request
    serialized_items = [item for item in page.items if isinstance(item, bytes)]
    items_json = (
        b"[" + b",".join(serialized_items) + b"]"
        if serialized_items
        else _list_type_adapter(operation.response_or_item_model).dump_json(page.items, by_alias=True)
    )
    metadata = b"," + page.metadata.model_dump_json(by_alias=True).encode()[1:-1] if page.metadata else b""
    body = b'{"items":' + items_json + b',"nextCursor":' + to_json(page.next_cursor) + metadata + b"}"
    headers = {"Content-Type": "application/json", **ctx.headers}
    if operation.response_or_item_model and operation.response_or_item_model.no_store:
        headers["Cache-Control"] = "no-store"
    if page.next_cursor:
        headers["Link"] = f'<{request.path_with_changed_query(cursor=page.next_cursor)}>; rel="next"'
    if operation.has_etag:
        headers["ETag"] = conditions.digest_etag(body)
    return _apply_if_none_match(ctx, Response(operation.success, body, headers))


@cache
def _list_type_adapter(item: type[Output] | None) -> TypeAdapter[Any]:
    return TypeAdapter(list[item])  # type: ignore[valid-type]


def _commit_and_store_idempotent_response(
    ctx: Context,
    response: Response,
    idempotent_request: IdempotentRequest | None,
    rate_limit_states: Sequence[RateLimitState],
) -> None:
    idempotency_write = idempotent_request.response_write(response) if idempotent_request else None
    has_changes = not ctx.changes.is_empty
    if idempotency_write and not has_changes and len(response.body) > _MAX_STORED_BYTES:
        idempotency_write = None  # Nothing changed, so the request can simply be repeated.
    for state in rate_limit_states:
        ctx.changes.add_write(state.count_request_write())
    if has_changes:
        if unfenced_kinds := ctx.changes.record_kinds_lacking_epoch_check:
            raise ValueError(f"{ctx.operation.id} changes {sorted(unfenced_kinds)}: declare `grants_access=True`")
        outbox.commit(ctx.changes, ctx.audit_origin, idempotency_write)
    elif idempotency_write or rate_limit_states:
        ctx.changes.commit(idempotency_write)


def _back_off(started_at: float, attempt: int) -> None:
    """Wait before the next attempt, with full jitter. Raises Problem `conflict` after too many attempts.

    There is at least one further attempt. The limits suffice for 50 concurrent requests to one item.
    """
    seconds_left = started_at + _MAX_WAIT_SECONDS - time.monotonic()
    if (seconds_left <= 0 and attempt > 1) or attempt >= _MAX_ATTEMPTS:
        raise Problem(
            "conflict", "Concurrent requests keep changing the same record. Try again.", headers={"Retry-After": "1"}
        )
    sleep_with_jittered_backoff(
        attempt, first_seconds=_PAUSE_SECONDS, max_seconds=max(0, min(seconds_left, _MAX_PAUSE_SECONDS))
    )
