"""A fault at any AWS call of any mutation: all of it happens, or nothing; what was acknowledged is there, once.

Afterwards the process is a new one, time passes, the schedule ticks, and the client tries again.
"""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.notifications.webhooks.logic.host_rate_limit import slot_counter_key
from chalicelib.kernel.execution import pipeline
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.faults.table_shapes import Shape, shape
from tests.faults.variants import Variant, by_variant, calls
from tests.harness import snapshots
from tests.harness.api import Answer
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, Injected, failing

mutations = pytest.mark.parametrize(
    "operation", [operation for operation in operations() if operation.mutates], ids=lambda operation: operation.id
)
PAUSE_MINUTES: Final = 6
"""Longer than anything waits that is looked for by the sweep, such as a delivery whose message was lost."""

COUNTED_FIRST: Final = (
    slot_counter_key("", "")[0],
    *(
        f"Y#{budget.name}#"
        for operation in operations()
        if operation.has_external_effects
        for budget in operation.rate_limits
    ),
)
"""Where it is counted how often something was asked for that can't be taken back: whatever becomes of the request."""

KEY: Final = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


def asked(operation: Operation, world: World, **headers: str) -> Answer | None:
    """Call the mutation with an `Idempotency-Key`, if no headers are given; None: the process has ended."""
    try:
        return perform(operation, world, headers=headers or KEY)
    except Died:
        return None


def stored() -> evidence.Items:
    """What the table holds that a mutation does or does not do."""
    return {key: item for key, item in snapshots.stored().items() if not key[0].startswith(COUNTED_FIRST)}


def settled(world: World, clock: Clock) -> evidence.Items:
    """What the table holds once time has passed and nothing is left to be done."""
    before, items = None, stored()
    while items != before:
        clock.shift(minutes=PAUSE_MINUTES)
        world.workers.settle()
        before, items = items, stored()
    behind = [key for key, item in items.items() if key[0].startswith("Q#") and "duepk" in item]
    assert behind == [], "whoever follows a log has followed it to its end"
    return items


def passes(variant: Variant, injected: Injected) -> bool:
    """Whether the caller has nothing to do with it: it can be tried again at once, or be made up for later."""
    passing = variant.fault in (Fault.RETRIED, Fault.CANCELLED_BY_THROTTLE, Fault.CONFLICT) and not variant.lasts
    return passing or injected.hit == "sqs:SendMessage"


_done: dict[str, Shape] = {}


@pytest.fixture
def done(operation: Operation, world: World, clock: Clock, begin: Begin) -> Shape:
    """What is there when nothing went wrong."""
    if operation.id not in _done:
        begin()
        assert asked(operation, world)
        _done[operation.id] = shape(settled(world, clock))
    return _done[operation.id]


@by_variant
@mutations
class TestAMutation:
    def test_happens_once_or_not_at_all(
        self,
        operation: Operation,
        variant: Variant,
        world: World,
        begin: Begin,
        clock: Clock,
        done: Shape,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        if variant.lasts:
            monkeypatch.setattr(pipeline, "_MAX_WAIT_SECONDS", 0.05)
        for at in calls():
            begin()
            before = stored()
            with variant.strikes(at) as injected:
                answer = asked(operation, world)
            if not injected.hit:
                break
            self._judge(operation, variant, injected, answer)
            after = settled(world, clock)
            happened = len(evidence.entries(after)) > len(evidence.entries(before))
            assert happened or answer is None or answer.status != operation.success
            assert after == before or shape(after) == done
            evidence.assert_proven(after)
            again = asked(operation, world)
            assert again
            self._judge_again(operation, world, answer, again, happened=happened)
            finally_there = settled(world, clock)
            assert shape(finally_there) == done
            evidence.assert_proven(finally_there)
        assert at > 1, "the fault found no call"

    @staticmethod
    def _judge(operation: Operation, variant: Variant, injected: Injected, answer: Answer | None) -> None:
        """A process answers with success, or with a problem of the contract that says when to try again."""
        if answer is None:
            assert variant.fault in (Fault.DIED_BEFORE, Fault.DIED_AFTER)
        elif answer.status != operation.success:
            assert not passes(variant, injected)
            # Nothing was decided by a write that counts: it is asked for again as if the table did not answer.
            decided = variant.fault is Fault.CONFLICT and injected.hit == "dynamodb:TransactWriteItems"
            assert answer.code == ("409 conflict" if decided else "503 unavailable")
            assert int(answer.headers["Retry-After"]) >= 1

    @staticmethod
    def _judge_again(
        operation: Operation, world: World, answer: Answer | None, again: Answer, *, happened: bool
    ) -> None:
        """The client that tries again gets what it would have got at first, if it still may ask."""
        if not happened:
            assert again.status == operation.success
        elif operation.method == "POST" and not example_of(operation, world).parts:
            assert again.headers["Idempotency-Replayed"] == "true"
            assert again.status == operation.success
            assert answer is None or answer.status != operation.success or again.text == answer.text
        else:
            assert again.status in (operation.success, 403, 404)


@mutations
def test_a_call_that_the_client_repeats_by_itself_has_one_effect(
    operation: Operation, world: World, clock: Clock
) -> None:
    with failing(Fault.RETRIED, name="dynamodb:TransactWriteItems") as injected:
        answer = asked(operation, world, Accept="*/*")
    assert injected.hit
    assert answer
    assert answer.status == operation.success
    made = settled(world, clock)
    requests = [entry.json["context"]["requestId"] for entry in evidence.entries(made)]
    assert requests.count(answer.request_id) == 1
    evidence.assert_proven(made)
