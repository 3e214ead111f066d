"""Limits of the volume that operations write for an organization, such as bytes a second, averaged over a minute.

They are counted as `request_quota` counts requests: a process reserves the volume of about one second at once. So at
the limit, each process makes one write per second. Up to the volume of one second a process counts in memory only.

Requests of operations with such limits do not count against the quota of requests. Those that write nothing, such as
invalid and repeated ones, do not use up the volume. They count against a quota of their own, `failed-requests`, so that
nobody can send any number of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitState
from chalicelib.kernel.rate_limits.request_quota import BATCH_SIZE, WINDOW_SECONDS, get_or_create_counter


@dataclass(frozen=True)
class VolumeLimit:
    """At most so much a second for each organization, averaged over a minute.

    `name`: in headers. `unit`: in problem details. `per_second`: the limit in the settings, 0 for no limit. `measure`:
    the volume of a valid request body.
    """

    name: str
    unit: str
    per_second: Callable[[], int]
    measure: Callable[[Any], int]

    @property
    def rate_limit_or_none(self) -> RateLimit | None:
        """Return the limit of a minute, or None if there is no limit."""
        limit = self.per_second() * WINDOW_SECONDS
        return RateLimit(self.name, limit=limit, seconds=WINDOW_SECONDS, per="organization") if limit else None

    @property
    def batch(self) -> int:
        """Return how much a process reserves at once."""
        return max(BATCH_SIZE, self.per_second())

    def exceeded_problem(self, state: RateLimitState) -> Problem:
        """Return 429 with the time of the reset."""
        seconds = state.reset_after_seconds
        detail = (
            f"An organization can write {self.per_second():,} {self.unit} a second, averaged over {WINDOW_SECONDS} s. "
            f"Nothing was written. Try again in {seconds} s."
        )
        return state.rate_limit.exceeded_problem(seconds, detail)


def count_volume(limits: Sequence[VolumeLimit], body: Any, subject: str) -> list[RateLimitState]:
    """Count the volume of a request body for an organization. Return the states of its buckets before it.

    Raises Problem `rate_limited` if a limit does not allow it. Then no limit has counted it. If the table is
    unavailable, volumes are counted in memory only.
    """
    counted = list[RateLimitState]()
    for limit in limits:
        rate_limit, amount = limit.rate_limit_or_none, limit.measure(body)
        if rate_limit is None:
            continue
        state, is_allowed = get_or_create_counter(rate_limit, subject).try_count(rate_limit, amount, limit.batch)
        if not is_allowed:
            refund_volume(counted, subject)
            add_fields(limited=limit.name)
            raise limit.exceeded_problem(state)
        counted.append(state)
    return counted


def refund_volume(states: Sequence[RateLimitState], subject: str) -> None:
    """Undo `count_volume`, which returned these states, for an organization, because nothing was written."""
    for state in states:
        request_quota.refund(subject, state)
