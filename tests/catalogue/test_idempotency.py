"""`Idempotency-Key`, on every POST that changes something: a repeated request has no effect and the same response.

The response is the same byte for byte. A POST that changes nothing stores nothing, because it can be repeated anyway.
"""

from typing import Any, Final

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example, secret_fields_of
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_access_rules, parametrize_operations

KEY: Final = "2f9c1d6e-first-try"
ACCESS_LOST: Final = ("403 insufficient_role", "404 not_found")
"""The problems for callers whose access the first request removed: the key is looked up after authorization."""


def send_with_key(operation: Operation, tenant: TenantFixture, key: str = KEY, **options: Any) -> ApiResponse:
    return call_operation(operation, tenant, headers={"Idempotency-Key": key}, **options)


@parametrize_operations(lambda o: o.method == "POST" and o.emits_events)
def test_a_repeated_post_has_no_effect_and_the_same_response(operation, tenant):
    first = send_with_key(operation, tenant).expect(operation.success)
    before, example = snapshots.items_by_key(), get_example(operation, tenant)
    for secret in (first.json[name].rpartition("token=")[2] for name in secret_fields_of(operation)):
        assert len(secret) > 30
        assert secret not in str(before)
    replayed = [send_with_key(operation, tenant, key) for key in (KEY, f'"{KEY}"')]
    other = send_with_key(operation, tenant, json={**(example.body or {}), "name": "Another"})
    assert snapshots.items_by_key() == before
    if example.revokes_own_access:
        assert {each.status_and_code for each in (*replayed, other)} <= {*ACCESS_LOST}
        return
    assert other.status_and_code == "422 idempotency_key_reused"
    for again in replayed:
        assert again.comparable_content == first.comparable_content
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.calls.names_of_service("sqs") == []
    assert "Idempotency-Replayed" not in first.headers


@parametrize_access_rules(lambda o: o.method == "POST" and o.emits_events)
class TestANewRequest:
    def test_is_one_by_another_caller(self, operation, tenant):
        first = send_with_key(operation, tenant)
        admin, owner = tenant.people.admin, tenant.people.owner
        other = send_with_key(operation, tenant, caller=owner if get_caller(operation, tenant) is admin else admin)
        assert "Idempotency-Replayed" not in other.headers
        if first.text and other.calls.names_of_service("sqs"):  # The second request has an effect.
            assert (other.status, other.text) != (first.status, first.text)

    def test_is_one_after_a_validation_error_and_one_after_a_day(self, operation, tenant, clock):
        invalid = send_with_key(operation, tenant, json={"colour": "green"})
        assert invalid.status_and_code == "422 validation_failed"
        assert send_with_key(operation, tenant).status == operation.success
        clock.shift(hours=24, seconds=1)
        assert "Idempotency-Replayed" not in send_with_key(operation, tenant).headers


@parametrize_operations(lambda o: o.method == "POST" and not o.emits_events)
def test_a_post_that_changes_nothing_stores_nothing_but_rejects_a_malformed_key(operation, tenant):
    before = snapshots.items_by_key()
    for caller in (get_caller(operation, tenant), None):
        for _ in range(2):
            answer = send_with_key(operation, tenant, caller=caller)
            assert answer.status in (operation.success, 401, 404)
            assert "Idempotency-Replayed" not in answer.headers
            assert "dynamodb:TransactWriteItems" not in answer.calls.call_names
    assert snapshots.items_by_key() == before
    assert send_with_key(operation, tenant, key="k" * 256).status_and_code == "400 invalid_header"
