"""Answers that Lambda does not take: a list ends its page before that, anything else says what to ask for instead."""

import json
from typing import Any

import pytest

from chalicelib.kernel.execution import envelope
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import perform
from tests.catalogue.tenant_fixture import World
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation

_BODYLESS = 204


def listed(operation: Operation, world: World) -> tuple[list[Any], list[Answer]]:
    """All items of a list, and the answers that brought them."""
    answers = [perform(operation, world)]
    while cursor := answers[-1].json["nextCursor"]:
        assert len(answers) < 1000
        answers.append(perform(operation, world, query={"cursor": cursor}))
    return [item for answer in answers for item in answer.json["items"]], answers


@by_operation(lambda o: o.success != _BODYLESS)
def test_what_no_answer_holds_is_refused_and_changes_nothing(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 0)
        refused = perform(operation, world)
    if not (refused.text and refused.status >= 400):
        assert refused.text == ""  # A redirect has no body.
        return
    assert refused.code in ("409 limit_exceeded", "409 export_too_large")
    if operation.mutates and not operation.has_external_effects:
        assert "dynamodb:TransactWriteItems" not in refused.calls.names
    assert perform(operation, world).status == operation.success


@by_operation(lambda o: o.is_list and not o.mutates)
def test_a_page_ends_where_the_next_item_would_not_fit(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, _ = listed(operation, world)
    largest = max(
        (len(json.dumps(json.dumps(item, separators=(",", ":"), ensure_ascii=False))) for item in items), default=0
    )
    room = envelope.MAX_ENVELOPE_BYTES
    with monkeypatch.context() as context:
        # Room for the largest item and what is around it, not for many.
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 12_000 + largest)
        in_pieces, answers = listed(operation, world)
        assert all(len(json.dumps(answer.text)) <= 12_000 + largest < room for answer in answers)
    assert in_pieces == items
