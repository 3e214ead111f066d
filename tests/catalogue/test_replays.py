"""`Idempotency-Key`, on every POST: repeated, it has its first effect only, and its first answer byte for byte."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operation import Operation
from tests.catalogue import snapshots
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.world import World
from tests.harness.api import Answer
from tests.harness.clock import Clock

posts = pytest.mark.parametrize(
    "operation", [o for o in operations() if o.method == "POST"], ids=lambda operation: operation.id
)
KEY: Final = "2f9c1d6e-first-try"


def sent(operation: Operation, world: World, key: str = KEY, **words: Any) -> Answer:
    caller = words.pop("as_", world.caller(operation))
    return perform(operation, world, example_of(operation, world), caller, headers={"Idempotency-Key": key}, **words)


def said(answer: Answer) -> tuple[int, Mapping[str, str], str]:
    """All of an answer but which request it is to, and that it is a replay."""
    about = ("x-request-id", "idempotency-replayed")
    return answer.status, {n: v for n, v in answer.headers.items() if n not in about}, answer.text


def repeated(operation: Operation, world: World, first: Answer, key: str = KEY) -> None:
    """Assert that the request repeated changes nothing, and is answered as it was."""
    before = snapshots.stored()
    again = sent(operation, world, key)
    assert snapshots.stored() == before
    if example_of(operation, world).parts:  # it is looked up after authorization, and the caller has none any more
        assert again.status in (403, 404)
        return
    assert said(again) == said(first)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.calls.of("sqs") == []


@posts
class TestARepeatedPost:
    def test_has_its_first_effect_and_answer(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        assert first.status == operation.success
        repeated(operation, world, first)

    def test_is_the_same_with_the_key_in_quotes(self, operation: Operation, world: World) -> None:
        repeated(operation, world, sent(operation, world), f'"{KEY}"')

    def test_with_another_body_is_refused(self, operation: Operation, world: World) -> None:
        if example_of(operation, world).parts:
            return
        sent(operation, world)
        before = snapshots.stored()
        other = sent(operation, world, json={**(example_of(operation, world).body or {}), "name": "Another"})
        assert other.code == "422 idempotency_key_reused"
        assert snapshots.stored() == before

    def test_of_another_caller_is_another_request(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        admin, owner = world.people.admin, world.people.owner
        other = sent(operation, world, as_=owner if world.caller(operation) is admin else admin)
        assert "Idempotency-Replayed" not in other.headers
        assert other.text != first.text or not first.text

    def test_keeps_no_secret_in_clear(self, operation: Operation, world: World) -> None:
        first = sent(operation, world)
        answer = operation.answer
        secrets = [first.json[name] for name in answer.one_time] if answer else []
        for secret in secrets:
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
