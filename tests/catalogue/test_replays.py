"""`Idempotency-Key`, on every POST that changes something: a repeated request has no effect and the same response.

The response is the same byte for byte. A POST that changes nothing stores nothing, because it can be repeated anyway.
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
ACCESS_LOST: Final = ("403 insufficient_role", "404 not_found")
"""The problems for callers whose access the first request removed: the key is looked up after authorization."""


def send_with_key(operation: Operation, world: World, key: str = KEY, **options: Any) -> Answer:
    return perform(operation, world, headers={"Idempotency-Key": key}, **options)


def assert_replayed(operation: Operation, world: World, first: Answer, key: str = KEY) -> None:
    """Assert that the repeated request changes nothing and has the same response."""
    before = snapshots.stored()
    again = send_with_key(operation, world, key)
    assert snapshots.stored() == before
    if example_of(operation, world).parts:  # The key is looked up after authorization, which fails.
        assert again.code in ACCESS_LOST
        return
    assert again.said == first.said
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.calls.of("sqs") == []


@by_operation(lambda o: o.method == "POST" and o.mutates)
class TestARepeatedPost:
    def test_has_no_effect_and_the_same_response(self, operation: Operation, world: World) -> None:
        first = send_with_key(operation, world)
        assert first.status == operation.success
        assert_replayed(operation, world, first)

    def test_is_recognized_with_the_key_in_quotes(self, operation: Operation, world: World) -> None:
        assert_replayed(operation, world, send_with_key(operation, world), f'"{KEY}"')

    def test_with_another_body_is_rejected(self, operation: Operation, world: World) -> None:
        send_with_key(operation, world)
        before = snapshots.stored()
        example = example_of(operation, world)
        other = send_with_key(operation, world, json={**(example.body or {}), "name": "Another"})
        assert other.code in (ACCESS_LOST if example.parts else ("422 idempotency_key_reused",))
        assert snapshots.stored() == before

    def test_by_another_caller_is_another_request(self, operation: Operation, world: World) -> None:
        first = send_with_key(operation, world)
        admin, owner = world.people.admin, world.people.owner
        other = send_with_key(operation, world, as_=owner if caller_of(operation, world) is admin else admin)
        assert "Idempotency-Replayed" not in other.headers
        if first.text and other.calls.of("sqs"):  # The second request has an effect.
            assert (other.status, other.text) != (first.status, first.text)

    def test_stores_no_secret_in_clear(self, operation: Operation, world: World) -> None:
        first = send_with_key(operation, world)
        for secret in secrets_of(operation, first):
            assert len(secret) > 30
            assert secret not in str(snapshots.stored())

    def test_after_a_day_is_a_new_request(self, operation: Operation, world: World, clock: Clock) -> None:
        send_with_key(operation, world)
        clock.shift(hours=24, seconds=1)
        assert "Idempotency-Replayed" not in send_with_key(operation, world).headers

    def test_after_a_validation_error_is_a_new_request(self, operation: Operation, world: World) -> None:
        invalid = send_with_key(operation, world, json={"colour": "green"})
        assert invalid.code == "422 validation_failed"
        assert send_with_key(operation, world).status == operation.success


@by_operation(lambda o: o.method == "POST" and not o.mutates)
class TestAPostThatChangesNothing:
    def test_stores_nothing_for_any_caller_and_is_processed_again(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        for caller in (caller_of(operation, world), None):
            for _ in range(2):
                answer = send_with_key(operation, world, as_=caller)
                assert answer.status in (operation.success, 401, 404)
                assert "Idempotency-Replayed" not in answer.headers
                assert "dynamodb:TransactWriteItems" not in answer.calls.names
        assert snapshots.stored() == before

    def test_still_rejects_a_malformed_key(self, operation: Operation, world: World) -> None:
        assert send_with_key(operation, world, key="k" * 256).code == "400 invalid_header"
