"""Budgets: how many requests a caller's address, or a principal, may make in a time.

That of an operation begins with the first request. What is used up is read along with what decides access, and counted
in the mutation's own transaction: so it costs no round trip, and one write at most. A request that is refused, for
whatever reason, uses up nothing. That of all requests counts each, in batches: `leases`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

from chalicelib.kernel import cidr
from chalicelib.kernel.clock import after, milliseconds
from chalicelib.kernel.entity import Item, Key
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.table import Write


@dataclass(frozen=True)
class Budget:
    """What may be asked for `most` times in so many seconds, by each client's network or each principal."""

    name: str
    most: int
    seconds: int
    per: Literal["address", "principal"]

    def of(self, address: str, principal: str) -> "Purse":
        """Return the budget of a client at an address, who is a principal of this id."""
        whose = cidr.client_network(address) if self.per == "address" else principal
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
