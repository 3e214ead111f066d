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

from chalicelib.kernel.core.clock import after, milliseconds
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, Key
from chalicelib.kernel.storage.table import Cancelled, Write

Scope = Literal["principal", "organization", "network", "recipient"]
"""Whose requests count together: those of one user or API key, of one organization whoever asks, of one client's
network (an address of IPv4, a network of 64 bits of IPv6), or those that send something to one recipient."""


@dataclass(frozen=True)
class Budget:
    """What may be asked for `most` times in so many seconds, by all that is of one scope."""

    name: str
    most: int
    seconds: int
    per: Scope

    def of(self, whose: str) -> "Purse":
        """Return the budget of one principal, organization, network or recipient, by what identifies it."""
        return Purse(self, (f"Y#{self.name}#{digest(whose)}", "#"))


@dataclass(frozen=True)
class Purse:
    """Somebody's own budget, and where it is counted what they have used up."""

    budget: Budget
    key: Key

    def share(self, item: Item | None, moment: str) -> "Share":
        """Return what the item at the key says at a moment. Raises Problem `rate_limited` if nothing is left.

        The next time begins with the first request after the one before has ended.
        """
        if item is None or item["until"] <= moment:
            return Share(self.budget, self.key, moment, 0, after(moment, seconds=self.budget.seconds))
        share = Share(self.budget, self.key, moment, int(item["used"]), item["until"])
        if share.used >= self.budget.most:
            raise share.refusal
        return share

    def share_if_left(self, item: Item | None, moment: str) -> "Share | None":
        """Return what the item at the key says at a moment; None if nothing is left."""
        try:
            return self.share(item, moment)
        except Problem:
            return None


@dataclass(frozen=True)
class Share:
    """What somebody has left of a budget at a moment: `used` up, of what is refilled at `until`."""

    budget: Budget
    key: Key
    moment: str
    used: int
    until: str

    @property
    def left_seconds(self) -> int:
        """Whole seconds until it is refilled."""
        return max(1, ceil((milliseconds(self.until) - milliseconds(self.moment)) / 1000))

    @property
    def headers(self) -> Mapping[str, str]:
        """What an answer says of it, this request being counted."""
        budget = self.budget
        return _headers(budget.name, budget.most, budget.seconds, budget.most - self.used - 1, self.left_seconds)

    @property
    def refusal(self) -> Problem:
        """The problem that a request is answered with when nothing is left."""
        return exhausted(self.budget.name, self.budget.most, self.budget.seconds, self.left_seconds)

    def write(self) -> Write:
        """Return the write that counts this request, on condition that no other one has used the last of it."""
        if not self.used:
            ttl = ceil(milliseconds(self.until) / 1000)
            item = {"pk": self.key[0], "sk": self.key[1], "used": 1, "until": self.until, "ttl": ttl}
            return Write(
                "Put", self.key, item=item, condition="attribute_not_exists(#pk) OR #until <= :moment",
                names=["pk", "until"], values={"moment": self.moment},
            )  # fmt: skip
        return Write(
            "Update", self.key, update="SET #used = #used + :one", condition="#until = :until AND #used < :most",
            names=["used", "until"], values={"one": 1, "until": self.until, "most": self.budget.most},
        )  # fmt: skip


def charge(shares: Sequence[Share]) -> None:
    """Count a request now, by a transaction of its own, before it does what can't be taken back.

    Raises ConcurrentModification if another request was counted at the same moment: what is left has to be read again.
    """
    if not shares:
        return
    try:
        table.write([share.write() for share in shares])
    except Cancelled as cancelled:
        raise ConcurrentModification from cancelled


def digest(whose: str) -> str:
    """Return what stands for somebody in the keys of their budgets."""
    return hashlib.sha256(whose.encode()).hexdigest()[:32]


def said(headers: Mapping[str, str], share: Share) -> dict[str, str]:
    """Return the headers of an answer that says of one more budget: all that apply are members of one list."""
    joined = {name: ", ".join(filter(None, [headers.get(name), value])) for name, value in share.headers.items()}
    return {**headers, **joined}


def exhausted(name: str, most: int, seconds: int, left_seconds: int, detail: str = "") -> Problem:
    """Return a 429 that says when there is something left again (draft-ietf-httpapi-ratelimit-headers)."""
    times = "once" if most == 1 else f"{most} times"
    detail = detail or f"This can be asked for {times} in {seconds} s. Try again in {left_seconds} s."
    headers = {"Retry-After": str(left_seconds), **_headers(name, most, seconds, 0, left_seconds)}
    return Problem("rate_limited", detail, headers=headers)


def _headers(name: str, most: int, seconds: int, remaining: int, left_seconds: int) -> Mapping[str, str]:
    return {
        "RateLimit": f'"{name}";r={remaining};t={left_seconds}', "RateLimit-Policy": f'"{name}";q={most};w={seconds}',
    }  # fmt: skip
