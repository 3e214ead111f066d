"""The pipeline: what surrounds every operation, from the request to the answer, in the order it happens."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from chalicelib.kernel.authorization.access import Access, authorize, reject_principal_type
from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.clock import back_off, now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution import conditions, envelope
from chalicelib.kernel.execution.context import Context, ExternalEffect
from chalicelib.kernel.execution.idempotency import IdempotentRequest
from chalicelib.kernel.execution.rate_limit_subjects import RateLimitUsage
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.models import Output, Patch, RecordOutput
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity import last_used
from chalicelib.kernel.identity.auth import UnverifiedApiKey
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import ListPage, RawResponse, Redirect
from chalicelib.kernel.rate_limits.buckets import RateLimitBucket, RateLimitState, Scope, merge_rate_limit_headers
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.unit_of_work import IdempotencyKeyConflict
from chalicelib.kernel.work import outbox

_MAX_WAIT_SECONDS: Final = 10.0
_MAX_ATTEMPTS: Final = 20
_PAUSE_SECONDS: Final = 0.02
_MAX_PAUSE_SECONDS: Final = 0.64
_NOT_MODIFIED: Final = 304
_MAX_STORED_BYTES: Final = 256 * 1024
"""Of an answer that is kept for a repeated request: an item of the table holds 400 KB."""
_AFTER_CONDITIONS: Final = (409, 429)
"""What an operation finds wrong with a record's state: that it is not the one the caller saw comes before."""


def execute(operation: Operation, request: Request) -> Response:
    """Perform an operation and return its answer.

    Raises Problem; nothing has changed then, unless the table did not answer (`unavailable`): then nobody knows.
    """
    _check_version(request)
    usage = RateLimitUsage.begin(request)
    add_fields(principal="api_key" if isinstance(usage.caller, UnverifiedApiKey) else usage.caller.actor["type"])
    try:
        response = _execute(operation, request, usage)
    except Problem as problem:
        usage.record_problem(problem)
        raise
    usage.add_headers(response)
    return response


def _execute(operation: Operation, request: Request, usage: RateLimitUsage) -> Response:
    caller = usage.caller
    reject_principal_type(operation, caller, request.ip)
    once = IdempotentRequest.of(request, caller.id)
    once = once if operation.mutates else None  # What changes nothing can as well be asked for again.
    subjects: dict[Scope, str] = {"principal": caller.id, "network": ip_networks.client_network(request.ip)}
    known = _rate_limit_buckets(operation, subjects)  # That of the organization follows from the place.
    began, attempt, effect = time.monotonic(), 0, ExternalEffect()
    while True:
        access = authorize(operation, request, caller, [each.key for each in (once, *known) if each])
        usage.accept()
        add_fields(tenant=access.container.log if access.container else None)
        if once and (stored := once.replay(access.prefetched.get(once.key))):
            return stored
        last_used.note_last_used(access.principal)
        ctx = _context(operation, request, access, attempt, effect)
        buckets = _rate_limit_buckets(operation, {**subjects, "organization": access.tenant})
        states = effect.rate_limit_states or [
            bucket.state(access.prefetched.get(bucket.key), ctx.now) for bucket in buckets
        ]
        try:
            response = _execute_handler(ctx, access, states)
            for state in states:
                response.headers = merge_rate_limit_headers(response.headers, state)
            _commit(ctx, response, once, [] if operation.has_external_effects else states)
        except ConcurrentModification:
            attempt += 1
            _wait(began, attempt)
        except IdempotencyKeyConflict as taken:
            if once and (stored := once.replay(taken.item)):
                return stored
            raise Problem("idempotency_in_progress", "The same request is under way. Try again in a moment.") from taken
        except Problem as problem:
            # A slug that the caller didn't choose is chosen again, once.
            if not (ctx.has_derived_slug and problem.code == "slug_taken" and attempt == 0):
                raise
            attempt += 1
        else:
            return response


def _context(operation: Operation, request: Request, access: Access, attempt: int, effect: ExternalEffect) -> Context:
    ctx = Context(operation, request, access, now(), attempt, effect)
    ctx.headers |= {"Cache-Control": operation.cache_control} if operation.cache_control else {}
    ctx.changes.chains = access.chains
    if operation.grants_access and access.container:
        ctx.fence(access.tenant, access.prefetched, access.granting_records)
    return ctx


def _rate_limit_buckets(operation: Operation, subjects: Mapping[Scope, str]) -> list[RateLimitBucket]:
    """Return where an operation's requests are counted, as far as it is known whose they are."""
    return [budget.bucket_for(subjects[budget.per]) for budget in operation.rate_limits if budget.per in subjects]


