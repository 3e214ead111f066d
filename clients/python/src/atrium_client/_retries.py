"""Repeats requests after failures that may pass: those of the network and the service, and too many requests."""

from typing import Any, Final

from tenacity import AsyncRetrying, RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from atrium_client.errors import ApiProblem, ConnectionFailed, RateLimited, ServiceUnavailable

_BACKOFF: Final = wait_exponential(multiplier=0.25, max=8) + wait_random(0, 0.25)


def create_retrying(max_retries: int, max_retry_after: float) -> Retrying:
    """Return what calls a function until it succeeds or its error is final, and then raises that error."""
    return Retrying(**_options(max_retries, max_retry_after))


def create_async_retrying(max_retries: int, max_retry_after: float) -> AsyncRetrying:
    """Return the same for asynchronous functions."""
    return AsyncRetrying(**_options(max_retries, max_retry_after))


def _options(max_retries: int, max_retry_after: float) -> dict[str, Any]:
    can_pass = retry_if_exception(lambda error: _can_pass(error, max_retry_after))
    return {"stop": stop_after_attempt(max_retries + 1), "wait": _wait, "retry": can_pass, "reraise": True}


def _can_pass(error: BaseException, max_retry_after: float) -> bool:
    if isinstance(error, ApiProblem) and error.retry_after is not None and error.retry_after > max_retry_after:
        return False
    # idempotency_in_progress: the first attempt of this POST, whose answer was lost, is still at work.
    is_in_progress = isinstance(error, ApiProblem) and error.code == "idempotency_in_progress"
    return is_in_progress or isinstance(error, ConnectionFailed | RateLimited | ServiceUnavailable)


def _wait(state: RetryCallState) -> float:
    """Return how many seconds to wait: as the service says, or twice as long each time with jitter."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ApiProblem) and error.retry_after is not None:
        return error.retry_after
    return _BACKOFF(state)
