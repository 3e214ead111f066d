"""`Idempotency-Key`, on every POST that changes something: repeated, it has its first effect and its first answer only.

The answer is the same byte for byte. What changes nothing can as well be asked for again: nothing of it is stored.
"""

from typing import Any, Final

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.secrets import secrets_of
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.clock import Clock

KEY: Final = "2f9c1d6e-first-try"
NO_PART_ANY_MORE: Final = ("403 insufficient_role", "404 not_found")
"""What they are told whose part in it the first request took: a key is looked up after authorization."""


def sent(operation: Operation, world: World, key: str = KEY, **words: Any) -> Answer:
    return perform(operation, world, headers={"Idempotency-Key": key}, **words)


def repeated(operation: Operation, world: World, first: Answer, key: str = KEY) -> None:
    """Assert that the request repeated changes nothing, and is answered as it was."""
    before = snapshots.stored()
    again = sent(operation, world, key)
    assert snapshots.stored() == before
    if example_of(operation, world).parts:  # it is looked up after authorization, and the caller has none any more
        assert again.code in NO_PART_ANY_MORE
        return
    assert again.said == first.said
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.calls.of("sqs") == []


@by_operation(lambda o: o.method == "POST" and o.mutates)
class TestARepeatedPost:
    def test_has_its_first_effect_and_answer(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        assert first.status == operation.success
        repeated(operation, world, first)

    def test_is_the_same_with_the_key_in_quotes(self, operation: Operation, world: World) -> None:
        repeated(operation, world, sent(operation, world), f'"{KEY}"')

    def test_with_another_body_is_refused(self, operation: Operation, world: World) -> None:
        sent(operation, world)
        before = snapshots.stored()
        example = example_of(operation, world)
        other = sent(operation, world, json={**(example.body or {}), "name": "Another"})
        assert other.code in (NO_PART_ANY_MORE if example.parts else ("422 idempotency_key_reused",))
        assert snapshots.stored() == before

    def test_of_another_caller_is_another_request(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        admin, owner = world.people.admin, world.people.owner
        other = sent(operation, world, as_=owner if caller_of(operation, world) is admin else admin)
        assert "Idempotency-Replayed" not in other.headers
        if first.text and other.calls.of("sqs"):  # there was something left to be done
            assert (other.status, other.text) != (first.status, first.text)

    def test_keeps_no_secret_in_clear(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        for secret in secrets_of(operation, first):
            assert len(secret) > 30
            assert secret not in str(snapshots.stored())

    def test_after_a_day_is_a_new_request(self, operation: Operation, world: World, clock: Clock) -> None:
        sent(operation, world)
        clock.shift(hours=24, seconds=1)
        assert "Idempotency-Replayed" not in sent(operation, world).headers

    def test_that_was_refused_may_be_sent_anew(self, operation: Operation, world: World) -> None:
        refused = sent(operation, world, json={"colour": "green"})
        assert refused.code == "422 validation_failed"
        assert sent(operation, world).status == operation.success


@by_operation(lambda o: o.method == "POST" and not o.mutates)
class TestAPostThatChangesNothing:
    def test_stores_nothing_whoever_asks_and_is_answered_anew(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        for caller in (caller_of(operation, world), None):
            for _ in range(2):
                answer = sent(operation, world, as_=caller)
                assert answer.status in (operation.success, 401, 404)
                assert "Idempotency-Replayed" not in answer.headers
                assert "dynamodb:TransactWriteItems" not in answer.calls.names
        assert snapshots.stored() == before

    def test_still_says_that_a_key_is_malformed(self, operation: Operation, world: World) -> None:
        assert sent(operation, world, key="k" * 256).code == "400 invalid_header"
