"""Rate limits: how many requests a principal, an organization or a client's network may make in a time.

An operation declares its limits. A time begins with the first request. What is used up is read along with what decides
access, and counted in the mutation's own transaction: so it costs no round trip, and one write for each limit. A
request that is refused, for whatever reason, uses up nothing. Where the operation does something that can't be taken
back, such as sending a message, it is counted before that, by a write of its own: whatever becomes of the request.

That of all requests counts each, in batches: `leases`.
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
"""Whose requests count together: those of one user or API key, of one organization whoever asks, of one client's
network (an address of IPv4, a network of 64 bits of IPv6), or those that send something to one recipient."""


@dataclass(frozen=True)
class RateLimit:
    """What may be asked for `most` times in so many seconds, by all that is of one scope."""

    name: str
    limit: int
    seconds: int
    per: Scope

    def bucket_for(self, whose: str) -> "RateLimitBucket":
        """Return the budget of one principal, organization, network or recipient, by what identifies it."""
        return RateLimitBucket(self, (f"Y#{self.name}#{digest(whose)}", "#"))


@dataclass(frozen=True)
class RateLimitBucket:
    """Somebody's own budget, and where it is counted what they have used up."""

    rate_limit: RateLimit
    key: ItemKey

    def state(self, item: Item | None, moment: str) -> "RateLimitState":
        """Return what the item at the key says at a moment. Raises Problem `rate_limited` if nothing is left.

        The next time begins with the first request after the one before has ended.
        """
        if item is None or item["until"] <= moment:
            return RateLimitState(self.rate_limit, self.key, moment, 0, after(moment, seconds=self.rate_limit.seconds))
        share = RateLimitState(self.rate_limit, self.key, moment, int(item["used"]), item["until"])
        if share.used >= self.rate_limit.limit:
            raise share.problem
        return share

    def state_if_left(self, item: Item | None, moment: str) -> "RateLimitState | None":
        """Return what the item at the key says at a moment; None if nothing is left."""
        try:
            return self.state(item, moment)
        except Problem:
            return None


@dataclass(frozen=True)
class RateLimitState:
    """What somebody has left of a budget at a moment: `used` up, of what is refilled at `until`."""

    rate_limit: RateLimit
    key: ItemKey
    moment: str
    used: int
    until: str

    @property
    def reset_after_seconds(self) -> int:
        """Whole seconds until it is refilled."""
        return max(1, ceil((timestamp_ms(self.until) - timestamp_ms(self.moment)) / 1000))

    @property
    def headers(self) -> Mapping[str, str]:
        """What an answer says of it, this request being counted."""
        budget = self.rate_limit
        return _headers(
            budget.name, budget.limit, budget.seconds, budget.limit - self.used - 1, self.reset_after_seconds
        )

    @property
    def problem(self) -> Problem:
        """The problem that a request is answered with when nothing is left."""
        return rate_limited(
            self.rate_limit.name, self.rate_limit.limit, self.rate_limit.seconds, self.reset_after_seconds
        )

    def write(self) -> Write:
        """Return the write that counts this request, on condition that no other one has used the last of it."""
        if not self.used:
            ttl = ceil(timestamp_ms(self.until) / 1000)
            item = {"pk": self.key[0], "sk": self.key[1], "used": 1, "until": self.until, "ttl": ttl}
            return Write(
                "Put",
                self.key,
                item=item,
                condition="attribute_not_exists(#pk) OR #until <= :moment",
                names=["pk", "until"],
                values={"moment": self.moment},
            )
        update = ItemUpdate(self.key, increment={"used": 1})
        return update.write("#until = :until AND #used < :most", until=self.until, most=self.rate_limit.limit)


def charge(shares: Sequence[RateLimitState]) -> None:
    """Count a request now, by a transaction of its own, before it does what can't be taken back.

    Raises ConcurrentModification if another request was counted at the same moment: what is left has to be read again.
    """
    if not shares:
        return
    try:
        table.write_transaction([share.write() for share in shares])
    except TransactionCancelled as cancelled:
        raise ConcurrentModification from cancelled


def digest(whose: str) -> str:
    """Return what stands for somebody in the keys of their budgets."""
    return hashlib.sha256(whose.encode()).hexdigest()[:32]


def merge_rate_limit_headers(headers: Mapping[str, str], share: RateLimitState) -> dict[str, str]:
    """Return the headers of an answer that says of one more budget: all that apply are members of one list."""
    joined = {name: ", ".join(filter(None, [headers.get(name), value])) for name, value in share.headers.items()}
    return {**headers, **joined}


def rate_limited(name: str, limit: int, seconds: int, reset_after_seconds: int, detail: str = "") -> Problem:
    """Return a 429 that says when there is something left again (draft-ietf-httpapi-ratelimit-headers)."""
    times = "once" if limit == 1 else f"{limit} times"
    detail = detail or f"This can be asked for {times} in {seconds} s. Try again in {reset_after_seconds} s."
    headers = {"Retry-After": str(reset_after_seconds), **_headers(name, limit, seconds, 0, reset_after_seconds)}
    return Problem("rate_limited", detail, headers=headers)


def _headers(name: str, most: int, seconds: int, remaining: int, left_seconds: int) -> Mapping[str, str]:
    return {
        "RateLimit": f'"{name}";r={remaining};t={left_seconds}',
        "RateLimit-Policy": f'"{name}";q={most};w={seconds}',
    }
