"""What 10,000 endpoints that never answer do to 100 that are well: `python -m benchmarks.deliveries.hanging_endpoints`.

A simulation of the queues, the workers and the webhooks, event by event, on a clock of its own. The rules are the
service's: when is tried again (`deliveries/rules.py`), how long a webhook is left in peace (`webhooks/rules.py`), how
long an endpoint has to answer, how many workers there are and how many messages each takes (`app.py`). Made up are how
often events happen, how soon a good endpoint answers, and what a worker's own reads and writes take. SQS hands over at
once, and all workers are there from the first second on.

All endpoints that hang begin to when the simulation does. Until then either none has been asked for anything, or, which
is the worst that can happen, all have answered. Each design meets the same events until the end, and then has time to
deliver what waits for a good endpoint. Figures go to `benchmarks/results/hanging_endpoints.json`, and from there to
`docs/reference/deliveries.md`.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, Protocol

from chalice.app import SQSEventConfig

from app import app
from benchmarks.deliveries import document
from benchmarks.deliveries.lag import spread
from chalicelib.features.notifications.logic.retry_schedule import next_attempt_at
from chalicelib.features.notifications.webhooks.logic.circuit_breaker import next_probe_at
from chalicelib.features.notifications.webhooks.tasks import _PROBE_TIMEOUT_SECONDS
from chalicelib.kernel.core.clock import after, timestamp, timestamp_ms
from chalicelib.kernel.outbound.webhook_client import TOTAL_SECONDS

FAST: Final = "atrium-deliveries.fifo"
SLOW: Final = "atrium-deliveries-slow"

_BEGIN: Final = timestamp(1_795_262_400_000)
_OWN_SECONDS: Final = 0.03
_ANSWER_SECONDS: Final = (0.05, 0.2)
_EVENTS_A_SECOND: Final = 1 / 60
_PERIOD_MINUTES: Final = 5


@dataclass(frozen=True)
class Design:
    """How deliveries are queued. `groups`: one webhook's messages are handled one after the other; `parking`: probes.

    `answered`: whether all endpoints have answered until then. `workers`: another number of them than the app declares.
    """

    name: str
    groups: bool = True
    parking: bool = True
    answered: bool = True
    workers: int | None = None


DESIGNS: Final = (
    Design("one queue without parking", groups=False, parking=False),
    Design("as built, webhooks that are new", answered=False),
    Design("as built, all have answered until then"),
    Design("the same, with fewer workers", workers=100),
)


@dataclass(frozen=True)
class Load:
    """How many webhooks there are, and for how long they are looked at."""

    hanging: int = 10_000
    healthy: int = 100
    minutes: int = 15
    seed: int = 4


@dataclass
class Webhook:
    """A webhook, and what waits for it to answer. `until`: when it is probed next, if it does not answer."""

    number: int
    hangs: bool
    answers: bool
    silences: int = 0
    until: float | None = None
    waiting: list[tuple[float, int, "Delivery"]] = field(default_factory=list)


@dataclass(eq=False)
class Delivery:
    """An event on its way. `at`: when it happened."""

    webhook: Webhook
    at: float
    tries: int = 0


class Messages(Protocol):
    """A queue of messages, as SQS has them."""

    def put(self, delivery: Delivery) -> None:
        """Add a message."""

    def take(self, most: int) -> list[deque[Delivery]]:
        """Return what one worker gets: lots that are handled side by side."""

    def done(self, lots: Sequence[int]) -> None:
        """Forget what a worker had, by the webhooks."""


class Standard:
    """A standard queue: whatever waits for longest is next."""

    def __init__(self) -> None:
        self._messages: deque[Delivery] = deque()

    def put(self, delivery: Delivery) -> None:
        """Add a message."""
        self._messages.append(delivery)

    def take(self, most: int) -> list[deque[Delivery]]:
        """Return lots of one message each."""
        return [deque([self._messages.popleft()]) for _ in range(min(most, len(self._messages)))]

    def done(self, lots: Sequence[int]) -> None:
        """Nothing waited for them."""


class Fifo:
    """A FIFO queue with a group for each webhook: nobody gets messages of one that another worker has messages of."""

    def __init__(self) -> None:
        self._groups: dict[int, deque[tuple[int, Delivery]]] = {}
        self._free: list[tuple[int, int]] = []
        self._taken: set[int] = set()
        self._number = 0

    def put(self, delivery: Delivery) -> None:
        """Add a message to the group of its webhook."""
        self._number += 1
        group = self._groups.setdefault(delivery.webhook.number, deque())
        group.append((self._number, delivery))
        if len(group) == 1 and delivery.webhook.number not in self._taken:
            heappush(self._free, (self._number, delivery.webhook.number))

    def take(self, most: int) -> list[deque[Delivery]]:
        """Return as many messages of the group that waits for longest as there are, then of the next."""
        lots = []
        while most and self._free:
            _, name = heappop(self._free)
            group = self._groups[name]
            lots.append(deque(group.popleft()[1] for _ in range(min(most, len(group)))))
            self._taken.add(name)
            most -= len(lots[-1])
        return lots

    def done(self, lots: Sequence[int]) -> None:
        """Let the next messages of these groups be taken."""
        for name in lots:
            self._taken.discard(name)
            if group := self._groups[name]:
                heappush(self._free, (group[0][0], name))
            else:
                del self._groups[name]


@dataclass
class Pool:
    """The workers of one queue; so many are `free`."""

    messages: Messages
    workers: int
    batch: int
    probes: bool = False
    free: int = 0

    def __post_init__(self) -> None:
        self.free = self.workers

    @classmethod
    def of(cls, queue: str, messages: Messages, *, workers: int | None = None, probes: bool = False) -> "Pool":
        """Return the workers that the app declares for a queue, or so many."""
        (source,) = (s for s in app.event_sources if isinstance(s, SQSEventConfig) and s.queue == queue)
        return cls(messages, workers or source.maximum_concurrency or 0, source.batch_size, probes)


class Simulation:
    """One run of a design."""

    def __init__(self, design: Design, load: Load) -> None:
        self.design, self.load = design, load
        self._events, self._chance = random.Random(load.seed), random.Random(load.seed)  # noqa: S311 - made up
        self.webhooks = [
            Webhook(number, number < load.hanging, design.answered) for number in range(load.hanging + load.healthy)
        ]
        self.now, self.ends = 0.0, load.minutes * 60.0
        self.lags: list[tuple[float, float]] = []
        self.timeouts, self._owed = 0, 0
        self._order, self._coming = 0, list[tuple[float, int, Callable[[], object]]]()
        self.fast = Pool.of(FAST, Fifo() if design.groups else Standard(), workers=design.workers)
        self.slow = Pool.of(SLOW, Standard(), probes=True)

    def run(self) -> None:
        """Let everything happen that happens before the end; then every good endpoint gets what waits for it."""
        self._at(0, self._happen)
        while self._coming:
            self.now, _, what = heappop(self._coming)
            if self.now > self.ends and not self._owed:
                return
            what()

    def _at(self, time: float, what: Callable[[], object]) -> None:
        self._order += 1
        heappush(self._coming, (time, self._order, what))

    def _happen(self) -> None:
        webhook = self._events.choice(self.webhooks)
        self._owed += not webhook.hangs
        self._queue(self.fast, Delivery(webhook, self.now))
        pause = self._events.expovariate(len(self.webhooks) * _EVENTS_A_SECOND)
        if self.now + pause < self.ends:
            self._at(self.now + pause, self._happen)

    def _queue(self, pool: Pool, delivery: Delivery) -> None:
        pool.messages.put(delivery)
        self._serve(pool)

    def _serve(self, pool: Pool) -> None:
        while pool.free and (lots := pool.messages.take(pool.batch)):
            pool.free -= 1
            batch = Batch(pool, [lot[0].webhook.number for lot in lots], len(lots))
            for lot in lots:
                self._go_on(batch, lot)

    def _go_on(self, batch: "Batch", lot: deque[Delivery]) -> None:
        """Handle the next message of a lot; when all lots of a batch are done, its worker is free."""
        if lot:
            delivery = lot.popleft()
            tried = self._is_tried(delivery.webhook, batch.pool)
            self._at(
                self.now + _OWN_SECONDS + (self._answer_seconds(delivery) if tried else 0),
                partial(self._handled, batch, lot, delivery, tried),
            )
            return
        batch.open -= 1
        if not batch.open:
            batch.pool.messages.done(batch.webhooks)
            batch.pool.free += 1
            self._serve(batch.pool)

    def _is_tried(self, webhook: Webhook, pool: Pool) -> bool:
        return webhook.answers or pool.probes or not self.design.parking

    def _answer_seconds(self, delivery: Delivery) -> float:
        return TOTAL_SECONDS if delivery.webhook.hangs else self._chance.uniform(*_ANSWER_SECONDS)

    def _handled(self, batch: "Batch", lot: deque[Delivery], delivery: Delivery, tried: bool) -> None:  # noqa: FBT001
        if not tried:
            self._put_off(delivery)
        elif delivery.webhook.hangs:
            self._timed_out(delivery)
        else:
            self._answered(delivery)
        self._go_on(batch, lot)

    def _put_off(self, delivery: Delivery) -> None:
        webhook = delivery.webhook
        if webhook.until is None:
            webhook.waiting = [entry for entry in webhook.waiting if entry[2] is not delivery]
            self._park(webhook, self.now + _PROBE_TIMEOUT_SECONDS)
            self._queue(self.slow, delivery)
        elif not delivery.tries:  # One that was tried is waiting already.
            webhook.waiting.append((delivery.at, self._order, delivery))

    def _answered(self, delivery: Delivery) -> None:
        webhook = delivery.webhook
        self.lags.append((delivery.at, self.now - delivery.at))
        self._owed -= 1
        if not webhook.answers:
            webhook.answers, webhook.silences, webhook.until, waiting = True, 0, None, sorted(webhook.waiting)
            webhook.waiting.clear()
            for _, _, late in waiting:
                self._queue(self.fast, late)

    def _timed_out(self, delivery: Delivery) -> None:
        self.timeouts += 1
        delivery.tries += 1
        time, webhook = after(_BEGIN, seconds=self.now), delivery.webhook
        webhook.silences += 1
        next_at = next_attempt_at(delivery.tries, time, self._chance.uniform(-1, 1))
        if next_at:
            self._at(_seconds(next_at), partial(self._queue, self.fast, delivery))
        if self.design.parking:
            webhook.answers = False
            self._park(webhook, _seconds(next_probe_at(next_at, webhook.silences, time)))
            if next_at:
                webhook.waiting.append((_seconds(next_at), self._order, delivery))

    def _park(self, webhook: Webhook, until: float) -> None:
        webhook.until = until
        self._at(until, partial(self._probe, webhook))

    def _probe(self, webhook: Webhook) -> None:
        """Try a parked webhook with the oldest event that is due."""
        if webhook.until is None or webhook.until > self.now:
            return  # of a former time
        due = [entry for entry in webhook.waiting if entry[0] <= self.now]
        if due:
            first = min(due, key=lambda entry: entry[2].at)
            webhook.waiting.remove(first)
            self._park(webhook, self.now + _PROBE_TIMEOUT_SECONDS)
            self._queue(self.slow, first[2])
        else:
            webhook.until = None


@dataclass
class Batch:
    """What one worker has in hand; `open` of its lots are not done."""

    pool: Pool
    webhooks: Sequence[int]
    open: int


def _seconds(time: str) -> float:
    return (timestamp_ms(time) - timestamp_ms(_BEGIN)) / 1000


def figures(load: Load) -> dict[str, Any]:
    """Return what the good endpoints' lag was in each design, and how often the others were tried."""
    return {
        "load": vars(load),
        "eventsAMinute": _EVENTS_A_SECOND * 60,
        "patience": TOTAL_SECONDS,
        "designs": [_run(design, load) for design in DESIGNS],
    }


def _run(design: Design, load: Load) -> dict[str, Any]:
    simulation = Simulation(design, load)
    simulation.run()
    periods = {
        f"{begin}-{begin + _PERIOD_MINUTES}": [
            lag for at, lag in simulation.lags if begin <= at / 60 < begin + _PERIOD_MINUTES
        ]
        for begin in range(0, load.minutes, _PERIOD_MINUTES)
    }
    return {
        "name": design.name,
        "workers": [pool.workers for pool in (simulation.fast, simulation.slow)[: 1 + design.parking]],
        "lag": {minutes: spread(lags) for minutes, lags in periods.items()},
        "timeouts": simulation.timeouts,
    }


def main() -> None:
    """Run each design, keep the figures and print them."""
    found = figures(Load())
    document.keep("hanging_endpoints", found)
    print(document.hanging_endpoints(found))


if __name__ == "__main__":
    main()
