"""Simulate the effect of 10,000 endpoints that never respond on 100 healthy ones.

    python -m benchmarks.deliveries.hanging_endpoints

A discrete-event simulation of the queues, the workers and the webhooks. It uses the service's own rules: the retry
schedule (`retry_schedule.py`), the circuit breaker (`circuit.py`), the time-out of an endpoint, and the numbers
of workers and the batch sizes (`app.py`). Assumed are the rate of events, the response time of a healthy endpoint, and
the time of a worker's own reads and writes. SQS delivers at once, and all workers run from the first second.

All hanging endpoints hang from the start of the simulation. Until then, either none was ever called or, in the worst
case, all have responded. Each design receives the same events until the end, and then has time to deliver the backlog
of the healthy endpoints. The results are written to `benchmarks/results/hanging_endpoints.json` and
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
from benchmarks.deliveries.lag import percentiles
from chalicelib.features.notifications.logic.retry_schedule import next_attempt_at
from chalicelib.features.notifications.webhooks.models.circuit import Circuit, CircuitState
from chalicelib.features.notifications.webhooks.tasks import _PROBE_TIMEOUT_SECONDS
from chalicelib.kernel.core.clock import after, timestamp, timestamp_ms
from chalicelib.kernel.outbound.webhook_client import TOTAL_SECONDS

DELIVERIES_QUEUE: Final = "atrium-deliveries.fifo"
SLOW_DELIVERIES_QUEUE: Final = "atrium-deliveries-slow"

_START_TIME: Final = timestamp(1_795_262_400_000)
_PROCESSING_SECONDS: Final = 0.03
_RESPONSE_SECONDS_RANGE: Final = (0.05, 0.2)
_EVENTS_PER_SECOND: Final = 1 / 60
_PERIOD_MINUTES: Final = 5


@dataclass(frozen=True)
class Design:
    """A design of the delivery queues.

    `has_message_groups`: the messages of a webhook form a message group. `starts_responsive`: all endpoints have
    responded before the start. `workers` overrides the number of workers that the app declares.
    """

    name: str
    has_message_groups: bool = True
    has_circuit_breaker: bool = True
    starts_responsive: bool = True
    workers: int | None = None


DESIGNS: Final = (
    Design("one queue without parking", has_message_groups=False, has_circuit_breaker=False),
    Design("as built, webhooks that are new", starts_responsive=False),
    Design("as built, all have answered until then"),
    Design("the same, with fewer workers", workers=100),
)


@dataclass(frozen=True)
class Load:
    """The number of webhooks and the simulated time."""

    hanging: int = 10_000
    healthy: int = 100
    minutes: int = 15
    seed: int = 4


@dataclass
class Webhook:
    """A webhook, the state of its circuit breaker, and its backlog."""

    number: int
    is_hanging: bool
    circuit: Circuit
    backlog: list[tuple[float, int, "Delivery"]] = field(default_factory=list)


@dataclass(eq=False)
class Delivery:
    """An event on its way to a webhook."""

    webhook: Webhook
    occurred_at: float
    attempts: int = 0


class MessageQueue(Protocol):
    """A queue with the behavior of SQS."""

    def send(self, delivery: Delivery) -> None:
        """Add a message."""

    def receive(self, max_messages: int) -> list[deque[Delivery]]:
        """Return the messages for one worker, in groups that it handles concurrently."""

    def delete(self, webhook_numbers: Sequence[int]) -> None:
        """Delete the messages of a worker, by their webhooks."""


class StandardQueue:
    """A standard queue, which returns the oldest messages first."""

    def __init__(self) -> None:
        self._messages: deque[Delivery] = deque()

    def send(self, delivery: Delivery) -> None:
        """Add a message."""
        self._messages.append(delivery)

    def receive(self, max_messages: int) -> list[deque[Delivery]]:
        """Return groups of one message each."""
        return [deque([self._messages.popleft()]) for _ in range(min(max_messages, len(self._messages)))]

    def delete(self, webhook_numbers: Sequence[int]) -> None:
        """Do nothing: a standard queue does not lock groups."""


class FifoQueue:
    """A FIFO queue with a message group for each webhook. Only one worker at a time has messages of a group."""

    def __init__(self) -> None:
        self._groups: dict[int, deque[tuple[int, Delivery]]] = {}
        self._available_groups: list[tuple[int, int]] = []
        self._locked_groups: set[int] = set()
        self._last_number = 0

    def send(self, delivery: Delivery) -> None:
        """Add a message to the group of its webhook."""
        self._last_number += 1
        group = self._groups.setdefault(delivery.webhook.number, deque())
        group.append((self._last_number, delivery))
        if len(group) == 1 and delivery.webhook.number not in self._locked_groups:
            heappush(self._available_groups, (self._last_number, delivery.webhook.number))

    def receive(self, max_messages: int) -> list[deque[Delivery]]:
        """Return the messages of the group that waits longest, then those of the next groups."""
        groups = []
        while max_messages and self._available_groups:
            _, webhook_number = heappop(self._available_groups)
            group = self._groups[webhook_number]
            groups.append(deque(group.popleft()[1] for _ in range(min(max_messages, len(group)))))
            self._locked_groups.add(webhook_number)
            max_messages -= len(groups[-1])
        return groups

    def delete(self, webhook_numbers: Sequence[int]) -> None:
        """Unlock these groups."""
        for webhook_number in webhook_numbers:
            self._locked_groups.discard(webhook_number)
            if group := self._groups[webhook_number]:
                heappush(self._available_groups, (group[0][0], webhook_number))
            else:
                del self._groups[webhook_number]


@dataclass
class WorkerPool:
    """The workers of one queue."""

    messages: MessageQueue
    workers: int
    batch_size: int
    sends_probes: bool = False
    idle_workers: int = 0

    def __post_init__(self) -> None:
        self.idle_workers = self.workers

    @classmethod
    def for_queue(
        cls, queue: str, messages: MessageQueue, *, workers: int | None = None, probes: bool = False
    ) -> "WorkerPool":
        """Create a pool with the given number of workers, or with the number that the app declares for the queue."""
        (source,) = (s for s in app.event_sources if isinstance(s, SQSEventConfig) and s.queue == queue)
        return cls(messages, workers or source.maximum_concurrency or 0, source.batch_size, probes)


class Simulation:
    """One run of a design."""

    def __init__(self, design: Design, load: Load) -> None:
        self.design, self.load = design, load
        self._event_random, self._delivery_random = random.Random(load.seed), random.Random(load.seed)  # noqa: S311 - a simulation
        circuit = Circuit(responsive=design.starts_responsive, backlog_drained=design.starts_responsive)
        self.webhooks = [
            Webhook(number, number < load.hanging, circuit) for number in range(load.hanging + load.healthy)
        ]
        self.now, self.ends_at = 0.0, load.minutes * 60.0
        self.lags: list[tuple[float, float]] = []
        self.timeouts, self._undelivered_count = 0, 0
        self._last_number, self._scheduled = 0, list[tuple[float, int, Callable[[], object]]]()
        self.delivery_pool = WorkerPool.for_queue(
            DELIVERIES_QUEUE, FifoQueue() if design.has_message_groups else StandardQueue(), workers=design.workers
        )
        self.probe_pool = WorkerPool.for_queue(SLOW_DELIVERIES_QUEUE, StandardQueue(), probes=True)

    def run(self) -> None:
        """Run all events until the end, then deliver the backlog of the healthy endpoints."""
        self._schedule(0, self._create_event)
        while self._scheduled:
            self.now, _, action = heappop(self._scheduled)
            if self.now > self.ends_at and not self._undelivered_count:
                return
            action()

    def _schedule(self, time: float, action: Callable[[], object]) -> None:
        self._last_number += 1
        heappush(self._scheduled, (time, self._last_number, action))

    def _create_event(self) -> None:
        webhook = self._event_random.choice(self.webhooks)
        self._undelivered_count += not webhook.is_hanging
        self._enqueue(self.delivery_pool, Delivery(webhook, self.now))
        pause = self._event_random.expovariate(len(self.webhooks) * _EVENTS_PER_SECOND)
        if self.now + pause < self.ends_at:
            self._schedule(self.now + pause, self._create_event)

    def _enqueue(self, pool: WorkerPool, delivery: Delivery) -> None:
        pool.messages.send(delivery)
        self._start_batches(pool)

    def _start_batches(self, pool: WorkerPool) -> None:
        while pool.idle_workers and (groups := pool.messages.receive(pool.batch_size)):
            pool.idle_workers -= 1
            batch = Batch(pool, [group[0].webhook.number for group in groups], len(groups))
            for group in groups:
                self._handle_next_message(batch, group)

    def _handle_next_message(self, batch: "Batch", group: deque[Delivery]) -> None:
        """Handle the next message of a group. The worker is idle again when all groups of its batch are finished."""
        if group:
            delivery = group.popleft()
            is_attempted = self._is_attempted(delivery.webhook, batch.pool)
            self._schedule(
                self.now + _PROCESSING_SECONDS + (self._response_seconds(delivery) if is_attempted else 0),
                partial(self._finish_message, batch, group, delivery, is_attempted),
            )
            return
        batch.unfinished_groups -= 1
        if not batch.unfinished_groups:
            batch.pool.messages.delete(batch.webhook_numbers)
            batch.pool.idle_workers += 1
            self._start_batches(batch.pool)

    def _is_attempted(self, webhook: Webhook, pool: WorkerPool) -> bool:
        is_permitted = webhook.circuit.permits_request(is_probe=pool.sends_probes, sends_backlog=False)
        return is_permitted or not self.design.has_circuit_breaker

    def _response_seconds(self, delivery: Delivery) -> float:
        return TOTAL_SECONDS if delivery.webhook.is_hanging else self._delivery_random.uniform(*_RESPONSE_SECONDS_RANGE)

    def _finish_message(self, batch: "Batch", group: deque[Delivery], delivery: Delivery, is_attempted: bool) -> None:  # noqa: FBT001
        if not is_attempted:
            self._defer(delivery)
        elif delivery.webhook.is_hanging:
            self._record_timeout(delivery)
        else:
            self._record_success(delivery)
        self._handle_next_message(batch, group)

    def _defer(self, delivery: Delivery) -> None:
        webhook = delivery.webhook
        if webhook.circuit.state is CircuitState.HALF_OPEN:
            webhook.backlog = [entry for entry in webhook.backlog if entry[2] is not delivery]
            self._await_probe(webhook)
            self._enqueue(self.probe_pool, delivery)
        elif not delivery.attempts:  # A retried delivery is already in the backlog.
            webhook.backlog.append((delivery.occurred_at, self._last_number, delivery))

    def _record_success(self, delivery: Delivery) -> None:
        webhook = delivery.webhook
        self.lags.append((delivery.occurred_at, self.now - delivery.occurred_at))
        self._undelivered_count -= 1
        if not webhook.circuit.responsive:
            webhook.circuit = webhook.circuit.recovering(self._timestamp()).after_backlog()
            backlog = sorted(webhook.backlog)
            webhook.backlog.clear()
            for _, _, deferred in backlog:
                self._enqueue(self.delivery_pool, deferred)

    def _record_timeout(self, delivery: Delivery) -> None:
        self.timeouts += 1
        delivery.attempts += 1
        time, webhook = self._timestamp(), delivery.webhook
        next_at = next_attempt_at(delivery.attempts, time, self._delivery_random.uniform(-1, 1))
        if next_at:
            self._schedule(_seconds_since_start(next_at), partial(self._enqueue, self.delivery_pool, delivery))
        if self.design.has_circuit_breaker:
            self._schedule_probe(webhook, webhook.circuit.opened(next_at, time))
            if next_at:
                webhook.backlog.append((_seconds_since_start(next_at), self._last_number, delivery))

    def _timestamp(self, *, seconds_from_now: float = 0) -> str:
        return after(_START_TIME, seconds=self.now + seconds_from_now)

    def _await_probe(self, webhook: Webhook) -> None:
        lost_at = self._timestamp(seconds_from_now=_PROBE_TIMEOUT_SECONDS)
        self._schedule_probe(webhook, webhook.circuit.probing(lost_at))

    def _schedule_probe(self, webhook: Webhook, circuit: Circuit) -> None:
        webhook.circuit = circuit
        assert circuit.probe_at is not None  # noqa: S101 - the circuit is open
        self._schedule(_seconds_since_start(circuit.probe_at), partial(self._probe, webhook))

    def _probe(self, webhook: Webhook) -> None:
        """Probe a webhook with the oldest due event."""
        probe_at = webhook.circuit.probe_at
        if probe_at is None or _seconds_since_start(probe_at) > self.now:
            return  # The probe was rescheduled.
        due = [entry for entry in webhook.backlog if entry[0] <= self.now]
        if due:
            first = min(due, key=lambda entry: entry[2].occurred_at)
            webhook.backlog.remove(first)
            self._await_probe(webhook)
            self._enqueue(self.probe_pool, first[2])
        else:
            webhook.circuit = webhook.circuit.probing(None)


@dataclass
class Batch:
    """The messages of one worker."""

    pool: WorkerPool
    webhook_numbers: Sequence[int]
    unfinished_groups: int


def _seconds_since_start(time: str) -> float:
    return (timestamp_ms(time) - timestamp_ms(_START_TIME)) / 1000


def measure(load: Load) -> dict[str, Any]:
    """Return the lag of the healthy endpoints and the number of time-outs in each design."""
    return {
        "load": vars(load),
        "eventsAMinute": _EVENTS_PER_SECOND * 60,
        "patience": TOTAL_SECONDS,
        "designs": [_measure_design(design, load) for design in DESIGNS],
    }


def _measure_design(design: Design, load: Load) -> dict[str, Any]:
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
        "workers": [
            pool.workers for pool in (simulation.delivery_pool, simulation.probe_pool)[: 1 + design.has_circuit_breaker]
        ],
        "lag": {minutes: percentiles(lags) for minutes, lags in periods.items()},
        "timeouts": simulation.timeouts,
    }


def main() -> None:
    """Run each design, store the results and print them."""
    results = measure(Load())
    document.save_results("hanging_endpoints", results)
    print(document.render_hanging_endpoints(results))


if __name__ == "__main__":
    main()
