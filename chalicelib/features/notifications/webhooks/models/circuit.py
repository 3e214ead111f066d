"""The circuit breaker of a webhook: when it gets events, when it is probed, and when it is disabled. No I/O.

    State       Event                                       Next state
    half-open   a delivery is queued as a probe             open
    any         an attempt times out                        open
    open        a response arrives                          recovering
    recovering  the backlog is sent                         closed
    closed      new events are deferred                     recovering
    open        no delivery waits                           half-open
    half-open   a response arrives                          recovering
    any         it is enabled, or gets another URL          open or half-open

New events are deferred by the rate limit of the host, and by a replay of pending deliveries. In contrast to the circuit
breaker in `kernel/outbound/circuit_breaker.py`, whose state belongs to one process, this one is stored with each
webhook.
"""

from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

FAILING_DAYS: Final = 5
"""Days without a success after which a webhook is disabled."""

MISCONFIGURED_DAYS: Final = 1
"""Days with an invalid host name or certificate after which a webhook is disabled."""

_MAX_PROBE_DELAY_SECONDS: Final = 1_800
"""Longest pause after a time-out until the next probe."""


class CircuitState(Enum):
    """What happens to the next event of a webhook."""

    CLOSED = "closed"
    """It is sent as soon as it occurs."""
    OPEN = "open"
    """It joins the backlog. A probe is sent at `probe_at`, or is being sent and counts as lost then."""
    HALF_OPEN = "half-open"
    """It is sent as a probe."""
    RECOVERING = "recovering"
    """It joins the backlog, which is being sent in the order of the log, or will be from `probe_at` on."""