def _check_version(request: Request) -> None:
    wanted = request.headers.get("api-version")
    if wanted not in (None, API_VERSION):
        detail = f"This service speaks version {API_VERSION}; send that, or no API-Version at all."
        raise Problem.for_field("header/API-Version", "unknown_api_version", detail)


def _execute_handler(ctx: Context, access: Access, shares: Sequence[RateLimitState]) -> Response:
    """Return the answer to a request. A list whose page Lambda would not take ends it before that.

    Such a page is asked for again, with as many items as fit: so its cursor follows from the last of them, however the
    list is read. Raises Problem `limit_exceeded` if not even one item fits, or an answer that is no list.
    """
    while True:
        answer = _call_handler(ctx, access, shares)
        response = _build_response(ctx, answer)
        if envelope.fits_envelope(response):
            return response
        fitting = _count_fitting(ctx, answer, response)
        if not fitting:
            raise envelope.response_too_large(ctx.operation)
        ctx.page_limit = fitting


def _count_fitting(ctx: Context, answer: Any, response: Response) -> int:
    """Return with how many items an answer that is too large is to be asked for again; 0 if that is of no use."""
    if not isinstance(answer, ListPage) or ctx.operation.mutates or ctx.operation.query is None:
        return 0
    rest = _serialize_page(ctx, ListPage([], answer.next_cursor, answer.metadata))
    items = [
        item
        if isinstance(item, bytes)
        else _serialize_items(ctx.operation.response_model).dump_json([item], by_alias=True)
        for item in answer.items
    ]
    fewer = len(items) - 1 if ctx.page_limit is None else ctx.page_limit - 1
    rest.headers = rest.headers | response.headers
    return min(envelope.count_fitting_items(items, rest), fewer)


def _call_handler(ctx: Context, access: Access, shares: Sequence[RateLimitState]) -> Any:
    operation = ctx.operation
    subject = _target_record(operation, access)
    arguments: dict[str, Any] = {name: ctx.request.parameters[name] for name in operation.plain_arguments}
    arguments |= access.records
    if operation.container_argument:
        arguments[operation.container_argument] = access.container
    arguments |= _parse_input(ctx, subject)
    if operation.has_external_effects:
        _check_condition(ctx, subject)
        ctx.effect.charge(shares)
    try:
        answer = operation.function(ctx, **arguments)
    except Problem as problem:
        if problem.status in _AFTER_CONDITIONS:
            _check_condition(ctx, subject)
        raise
    _check_condition(ctx, subject)
    return answer


def _check_condition(ctx: Context, subject: Entity | None) -> None:
    if ctx.operation.is_conditional and conditions.check_if_match(ctx.request, subject) and subject:
        ctx.changes.require_unchanged(subject)


def _target_record(operation: Operation, access: Access) -> Entity | None:
    """Return the record that the path names, if it is there: what conditions and a merge patch are about.

    Of several that is the one that is answered or, where none is, the last.
    """
    if not access.records:
        return access.container
    answered = (
        name
        for name, kind in operation.records.items()
        if operation.response_model and kind.output_model is operation.response_model
    )
    return access.records[next(answered, [*access.records][-1])]


def _parse_input(ctx: Context, subject: Entity | None) -> dict[str, Any]:
    operation = ctx.operation
    parsed: dict[str, Any] = {}
    if operation.query:
        query = validation.validate_query(operation.query, ctx.request)
        parsed["query"] = query.model_copy(update={"limit": ctx.page_limit}) if ctx.page_limit else query
    if operation.method in ("POST", "PUT", "PATCH"):
        body = validation.validate_body(
            operation.body, ctx.request, _patch_base(operation, subject), form=operation.accepts_form
        )
        if operation.body:
            validation.reject_misplaced_fields(operation.body, operation.query, ctx.request)
            parsed["body"] = body
    return parsed


def _patch_base(operation: Operation, subject: Entity | None) -> Mapping[str, Any] | None:
    """Return what a merge patch is merged into."""
    if subject is None or operation.body is None or not issubclass(operation.body, Patch):
        return None
    shown = outbox.public_view(subject)
    return shown[operation.body.part] or {} if operation.body.part else shown


