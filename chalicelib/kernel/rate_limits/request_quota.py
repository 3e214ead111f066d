"""Leases: how a process counts all requests of a principal, together with the other processes.

Requests that are nobody's, or whose API key is refused, are counted by the network of their client in the same way.

Counting must not cost what it protects. A process counts in its memory, and takes from the table in batches what it may
let through: a write for twenty requests of a principal at most, and never a read. Those before the first write nobody
else knows of, so of P processes each may let up to 19 more through than the budget says.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from chalicelib.kernel.core.clock import now_ms, timestamp
from chalicelib.kernel.core.logs import add_fields, best_effort
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.rate_limits.buckets import RateLimit, RateLimitState, digest, rate_limited
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey

BATCH: Final = 20
SECONDS: Final = 60
_MS: Final = SECONDS * 1000
_KNOWN: Final = 1000
REQUESTS: Final = "requests"
_ANONYMOUS: Final = "anonymous-requests"
_REFUSED: Final = "refused-credentials"
_REFUSED_ONE: Final = "refused-credential"
NETWORK_LIMITS: Final = (_ANONYMOUS, _REFUSED, _REFUSED_ONE)
"""What is counted of clients' networks."""

_SECRETS: Final = 5
"""Into how many parts what a network may send of refused API keys is divided: one that is sent again and again, by a
program that nobody told, leaves the others theirs."""

_counts: dict[str, OrderedDict[str, "_WindowCounter"]] = {}
_finding: Final = Lock()


def check_request_rate(principal: str) -> RateLimitState | None:
    """Count a request of a principal, by id, and return what they have left; None: the setting is off.

    Raises Problem `rate_limited` if they have nothing left. Goes on uncounted where the table does not answer.
    """
    budget = _of_principals()
    if budget is None:
        return None
    share = _of(budget, principal).take(budget)
    if share.used >= budget.limit:
        add_fields(limited=principal)
        raise share.problem
    return share


def give_back(principal: str) -> None:
    """Take back that a request was counted: it turned out not to be the principal's."""
    if budget := _of_principals():
        _of(budget, principal).give_back()


def check_anonymous_rate(network: str) -> None:
    """Count a request without a valid credential, by its client's network.

    Raises Problem `rate_limited` if that network has nothing left.
    """
    if budget := _of_networks(_ANONYMOUS):
        share = _of(budget, network).take(budget)
        if share.used >= budget.limit:
            add_fields(limited="network")
            raise share.problem


def count_refused(secret: str, network: str) -> None:
    """Count a request whose API key was refused: by the secret, by its digest, and by the client's network."""
    for budget, whose in _refused(secret, network):
        _of(budget, whose).take(budget)


def check_unproven(secret: str, network: str) -> None:
    """Refuse to look up an API key that this process has not accepted, where too many were refused this minute.

    It counts nothing. Raises Problem `rate_limited`.
    """
    for budget, whose in _refused(secret, network):
        share = _of(budget, whose).look(budget)
        if share.used >= budget.limit:
            add_fields(limited="network")
            detail = (
                f"Too many requests came with an API key that is refused. Try again in {share.reset_after_seconds} s."
            )
            raise rate_limited(budget.name, budget.limit, SECONDS, share.reset_after_seconds, detail)


def minute_key(name: str, whose: str, end: str) -> ItemKey:
    """Return where requests are counted of whoever has this digest, in the minute that ends then."""
    return f"Y#{name}#{whose}", end


def reset() -> None:
    """Forget all counts, as a new process has none."""
    _counts.clear()


def _of_principals() -> RateLimit | None:
    most = settings().requests_per_minute
    return RateLimit(REQUESTS, limit=most, seconds=SECONDS, per="principal") if most else None


def _of_networks(name: str, share: int = 1) -> RateLimit | None:
    most = settings().network_requests_per_minute
    return RateLimit(name, limit=max(1, most // share), seconds=SECONDS, per="network") if most else None


def _refused(secret: str, network: str) -> list[tuple[RateLimit, str]]:
    """Return what limits requests whose API key is refused, and by what each is counted.

    The secret counts within the network only: whoever holds it rightfully may be in another.
    """
    by_secret, by_network = _of_networks(_REFUSED_ONE, _SECRETS), _of_networks(_REFUSED)
    return [(by_secret, f"{secret}#{network}"), (by_network, network)] if by_secret and by_network else []


def _of(budget: RateLimit, whose: str) -> "_WindowCounter":
    with _finding:
        known = _counts.setdefault(budget.name, OrderedDict())
        found = known.get(whose) or known.setdefault(whose, _WindowCounter(budget.name, digest(whose)))
        known.move_to_end(whose)
        if len(known) > _KNOWN:
            known.popitem(last=False)
        return found


@dataclass
class _WindowCounter:
    """What this process knows of somebody's requests in the minute that ends at `until`, in milliseconds.

    `asked`: how many there were, also refused ones and those of earlier minutes, since it last wrote. `taken`: what all
    processes took, as the table said then; `left`: what of that is left to this one. `untold`: what it let through that
    the table does not know of.
    """

    name: str
    whose: str
    until: int = 0
    asked: int = 0
    taken: int = 0
    left: int = 0
    untold: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def used(self) -> int:
        """How many requests are used up, as far as this process knows."""
        return self.taken + self.untold - self.left

    def take(self, budget: RateLimit) -> RateLimitState:
        """Return what is left, and let one request through if anything is."""
        with self.lock:
            moment = now_ms()
            self._turn_to(moment)
            self.asked += 1
            if not self.left and self.asked >= BATCH and self.used < budget.limit:
                self._lease(budget)
            share = RateLimitState(budget, self._key, timestamp(moment), self.used, timestamp(self.until))
            if self.left:
                self.left -= 1
            elif share.used < budget.limit:
                self.untold += 1
            return share

    def look(self, budget: RateLimit) -> RateLimitState:
        """Return what is left, as far as this process knows."""
        with self.lock:
            moment = now_ms()
            self._turn_to(moment)
            return RateLimitState(budget, self._key, timestamp(moment), self.used, timestamp(self.until))

    def give_back(self) -> None:
        """Let one request more through than there would be: one that was let through did not count."""
        with self.lock:
            if self.untold:
                self.untold -= 1
            else:
                self.left += 1

    def _turn_to(self, moment: int) -> None:
        # Each principal's minutes begin at a second of their own: not all are refilled at once.
        offset = int(self.whose, 16) % _MS
        until = moment - (moment - offset) % _MS + _MS
        if until != self.until:
            self.until, self.taken, self.left, self.untold = until, 0, 0, 0

    def _lease(self, budget: RateLimit) -> None:
        """Tell the table what was let through, and take a batch; it may be less, or nothing.

        If that fails the next twenty pass untold. If it was done all the same, they were taken twice.
        """
        self.asked = 0
        batch = min(BATCH, budget.limit - self.used)
        with best_effort("uncounted"):
            ttl = self.until // 1000 + SECONDS
            total = table.increment(self._key, "used", self.untold + batch, ttl=ttl)
            self.taken, self.untold = min(total, budget.limit), 0
            self.left = max(0, min(batch, budget.limit - (total - batch)))

    @property
    def _key(self) -> ItemKey:
        return minute_key(self.name, self.whose, timestamp(self.until))