@dataclass(frozen=True)
class Circuit:
    """The state of a webhook's circuit breaker. Its methods return the state after an event.

    `failing_since` is the time of the first failed attempt after the last success. `misconfigured_since` is the time
    since when the host name does not resolve, or the certificate is invalid.

    `responsive` is false if the last request timed out, or none was sent yet. `consecutive_timeouts` counts the
    time-outs in a row. While `backlog_drained` is false, new events wait: for a probe at `probe_at` to succeed, for the
    backlog to be sent in order, or for the rate limit of the host. `pending_disable_reason` is set once nothing is sent
    any more and a task is about to disable the webhook.
    """

    failing_since: str | None = None
    misconfigured_since: str | None = None
    responsive: bool = False
    consecutive_timeouts: int = 0
    backlog_drained: bool = False
    probe_at: str | None = None
    pending_disable_reason: str | None = None

    @property
    def state(self) -> CircuitState:
        """Return what happens to the next event."""
        if self.backlog_drained:
            return CircuitState.CLOSED
        if self.probe_at is None:
            return CircuitState.HALF_OPEN
        return CircuitState.RECOVERING if self.responsive else CircuitState.OPEN

    @property
    def is_closed(self) -> bool:
        """Return whether new events are sent as soon as they occur."""
        return self.state is CircuitState.CLOSED

    @property
    def is_being_disabled(self) -> bool:
        """Return whether nothing is sent any more, because a task is about to disable the webhook."""
        return self.pending_disable_reason is not None

    def permits_request(self, *, is_probe: bool, sends_backlog: bool) -> bool:
        """Return whether a delivery may be sent now: a new one, a probe, or one of the backlog."""
        return self.is_closed or is_probe or (sends_backlog and self.responsive)

    def has_due_probe(self, now: str) -> bool:
        """Return whether it is time to probe the webhook, or to send its backlog."""
        return self.probe_at is not None and self.probe_at <= now

    def has_same_probe_as(self, other: "Circuit") -> bool:
        """Return whether no other worker has handled the probe or the backlog since the other state was read."""
        return (self.responsive, self.probe_at) == (other.responsive, other.probe_at)

    def reschedules_probe(self, response: WebhookResponse) -> bool:
        """Return whether a response changes the time of the next probe, or lets the backlog be sent."""
        return response.timed_out or not self.responsive

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of the webhook that store the circuit."""
        return {**vars(self)}

    def disable_reason_or_none(self, response: WebhookResponse, now: str) -> str | None:
        """Return the reason to disable the webhook after a response that the circuit contains, or None."""
        if response.status == HTTPStatus.GONE:
            return "It answered 410 Gone: it wants nothing any more."
        since = self.misconfigured_since
        if response.misconfigured and since is not None and since <= after(now, days=-MISCONFIGURED_DAYS):
            return f"Nothing could be sent to it for a day. {response.error}"
        if self.failing_since and self.failing_since <= after(now, days=-FAILING_DAYS):
            return f"Every attempt has failed for {FAILING_DAYS} days."
        return None

    def after_attempt(self, response: WebhookResponse, next_attempt_at: str | None, now: str) -> "Circuit":
        """Return the circuit after an attempt. `next_attempt_at`: when the delivery is retried if it failed."""
        recorded = self.with_outcome(response, now)
        if response.timed_out:
            return recorded.opened(next_attempt_at, now)
        return recorded.recovering(now) if recorded.reschedules_probe(response) else recorded

    def fields_after_attempt(
        self, response: WebhookResponse, next_attempt_at: str | None, now: str
    ) -> dict[str, str | bool | int | None]:
        """Return the fields that an attempt sets, whatever other attempts have stored since the circuit was read.

        So several requests that wait for the same time-out count as one.
        """
        circuit = self.after_attempt(response, next_attempt_at, now)
        names = ["failing_since", "misconfigured_since"]
        if self.reschedules_probe(response):
            names += ["responsive", "consecutive_timeouts", "probe_at"]
        if response.timed_out:
            names.append("backlog_drained")
        return {name: getattr(circuit, name) for name in names}

    def with_outcome(self, response: WebhookResponse, now: str) -> "Circuit":
        """Return the circuit with the times since when attempts fail, updated by a response.

        Any HTTP response proves the host name and the certificate valid. A time-out or a failing name server proves
        nothing.
        """
        misconfigured_since = self.misconfigured_since
        if response.misconfigured:
            misconfigured_since = misconfigured_since or now
        elif response.status is not None:
            misconfigured_since = None
        failing_since = None if response.succeeded else self.failing_since or now
        return replace(self, failing_since=failing_since, misconfigured_since=misconfigured_since)

    def opened(self, next_attempt_at: str | None, now: str) -> "Circuit":
        """Return the open circuit after a time-out.

        The next probe is the next attempt of the delivery or, after repeated time-outs, later; at most half an hour
        from now.
        """
        timeouts = self.consecutive_timeouts + 1
        latest = after(now, seconds=_MAX_PROBE_DELAY_SECONDS)
        delay_seconds = RETRY_SECONDS[min(timeouts, len(RETRY_SECONDS)) - 1]
        probe_at = min(max(next_attempt_at or latest, after(now, seconds=delay_seconds)), latest)
        return replace(self, responsive=False, consecutive_timeouts=timeouts, backlog_drained=False, probe_at=probe_at)

    def recovering(self, now: str) -> "Circuit":
        """Return the circuit of a webhook that responds, and whose backlog is sent now."""
        return replace(self, responsive=True, consecutive_timeouts=0, probe_at=now)

    def deferred_until(self, time: str) -> "Circuit":
        """Return the circuit whose new events join the backlog, which is sent at a time at the latest."""
        return replace(self, backlog_drained=False, probe_at=time)

    def probing(self, time: str | None) -> "Circuit":
        """Return the circuit with another time of the next probe or of the backlog; None if no delivery waits."""
        return replace(self, probe_at=time)

    def after_backlog(self) -> "Circuit":
        """Return the circuit once no delivery waits any more. It is closed if the webhook responds."""
        return replace(self, backlog_drained=self.responsive, probe_at=None)

    @classmethod
    def reset(cls, probe_at: str | None) -> "Circuit":
        """Return the circuit of a webhook of which nothing is known, as after a user gave it another URL.

        It gets only probes until it responds, at `probe_at` or with its next event.
        """
        return cls(probe_at=probe_at)

    def disabling(self, reason: str) -> "Circuit":
        """Return the circuit of a webhook that gets nothing any more, and is about to be disabled."""
        return replace(self, pending_disable_reason=reason)

    def disabled(self, failing_since: str | None, now: str) -> "Circuit":
        """Return the circuit of a webhook that is disabled now. A task then skips its backlog, if there is one."""
        skips_at = None if self.is_closed else now
        return replace(self, failing_since=failing_since, pending_disable_reason=None, probe_at=skips_at)
