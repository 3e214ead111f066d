"""Leases: how a process counts all requests of a principal, together with the other processes.

Counting must not cost what it protects. A process counts in its memory, and takes from the table in batches what it may
let through: a write for twenty requests of a principal at most, and never a read. Those before the first write nobody
else knows of, so of P processes each may let up to 19 more through than the budget says.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from chalicelib.kernel import table
from chalicelib.kernel.budgets import Budget, Share, digest
from chalicelib.kernel.clock import now_ms, timestamp
from chalicelib.kernel.entity import Key
from chalicelib.kernel.logs import if_possible, report
from chalicelib.kernel.settings import settings

BATCH: Final = 20
SECONDS: Final = 60
_MS: Final = SECONDS * 1000
_KNOWN: Final = 1000
_NAME: Final = "requests"
_counts: OrderedDict[str, "_Count"] = OrderedDict()
_finding: Final = Lock()


def count(principal: str) -> Share | None:
    """Count a request of a principal, by id, and return what they have left; None: the setting is off.

    Raises Problem `rate_limited` if they have nothing left. Goes on uncounted where the table does not answer.
    """
    most = settings().requests_per_minute
    if not most:
        return None
    share = _of(principal).take(Budget(_NAME, most=most, seconds=SECONDS, per="principal"))
    if share.used >= most:
        report(limited=principal)
        raise share.refusal
    return share


def minute_key(whose: str, end: str) -> Key:
    """Return where the requests of a principal are counted, whose digest it is, in the minute that ends then."""
    return f"Y#{_NAME}#{whose}", end


def forget() -> None:
    """Forget all counts, as a new process has none."""
    _counts.clear()


def _of(principal: str) -> "_Count":
    with _finding:
        found = _counts.get(principal) or _counts.setdefault(principal, _Count(digest(principal)))
        _counts.move_to_end(principal)
        if len(_counts) > _KNOWN:
            _counts.popitem(last=False)
        return found


@dataclass
class _Count:
    """What this process knows of a principal's requests in the minute that ends at `until`, in milliseconds.

    `asked`: how many there were, also refused ones and those of earlier minutes, since it last wrote. `taken`: what all
    processes took, as the table said then; `left`: what of that is left to this one. `untold`: what it let through that
    the table does not know of.
    """

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

    def take(self, budget: Budget) -> Share:
        """Return what is left, and let one request through if anything is."""
        with self.lock:
            moment = now_ms()
            self._turn_to(moment)
            self.asked += 1
            if not self.left and self.asked >= BATCH and self.used < budget.most:
                self._lease(budget)
            share = Share(budget, self._key, timestamp(moment), self.used, timestamp(self.until))
            if self.left:
                self.left -= 1
            elif share.used < budget.most:
                self.untold += 1
            return share

    def _turn_to(self, moment: int) -> None:
        # Each principal's minutes begin at a second of their own: not all are refilled at once.
        offset = int(self.whose, 16) % _MS
        until = moment - (moment - offset) % _MS + _MS
        if until != self.until:
            self.until, self.taken, self.left, self.untold = until, 0, 0, 0

    def _lease(self, budget: Budget) -> None:
        """Tell the table what was let through, and take a batch; it may be less, or nothing.

        If that fails the next twenty pass untold. If it was done all the same, they were taken twice.
        """
        self.asked = 0
        batch = min(BATCH, budget.most - self.used)
        with if_possible("uncounted"):
            ttl = self.until // 1000 + SECONDS
            total = table.add(self._key, "used", self.untold + batch, ttl=ttl)
            self.taken, self.untold = min(total, budget.most), 0
            self.left = max(0, min(batch, budget.most - (total - batch)))

    @property
    def _key(self) -> Key:
        return minute_key(self.whose, timestamp(self.until))
