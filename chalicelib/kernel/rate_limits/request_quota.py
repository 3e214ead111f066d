"""Quota of all requests of a principal, counted across processes.

Requests without a valid credential, or with a rejected API key, are counted by client network in the same way.

Counting must be cheap. A process counts in memory and reserves batches from the table: at most one write per twenty
requests of a principal, and no read. Other processes do not know of the requests before the first write, so each of P
processes can exceed the limit by up to 19 requests.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitState, subject_digest
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey

BATCH_SIZE: Final = 20
"""Requests that a process reserves at once from the quota of a caller."""

WINDOW_SECONDS: Final = 60
"""Time to which the quota of requests applies."""

_WINDOW_MS: Final = WINDOW_SECONDS * 1000
_MAX_COUNTERS: Final = 1000
REQUESTS: Final = "requests"
FAILED_REQUESTS: Final = "failed-requests"
"""The limit of requests that write nothing, for operations whose other requests count by their volume."""
_ANONYMOUS: Final = "anonymous-requests"
_REJECTED_KEYS: Final = "refused-credentials"
_REJECTED_KEY: Final = "refused-credential"
NETWORK_LIMITS: Final = (_ANONYMOUS, _REJECTED_KEYS, _REJECTED_KEY)
"""Names of the limits that count by client network."""

_SHARES_PER_NETWORK: Final = 5
"""Number of equal shares of a network's limit, of which a single rejected API key can use one.

So a program that repeats a revoked key does not exhaust the limit for others.
"""

_counters: dict[str, OrderedDict[str, "BatchReservingCounter"]] = {}
_counters_lock: Final = Lock()


def count_and_limit_request(principal_id: str) -> RateLimitState | None:
    """Count a request of a principal and return the state of its bucket, or None if there is no limit.

    Raises Problem `rate_limited` if the bucket is exhausted. If the table is unavailable, requests are not counted.
    """
    rate_limit = _principal_limit_or_none()
    if rate_limit is None:
        return None
    state = get_or_create_counter(rate_limit, principal_id).count_request_and_return_prior_state(rate_limit)
    if state.used >= rate_limit.limit:
        add_fields(limited=principal_id)
        raise state.problem
    return state


def refund(subject: str, state: RateLimitState) -> None:
    """Undo what the counter of a subject counted last, as if it had not been. `state`: the one before it."""
    get_or_create_counter(state.rate_limit, subject).refund(state)


def count_failed_request(principal_id: str, organization_id: str) -> None:
    """Count a request that wrote nothing, as `check_failed_request_rate` describes it."""
    if rate_limit := _principal_limit_or_none(FAILED_REQUESTS):
        counter = get_or_create_counter(rate_limit, _failed_request_subject(principal_id, organization_id))
        counter.count_request_and_return_prior_state(rate_limit)


def check_failed_request_rate(principal_id: str, organization_id: str) -> None:
    """Reject a request of a principal that sent too many requests in this window that wrote nothing.

    It counts nothing. `organization_id`: the organization for which they count separately, or an empty text if they
    count together for all organizations. Raises Problem `rate_limited`.
    """
    if rate_limit := _principal_limit_or_none(FAILED_REQUESTS):
        counter = get_or_create_counter(rate_limit, _failed_request_subject(principal_id, organization_id))
        state = counter.state_without_counting(rate_limit)
        if state.used >= rate_limit.limit:
            add_fields(limited=principal_id)
            raise rate_limit.exceeded_problem(
                state.reset_after_seconds, _failed_requests_detail(state, is_for_organization=bool(organization_id))
            )


def count_and_limit_anonymous_request(network: str) -> None:
    """Count a request without a valid credential by its client network.

    Raises Problem `rate_limited` if the network's bucket is exhausted.
    """
    if rate_limit := _network_limit_or_none(_ANONYMOUS):
        state = get_or_create_counter(rate_limit, network).count_request_and_return_prior_state(rate_limit)
        if state.used >= rate_limit.limit:
            add_fields(limited="network")
            raise state.problem


def count_rejected_key(secret: str, network: str) -> None:
    """Count a request with a rejected API key by the digest of the secret and by the client network."""
    for rate_limit, subject in _rejected_key_limits(secret, network):
        get_or_create_counter(rate_limit, subject).count_request_and_return_prior_state(rate_limit)


def check_rejected_key_rate(secret: str, network: str) -> None:
    """Reject the lookup of an API key that this process has not accepted, if too many were rejected in this window.

    It counts nothing. Raises Problem `rate_limited`.
    """
    for rate_limit, subject in _rejected_key_limits(secret, network):
        state = get_or_create_counter(rate_limit, subject).state_without_counting(rate_limit)
        if state.used >= rate_limit.limit:
            add_fields(limited="network")
            detail = f"Too many requests were sent with a rejected API key. Try again in {state.reset_after_seconds} s."
            raise rate_limit.exceeded_problem(state.reset_after_seconds, detail)


def window_counter_key(name: str, subject_hash: str, end: str) -> ItemKey:
    """Return the key of the item that counts a subject's requests in a window."""
    return f"Y#{name}#{subject_hash}", end