def _build_response(ctx: Context, answer: Any) -> Response:
    operation, request = ctx.operation, ctx.request
    status = operation.existing_status if ctx.already_existed and operation.existing_status else operation.success
    if answer is None:
        return Response(status)
    if isinstance(answer, Redirect):
        base = request.base if answer.location.startswith("/") else ""
        return Response(answer.status, headers={**ctx.headers, "Location": base + answer.location})
    if isinstance(answer, RawResponse):
        return _build_raw_response(request, answer, status)
    if isinstance(answer, ListPage):
        return _serialize_page(ctx, answer)
    body = answer.model_dump_json(by_alias=True).encode()
    headers = {"Content-Type": "application/json", **ctx.headers}
    secret = answer.no_store or any(getattr(answer, name) for name in answer.secret_fields)
    if secret:
        headers["Cache-Control"] = "no-store"
    if isinstance(answer, RecordOutput):
        headers["ETag"] = conditions.entity_tag(answer.id, answer.version, body)
    elif answer.content_etag:
        headers["ETag"] = conditions.digest_tag(body)
    if operation.creates and status == operation.success:
        names = {**request.parameters, **ctx.ids}
        listed_at = operation.collection_path.format_map(names) if operation.collection_path else request.path
        name = f"/{getattr(answer, answer.id_field)}" if answer.id_field else ""
        headers["Location"] = request.base + listed_at + name
    return _apply_if_none_match(ctx, Response(status, body, headers, secret=secret))


def _apply_if_none_match(ctx: Context, response: Response) -> Response:
    """Return an answer, or 304 in its place if the caller has it already."""
    tag = response.headers.get("ETag")
    if ctx.operation.method == "GET" and tag and conditions.if_none_match(ctx.request, tag):
        return Response(_NOT_MODIFIED, headers={**ctx.headers, "ETag": tag})
    return response


def _build_raw_response(request: Request, answer: RawResponse, status: int) -> Response:
    body = b"" if answer.tag else answer.text.encode()
    tag = answer.tag or conditions.digest_tag(body)
    headers = {**answer.headers, "ETag": tag}
    if request.method == "GET" and conditions.if_none_match(request, tag):
        return Response(_NOT_MODIFIED, headers=headers)
    return Response(status, body or answer.text.encode(), {"Content-Type": answer.content_type, **headers})


def _serialize_page(ctx: Context, page: ListPage[Any]) -> Response:
    operation, request = ctx.operation, ctx.request
    ready = [item for item in page.items if isinstance(item, bytes)]
    listed = (
        b"[" + b",".join(ready) + b"]"
        if ready
        else _serialize_items(operation.response_model).dump_json(page.items, by_alias=True)
    )
    metadata = b"," + page.metadata.model_dump_json(by_alias=True).encode()[1:-1] if page.metadata else b""
    body = b'{"items":' + listed + b',"nextCursor":' + to_json(page.next_cursor) + metadata + b"}"
    headers = {"Content-Type": "application/json", **ctx.headers}
    if operation.response_model and operation.response_model.no_store:
        headers["Cache-Control"] = "no-store"
    if page.next_cursor:
        headers["Link"] = f'<{request.build_url(cursor=page.next_cursor)}>; rel="next"'
    if operation.has_etag:
        headers["ETag"] = conditions.digest_tag(body)
    return _apply_if_none_match(ctx, Response(operation.success, body, headers))


@cache
def _serialize_items(item: type[Output] | None) -> TypeAdapter[Any]:
    return TypeAdapter(list[item])  # type: ignore[valid-type]


def _commit(ctx: Context, response: Response, once: IdempotentRequest | None, shares: Sequence[RateLimitState]) -> None:
    idempotency_write, has_changes = once.write(response) if once else None, not ctx.changes.is_empty
    if idempotency_write and not has_changes and len(response.body) > _MAX_STORED_BYTES:
        idempotency_write = None  # It changed nothing: it can as well be asked for again.
    for share in shares:
        ctx.changes.add_write(share.write())
    if has_changes:
        if kinds := ctx.changes.unfenced_kinds:
            raise ValueError(f"{ctx.operation.id} changes {sorted(kinds)}: declare `grants_access=True`")
        outbox.commit(ctx.changes, ctx.changes.event or ctx.operation.emits[0], ctx.origin, idempotency_write)
    elif idempotency_write or shares:
        ctx.changes.commit(idempotency_write)


def _wait(began: float, attempt: int) -> None:
    """Wait before the work is done again: once at least, and so long that 50 at one item all have their turn.

    The pauses have full jitter.

    Raises Problem `conflict`.
    """
    left = began + _MAX_WAIT_SECONDS - time.monotonic()
    if (left <= 0 and attempt > 1) or attempt >= _MAX_ATTEMPTS:
        raise Problem("conflict", "Others keep changing it at this moment. Try again.", headers={"Retry-After": "1"})
    back_off(attempt, first_seconds=_PAUSE_SECONDS, max_seconds=max(0, min(left, _MAX_PAUSE_SECONDS)))
