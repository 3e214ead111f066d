"""Commits the changes of a request with its log entry and its idempotent response."""

from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.idempotency import IdempotentRequest
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.rate_limits.buckets import RateLimitState
from chalicelib.kernel.work import outbox

_MAX_STORED_BYTES: Final = 256 * 1024
"""Maximum size of the stored response to a request that changes nothing. An item can have 400 KB."""


def commit_and_store_idempotent_response(
    ctx: Context,
    response: Response,
    idempotent_request: IdempotentRequest | None,
    rate_limit_states: Sequence[RateLimitState],
) -> None:
    """Commit what the handler declared, the counts of rate limits, and the response if it is idempotent.

    Raises as `UnitOfWork.commit` does.
    """
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
