"""The circuit breaker of a webhook has the documented transitions, whatever happens to the webhook."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.models.circuit import Circuit, CircuitState
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

NOW: Final = "2026-11-20T09:30:00.000Z"
LATER: Final = after(NOW, seconds=90)
CLOSED, OPEN, HALF_OPEN, RECOVERING = CircuitState

Transition = Callable[[Circuit], Circuit]

CIRCUITS: Final = {
    CLOSED: Circuit(responsive=True, backlog_drained=True),
    OPEN: Circuit(consecutive_timeouts=2, probe_at=LATER, failing_since=NOW),
    HALF_OPEN: Circuit(),
    RECOVERING: Circuit(responsive=True, probe_at=NOW),
}

TIMED_OUT: Final = WebhookResponse(None, "The server did not respond within 15 s.", "", 15_000, timed_out=True)
SLOW_BODY: Final = WebhookResponse(200, None, "", 15_000, timed_out=True)
NO_SUCH_NAME: Final = WebhookResponse(None, "The name cannot be resolved.", "", 3, misconfigured=True)
REFUSED: Final = WebhookResponse(None, "The connection was refused.", "", 3)
GONE: Final = WebhookResponse(410, None, "", 3)
ACCEPTED: Final = WebhookResponse(204, None, "", 3)
REJECTED: Final = WebhookResponse(503, None, "", 3)
RESPONSES: Final = (TIMED_OUT, SLOW_BODY, NO_SUCH_NAME, REFUSED, GONE, ACCEPTED, REJECTED)


def attempt(response: WebhookResponse) -> Transition:
    return lambda circuit: circuit.after_attempt(response, LATER, NOW)


TRANSITIONS: Final[dict[str, tuple[Transition, list[CircuitState]]]] = {
    "a time-out": (attempt(TIMED_OUT), [OPEN, OPEN, OPEN, OPEN]),
    "a body that times out": (attempt(SLOW_BODY), [OPEN, OPEN, OPEN, OPEN]),
    "no such name": (attempt(NO_SUCH_NAME), [CLOSED, RECOVERING, RECOVERING, RECOVERING]),
    "a refused connection": (attempt(REFUSED), [CLOSED, RECOVERING, RECOVERING, RECOVERING]),
    "a response with an error": (attempt(REJECTED), [CLOSED, RECOVERING, RECOVERING, RECOVERING]),
    "a success": (attempt(ACCEPTED), [CLOSED, RECOVERING, RECOVERING, RECOVERING]),
    "a probe or batch is queued": (lambda circuit: circuit.probing(LATER), [CLOSED, OPEN, OPEN, RECOVERING]),
    "no delivery waits": (lambda circuit: circuit.probing(None), [CLOSED, HALF_OPEN, HALF_OPEN, HALF_OPEN]),
    "new events are deferred": (lambda circuit: circuit.deferred_until(LATER), [RECOVERING, OPEN, OPEN, RECOVERING]),
    "the backlog is sent": (lambda circuit: circuit.after_backlog(), [CLOSED, HALF_OPEN, HALF_OPEN, CLOSED]),
    "a test message arrives": (lambda circuit: circuit.recovering(NOW), [CLOSED, *[RECOVERING] * 3]),
    "reset and paused": (lambda circuit: circuit.reset(None), [HALF_OPEN] * 4),
    "reset and enabled": (lambda circuit: circuit.reset(NOW), [OPEN] * 4),
    "it is about to be disabled": (lambda circuit: circuit.disabling("410"), [CLOSED, OPEN, HALF_OPEN, RECOVERING]),
    "it is disabled": (lambda circuit: circuit.disabled(NOW, NOW), [CLOSED, OPEN, OPEN, RECOVERING]),
}
"""Each event as a function of the circuit, with the next state for each state in the order of `CircuitState`."""


@pytest.mark.parametrize("state", CircuitState)
@pytest.mark.parametrize("event", TRANSITIONS)
def test_each_event_leads_from_each_state_to_the_documented_one(event, state):
    transition, next_states = TRANSITIONS[event]
    assert CIRCUITS[state].state is state
    assert transition(CIRCUITS[state]).state is next_states[list(CircuitState).index(state)]


@pytest.mark.parametrize(
    ("state", "permitted"),
    [
        (CLOSED, {"event", "probe", "backlog"}),
        (OPEN, {"probe"}),
        (HALF_OPEN, {"probe"}),
        (RECOVERING, {"probe", "backlog"}),
    ],
)
def test_the_state_decides_which_deliveries_are_sent(state, permitted):
    kinds = {
        "event": {"is_probe": False, "sends_backlog": False},
        "probe": {"is_probe": True, "sends_backlog": False},
        "backlog": {"is_probe": False, "sends_backlog": True},
    }
    assert {name for name, kind in kinds.items() if CIRCUITS[state].permits_request(**kind)} == permitted


@pytest.mark.parametrize(
    ("response", "failing_days", "misconfigured_days", "reason"),
    [
        (GONE, None, None, "It answered 410 Gone: it wants nothing any more."),
        (GONE, 9, None, "It answered 410 Gone: it wants nothing any more."),
        (REJECTED, 4.999, None, None),
        (REJECTED, 5, None, "Every attempt has failed for 5 days."),
        (TIMED_OUT, 5, None, "Every attempt has failed for 5 days."),
        (NO_SUCH_NAME, 0.999, 0.999, None),
        (NO_SUCH_NAME, 1, 1, "Nothing could be sent to it for a day. The name cannot be resolved."),
        (TIMED_OUT, 1, 1, None),
        (ACCEPTED, None, None, None),
    ],
)
def test_a_webhook_is_disabled_exactly_after_the_documented_periods(response, failing_days, misconfigured_days, reason):
    circuit = Circuit(
        failing_since=failing_days and after(NOW, days=-failing_days),
        misconfigured_since=misconfigured_days and after(NOW, days=-misconfigured_days),
    )
    assert circuit.with_outcome(response, NOW).disable_reason_or_none(response, NOW) == reason


@pytest.mark.parametrize(
    ("timeouts_before", "next_attempt_seconds", "probe_seconds"),
    [
        (0, 5, 5),
        (0, 3, 5),
        (0, 6.5, 6.5),
        (0, 7_200, 1_800),
        (0, None, 1_800),
        (1, 5, 300),
        (2, 5, 1_800),
        (40, 5, 1_800),
    ],
)
def test_the_pauses_between_probes_grow_to_half_an_hour(timeouts_before, next_attempt_seconds, probe_seconds):
    next_attempt_at = next_attempt_seconds and after(NOW, seconds=next_attempt_seconds)
    opened = Circuit(consecutive_timeouts=timeouts_before).opened(next_attempt_at, NOW)
    assert (opened.probe_at, opened.consecutive_timeouts) == (after(NOW, seconds=probe_seconds), timeouts_before + 1)


seconds = st.sampled_from([0, 1, 5, 60, 300, 3_600, 43_200, 86_400, 200_000])


class CircuitMachine(RuleBasedStateMachine):
    """A webhook to which anything happens in any order, and what is known about its attempts."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.webhook = NOW, create_webhook()
        self.timeouts_in_a_row = 0
        self.failing_since: str | None = None
        self.misconfigured_since: str | None = None

    @property
    def circuit(self) -> Circuit:
        return self.webhook.circuit

    def store(self, circuit: Circuit) -> None:
        self.webhook = Webhook.from_item(self.webhook.replace(**circuit.to_fields()).item())
        assert self.circuit == circuit, "the record contains the whole circuit"

    @rule(passed=seconds)
    def time_passes(self, passed: float) -> None:
        self.now = after(self.now, seconds=passed)

    @rule(response=st.sampled_from(RESPONSES), delay=st.none() | seconds)
    def attempt(self, response: WebhookResponse, delay: float | None) -> None:
        """Send a delivery, which workers of both queues may do at the same time as another one."""
        before = self.circuit
        self.failing_since = None if response.succeeded else self.failing_since or self.now
        if response.misconfigured:
            self.misconfigured_since = self.misconfigured_since or self.now
        elif response.status is not None:
            self.misconfigured_since = None
        self.timeouts_in_a_row = self.timeouts_in_a_row + 1 if response.timed_out else 0
        self.store(before.after_attempt(response, None if delay is None else after(self.now, seconds=delay), self.now))
        assert before.reschedules_probe(response) or self.circuit.probe_at == before.probe_at
        self.require_reason_exactly_if_due(response)

    def require_reason_exactly_if_due(self, response: WebhookResponse) -> None:
        is_due = (
            response.status == 410
            or (self.failing_since or self.now) <= after(self.now, days=-5)
            or (response.misconfigured and (self.misconfigured_since or self.now) <= after(self.now, days=-1))
        )
        assert (self.circuit.disable_reason_or_none(response, self.now) is not None) is is_due

    @precondition(lambda self: not self.circuit.is_closed)
    @rule(timeout=seconds)
    def queue_probe_or_backlog(self, timeout: float) -> None:
        self.store(self.circuit.probing(after(self.now, seconds=timeout)))

    @precondition(lambda self: self.circuit.state is OPEN)
    @rule()
    def find_no_delivery_that_waits(self) -> None:
        self.store(self.circuit.probing(None))

    @rule(wait=seconds)
    def defer_new_events(self, wait: float) -> None:
        self.store(self.circuit.deferred_until(after(self.now, seconds=wait)))

    @rule()
    def finish_backlog(self) -> None:
        self.store(self.circuit.after_backlog())

    @precondition(lambda self: not self.circuit.is_closed)
    @rule()
    def accept_test_message(self) -> None:
        self.timeouts_in_a_row = 0
        self.store(self.circuit.recovering(self.now))

    @rule(enabled=st.booleans())
    def reset(self, enabled: bool) -> None:  # noqa: FBT001 - Hypothesis passes it by its name
        self.timeouts_in_a_row, self.failing_since, self.misconfigured_since = 0, None, None
        self.store(self.circuit.reset(self.now if enabled else None))

    @rule()
    def disable(self) -> None:
        pending = self.circuit.disabling("It answered 410 Gone: it wants nothing any more.")
        assert pending.is_being_disabled
        self.store(pending.disabled(self.failing_since, self.now))

    @invariant()
    def counts_are_those_of_the_attempts(self) -> None:
        assert self.circuit.consecutive_timeouts == self.timeouts_in_a_row
        assert self.circuit.failing_since == self.failing_since
        assert self.circuit.misconfigured_since == self.misconfigured_since
        assert not self.circuit.is_being_disabled

    @invariant()
    def a_closed_circuit_belongs_to_a_webhook_that_responds(self) -> None:
        assert self.circuit.responsive or not self.circuit.is_closed
        assert (self.circuit.consecutive_timeouts == 0) or not self.circuit.responsive

    @invariant()
    def deliveries_wait_only_for_a_scheduled_task(self) -> None:
        new_event: dict[str, Any] = {"is_probe": False, "sends_backlog": False}
        assert self.circuit.permits_request(**new_event) is self.circuit.is_closed
        if self.circuit.state in (OPEN, RECOVERING):
            assert self.webhook.scheduled_task is not None
        if self.circuit.state is HALF_OPEN:
            assert self.webhook.scheduled_task is None, "the next event is the probe"

    @invariant()
    def it_can_recover(self) -> None:
        sent = self.circuit.after_attempt(ACCEPTED, None, self.now).after_backlog()
        assert sent.to_fields() == CIRCUITS[CLOSED].to_fields()


def create_webhook() -> Webhook:
    url = "https://hooks.example.com/"
    return Webhook(id="w", created_at=NOW, updated_at=NOW, organization_id="o", url=url, events=["*"])


def test_a_circuit_is_consistent_whatever_happens_to_its_webhook():
    effort = settings(max_examples=200, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(CircuitMachine, settings=effort)


def test_a_new_webhook_begins_with_a_probe():
    assert create_webhook().circuit == Circuit()
    assert Circuit().state is HALF_OPEN


def test_a_webhook_without_known_failures_is_not_disabled():
    assert not [r for r in RESPONSES if r is not GONE and Circuit().with_outcome(r, NOW).disable_reason_or_none(r, NOW)]
