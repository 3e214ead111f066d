"""Rate limits that operations declare, for principals, organizations, client networks and recipients.

A window starts with its first request. The bucket is read with the authorization and updated in the mutation's own
transaction, so it takes no further round trip and one write per limit. A rejected request does not count. If the
operation has effects outside of the table, such as sending a message, a separate write counts the request before these
effects, whatever their result.

`request_quota` counts all requests in batches.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

Scope = Literal["principal", "organization", "network", "recipient"]
"""Whose requests count together.

They are those of one user or API key, of one organization, of one client network (an IPv4 address or a 64-bit IPv6
network), or those that send something to one recipient.
"""


@dataclass(frozen=True)
class RateLimit:
    """At most `limit` requests in `seconds`, counted per scope."""

    name: str
    limit: int
    seconds: int
    per: Scope

    def bucket_for(self, subject: str) -> "RateLimitBucket":
        """Return the bucket of a principal, organization, network or recipient."""
        return RateLimitBucket(self, (f"Y#{self.name}#{subject_digest(subject)}", "#"))

    def headers(self, remaining: int, reset_after_seconds: int) -> dict[str, str]:
        """Return the response headers for a bucket of this limit (draft-ietf-httpapi-ratelimit-headers)."""
        return {
            "RateLimit": f'"{self.name}";r={remaining};t={reset_after_seconds}',
            "RateLimit-Policy": f'"{self.name}";q={self.limit};w={self.seconds}',
        }

    def exceeded_problem(self, reset_after_seconds: int, detail: str = "") -> Problem:
        """Return 429 with the time of the reset."""
        times = "once" if self.limit == 1 else f"{self.limit} times"
        detail = detail or f"This is allowed {times} in {self.seconds} s. Try again in {reset_after_seconds} s."
        headers = {"Retry-After": str(reset_after_seconds), **self.headers(0, reset_after_seconds)}
        return Problem("rate_limited", detail, headers=headers)


@dataclass(frozen=True)
class RateLimitBucket:
    """The bucket of one subject, and the key of its item."""

    rate_limit: RateLimit
    key: ItemKey

    def state_or_raise_if_exhausted(self, item: Item | None, timestamp: str) -> "RateLimitState":
        """Return the state of the bucket at a time. Raises Problem `rate_limited` if it is exhausted.

        A new window starts with the first request after the previous one has ended.
        """
        if item is None or item["until"] <= timestamp:
            return RateLimitState(
                self.rate_limit, self.key, timestamp, 0, after(timestamp, seconds=self.rate_limit.seconds)
            )
        state = RateLimitState(self.rate_limit, self.key, timestamp, int(item["used"]), item["until"])
        if state.used >= self.rate_limit.limit:
            raise state.problem
        return state


@dataclass(frozen=True)
class RateLimitState:
    """The state of a bucket at a time: how many requests are `used`, and when it `resets_at`.

    `amount`: what the current request counts, which is more than 1 if something else than requests is counted.
    """

    rate_limit: RateLimit
    key: ItemKey
    timestamp: str
    used: int
    resets_at: str
    amount: int = 1

    @property
    def reset_after_seconds(self) -> int:
        """Return the whole seconds until it is reset."""
        return max(1, ceil((timestamp_ms(self.resets_at) - timestamp_ms(self.timestamp)) / 1000))

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the response headers, with the current request counted."""
        remaining = max(0, self.rate_limit.limit - self.used - self.amount)
        return self.rate_limit.headers(remaining, self.reset_after_seconds)

    @property
    def problem(self) -> Problem:
        """Return the problem for an exhausted bucket."""
        return self.rate_limit.exceeded_problem(self.reset_after_seconds)

    def count_request_write(self) -> Write:
        """Return the write that counts the request, on condition that the bucket is not exhausted by then."""
        if not self.used:
            ttl = ceil(timestamp_ms(self.resets_at) / 1000)
            item = {"pk": self.key[0], "sk": self.key[1], "used": 1, "until": self.resets_at, "ttl": ttl}
            return Write(
                "Put",
                self.key,
                item=item,
                condition="attribute_not_exists(#pk) OR #until <= :timestamp",
                names=["pk", "until"],
                values={"timestamp": self.timestamp},
            )
        update = ItemUpdate(self.key, increment={"used": 1})
        return update.to_write("#until = :until AND #used < :limit", until=self.resets_at, limit=self.rate_limit.limit)


def count_request_in_own_transaction(states: Sequence[RateLimitState]) -> None:
    """Count a request now, in a separate transaction, before an irreversible effect.

    Raises ConcurrentModification if another request was counted concurrently. Then read the buckets again.
    """
    if not states:
        return
    try:
        table.write_transaction([state.count_request_write() for state in states])
    except TransactionCancelled as cancelled:
        raise ConcurrentModification from cancelled


def subject_digest(subject: str) -> str:
    """Return the digest that stands for a subject in the keys of its buckets."""
    return hashlib.sha256(subject.encode()).hexdigest()[:32]


def with_joined_rate_limit_headers(headers: Mapping[str, str], state: RateLimitState) -> dict[str, str]:
    """Return the headers with those of one more bucket. All buckets are members of one list."""
    merged = {name: ", ".join(filter(None, [headers.get(name), value])) for name, value in state.headers.items()}
    return {**headers, **merged}
