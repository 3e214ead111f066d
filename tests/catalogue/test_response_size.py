"""Responses that Lambda would reject for their size: lists end the page early, other operations return a problem."""

import json
from typing import Any

from chalicelib.kernel.execution import envelope
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations, parametrize_representatives

_NO_CONTENT = 204


def read_list(operation: Operation, tenant: TenantFixture) -> tuple[list[Any], list[ApiResponse]]:
    answers = [call_operation(operation, tenant)]
    while cursor := answers[-1].json["nextCursor"]:
        assert len(answers) < 1000
        answers.append(call_operation(operation, tenant, query={"cursor": cursor}))
    return [item for answer in answers for item in answer.json["items"]], answers


@parametrize_representatives(
    lambda o: (
        o.method,
        o.is_list,
        o.emits_events,
        o.has_external_effects,
        o.alternative,
        o.response_or_item_model is None,
    ),
    lambda o: o.success != _NO_CONTENT,
)
def test_a_response_that_is_too_large_is_rejected_and_changes_nothing(operation, tenant, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 0)
        rejected = call_operation(operation, tenant)
    if not (rejected.text and rejected.status >= 400):
        assert rejected.text == ""  # A redirect has no body.
        return
    assert rejected.status_and_code in ("409 limit_exceeded", "409 export_too_large")
    if operation.emits_events and not operation.has_external_effects:
        assert "dynamodb:TransactWriteItems" not in rejected.calls.call_names
    assert call_operation(operation, tenant).status == operation.success


@parametrize_operations(lambda o: o.is_list and not o.emits_events)
def test_a_page_ends_where_the_next_item_would_not_fit(operation, tenant, monkeypatch):
    items, _ = read_list(operation, tenant)
    largest = max(
        (len(json.dumps(json.dumps(item, separators=(",", ":"), ensure_ascii=False))) for item in items), default=0
    )
    max_bytes = envelope.MAX_ENVELOPE_BYTES
    with monkeypatch.context() as context:
        # A page has max_bytes for the largest item, but not for many items.
        context.setattr(envelope, "MAX_ENVELOPE_BYTES", 12_000 + largest)
        items_of_small_pages, answers = read_list(operation, tenant)
        assert all(len(json.dumps(answer.text)) <= 12_000 + largest < max_bytes for answer in answers)
    assert items_of_small_pages == items