def reset() -> None:
    """Clear all counters, as in a new process."""
    _counters.clear()


def _failed_request_subject(principal_id: str, organization_id: str) -> str:
    return f"{principal_id}#{organization_id}" if organization_id else principal_id


def _failed_requests_detail(state: RateLimitState, *, is_for_organization: bool) -> str:
    scope = " for this organization" if is_for_organization else ""
    return (
        f"{state.rate_limit.limit} requests in {WINDOW_SECONDS} s wrote nothing{scope}: they were not valid, were"
        " repeated, or exceeded a limit of the volume. Correct the requests, wait for `Retry-After` after each 429, and"
        f" try again in {state.reset_after_seconds} s."
    )


def _principal_limit_or_none(name: str = REQUESTS) -> RateLimit | None:
    limit = settings().requests_per_minute
    return RateLimit(name, limit=limit, seconds=WINDOW_SECONDS, per="principal") if limit else None


def _network_limit_or_none(name: str, divisor: int = 1) -> RateLimit | None:
    limit = settings().network_requests_per_minute
    return RateLimit(name, limit=max(1, limit // divisor), seconds=WINDOW_SECONDS, per="network") if limit else None


def _rejected_key_limits(secret: str, network: str) -> list[tuple[RateLimit, str]]:
    """Return the limits of requests with a rejected API key, each with its subject.

    A secret counts within its network only, because its rightful owner may be in another.
    """
    by_secret = _network_limit_or_none(_REJECTED_KEY, _SHARES_PER_NETWORK)
    by_network = _network_limit_or_none(_REJECTED_KEYS)
    return [(by_secret, f"{secret}#{network}"), (by_network, network)] if by_secret and by_network else []


def get_or_create_counter(rate_limit: RateLimit, subject: str) -> "BatchReservingCounter":
    """Return this process's counter of a subject. Counters that have not been used for long are discarded."""
    with _counters_lock:
        counters = _counters.setdefault(rate_limit.name, OrderedDict())
        counter = counters.get(subject) or counters.setdefault(
            subject, BatchReservingCounter(rate_limit.name, subject_digest(subject))
        )
        counters.move_to_end(subject)
        if len(counters) > _MAX_COUNTERS:
            counters.popitem(last=False)
        return counter


@dataclass
class BatchReservingCounter:
    """This process's counts for a subject in the window that ends at `ends_at_ms`.

    It counts requests, or amounts of something else. `seen`: the amount since the last write, including what was
    rejected and that of earlier windows. `reserved`: the total of all processes at the last write; `remaining`: this
    process's unused part of it. `unreported`: the amount that was allowed without a reservation.
    """

    name: str
    subject_digest: str
    ends_at_ms: int = 0
    seen: int = 0
    reserved: int = 0
    remaining: int = 0
    unreported: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def used_amount(self) -> int:
        """Return the used amount as far as this process knows."""
        return self.reserved + self.unreported - self.remaining

    def count_request_and_return_prior_state(self, rate_limit: RateLimit) -> RateLimitState:
        """Count a request, and return the state of the bucket before it. An exhausted bucket stays unchanged."""
        state, _ = self.try_count(rate_limit, 1, BATCH_SIZE)
        return state

    def try_count(self, rate_limit: RateLimit, amount: int, batch: int) -> tuple[RateLimitState, bool]:
        """Count an amount if the limit allows it. Return the state before it, and whether it was counted.

        An amount above the whole limit is allowed if nothing has been used. `batch`: how much is reserved at once, and
        the amount that is allowed without a reservation.
        """
        with self.lock:
            now_milliseconds = self._enter_current_window()
            self.seen += amount
            if self.remaining < amount and self.seen >= batch and self.used_amount < rate_limit.limit:
                self._reserve_batch(rate_limit, max(batch, amount - self.remaining))
            state = self._state_at(now_milliseconds, rate_limit, amount)
            is_allowed = amount <= self.remaining or state.used + amount <= rate_limit.limit or state.used <= 0
            if is_allowed:
                from_reservation = min(amount, self.remaining)
                self.remaining -= from_reservation
                self.unreported += amount - from_reservation
            return state, is_allowed

    def state_without_counting(self, rate_limit: RateLimit) -> RateLimitState:
        """Return the state of the bucket as far as this process knows."""
        with self.lock:
            return self._state_at(self._enter_current_window(), rate_limit)

    def refund(self, state: RateLimitState) -> None:
        """Undo the counting of a request, or of an amount, unless its window has ended. `state`: the one before it."""
        with self.lock:
            if state.resets_at != timestamp(self.ends_at_ms):
                return
            from_unreported = min(state.amount, self.unreported)
            self.unreported -= from_unreported
            self.remaining += state.amount - from_unreported

    def _enter_current_window(self) -> int:
        """Start a new window if the last one has ended, and return the current time in milliseconds."""
        now_milliseconds = now_ms()
        # Each subject's windows start at a different second, so that not all reset at once.
        offset = int(self.subject_digest, 16) % _WINDOW_MS
        window_end_ms = now_milliseconds - (now_milliseconds - offset) % _WINDOW_MS + _WINDOW_MS
        if window_end_ms != self.ends_at_ms:
            self.ends_at_ms, self.reserved, self.remaining, self.unreported = window_end_ms, 0, 0, 0
        return now_milliseconds

    def _state_at(self, now_milliseconds: int, rate_limit: RateLimit, amount: int = 1) -> RateLimitState:
        used, resets_at = self.used_amount, timestamp(self.ends_at_ms)
        return RateLimitState(rate_limit, self._counter_item_key, timestamp(now_milliseconds), used, resets_at, amount)

    def _reserve_batch(self, rate_limit: RateLimit, batch: int) -> None:
        """Report the unreported amount and reserve a batch, which may be smaller or empty.

        If that fails, the next batch stays unreported. If it succeeded although the response was lost, the batch is
        counted twice.
        """
        self.seen = 0
        batch = min(batch, rate_limit.limit - self.used_amount)
        with log_and_ignore_aws_errors("uncounted"):
            ttl = self.ends_at_ms // 1000 + WINDOW_SECONDS
            total = table.increment(self._counter_item_key, "used", self.unreported + batch, ttl=ttl)
            unused, self.unreported = self.remaining, 0
            self.reserved = min(total, rate_limit.limit)
            self.remaining = unused + max(0, min(batch, rate_limit.limit - (total - batch)))

    @property
    def _counter_item_key(self) -> ItemKey:
        return window_counter_key(self.name, self.subject_digest, timestamp(self.ends_at_ms))
