"""Responses that Lambda would reject for their size: lists end the page early, other operations return a problem."""

import json
from typing import Any

import pytest

from chalicelib.kernel.execution import envelope
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import perform
from tests.catalogue.tenant_fixture import World
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation

_NO_CONTENT = 204


def read_list(operation: Operation, world: World) -> tuple[list[Any], list[Answer]]:
    """Return all items of a list, and the responses that contained them."""
    answers = [perform(operation, world)]
    while cursor := answers[-1].json["nextCursor"]:
        assert len(answers) < 1000
        answers.append(perform(operation, world, query={"cursor": cursor}))
    return [item for answer in answers for item in answer.json["items"]], answers


@by_operation(lambda o: o.success != _NO_CONTENT)
def test_a_response_that_is_too_large_is_rejected_and_changes_nothing(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 0)
        rejected = perform(operation, world)
    if not (rejected.text and rejected.status >= 400):
        assert rejected.text == ""  # A redirect has no body.
        return
    assert rejected.code in ("409 limit_exceeded", "409 export_too_large")
    if operation.mutates and not operation.has_external_effects:
        assert "dynamodb:TransactWriteItems" not in rejected.calls.names
    assert perform(operation, world).status == operation.success


@by_operation(lambda o: o.is_list and not o.mutates)
def test_a_page_ends_where_the_next_item_would_not_fit(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, _ = read_list(operation, world)
    largest = max(
        (len(json.dumps(json.dumps(item, separators=(",", ":"), ensure_ascii=False))) for item in items), default=0
    )
    max_bytes = envelope.MAX_ENVELOPE_BYTES
    with monkeypatch.context() as context:
        # A page has max_bytes for the largest item, but not for many items.
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 12_000 + largest)
        items_of_small_pages, answers = read_list(operation, world)
        assert all(len(json.dumps(answer.text)) <= 12_000 + largest < max_bytes for answer in answers)
    assert items_of_small_pages == items
