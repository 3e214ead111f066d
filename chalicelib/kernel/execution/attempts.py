"""Authorizes and performs an operation, in several attempts if concurrent requests conflict."""

import time
from collections.abc import Mapping
from typing import Final

from chalicelib.kernel.authorization.access import Access, authorize
from chalicelib.kernel.authorization.principal_types import reject_principal_type
from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.clock import now, sleep_with_jittered_backoff
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.commits import commit_and_store_idempotent_response
from chalicelib.kernel.execution.context import Context, ExternalEffect
from chalicelib.kernel.execution.handler_calls import run_handler_within_size_limit
from chalicelib.kernel.execution.idempotency import IdempotentRequest
from chalicelib.kernel.execution.rate_limit_subjects import RateLimitUsage
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.identity import last_used
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.rate_limits.buckets import Scope, with_joined_rate_limit_headers
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import IdempotencyKeyConflict

_MAX_WAIT_SECONDS: Final = 10.0
"""Time during which a request is retried after conflicts. Then the response is `conflict`."""

_MAX_ATTEMPTS: Final = 20
"""Attempts of a request after conflicts. Then the response is `conflict`."""

_PAUSE_SECONDS: Final = 0.02
_MAX_PAUSE_SECONDS: Final = 0.64


def authorize_and_run_with_retries(request_input: RequestInput, usage: RateLimitUsage) -> Response:
    """Return the response to a request, after further attempts if concurrent requests conflict. Raises Problem.

    The volume of a request that writes nothing does not count. After a 5xx, the events may have been written.
    """
    effect = ExternalEffect()
    try:
        response = _run_attempts(request_input, usage, effect)
    except Problem as problem:
        if not problem.is_server_error:
            effect.refund_volume()
        raise
    if response.is_replay:
        effect.refund_volume()
    return response


def _run_attempts(request_input: RequestInput, usage: RateLimitUsage, effect: ExternalEffect) -> Response:
    operation, request, caller = request_input.operation, request_input.request, usage.caller
    reject_principal_type(operation, caller, request.ip)
    idempotent_request = IdempotentRequest.from_request(operation, request, caller.id)
    subjects: dict[Scope, str] = {"principal": caller.id, "network": ip_networks.client_network(request.ip)}
    known_buckets = operation.rate_limit_buckets(subjects)  # The organization is not known yet.
    started_at, attempt = time.monotonic(), 0
    while True:
        access = authorize(request_input, caller, [each.key for each in (idempotent_request, *known_buckets) if each])
        usage.ensure_counted_against_key()
        add_fields(tenant=access.container.audit_log_id if access.container else None)
        if idempotent_request and (
            stored := idempotent_request.replayed_response_or_none(access.items.get(idempotent_request.key))
        ):
            return stored
        last_used.write_last_used_in_background(access.principal)
        ctx = Context(request_input, access, now(), attempt, effect)
        try:
            return _run_handler_and_commit_once(ctx, access, idempotent_request, subjects)
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
    ctx: Context, access: Access, idempotent_request: IdempotentRequest | None, subjects: Mapping[Scope, str]
) -> Response:
    buckets = ctx.operation.rate_limit_buckets({**subjects, "organization": access.outermost_container_pk})
    states = ctx.effect.rate_limit_states or [
        bucket.state_or_raise_if_exhausted(access.items.get(bucket.key), ctx.now) for bucket in buckets
    ]
    response = run_handler_within_size_limit(ctx, access, states)
    for state in [*states, *(ctx.effect.volume_states or ())]:
        response.headers = with_joined_rate_limit_headers(response.headers, state)
    counted_states = [] if ctx.operation.has_external_effects else states
    commit_and_store_idempotent_response(ctx, response, idempotent_request, counted_states)
    return response


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
