"""`Idempotency-Key`, on every POST that changes something: a repeated request has no effect and the same response.

The response is the same byte for byte. A POST that changes nothing stores nothing, because it can be repeated anyway.
"""

from typing import Any, Final

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example
from tests.catalogue.secret_fields import secrets_of
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations

KEY: Final = "2f9c1d6e-first-try"
ACCESS_LOST: Final = ("403 insufficient_role", "404 not_found")
"""The problems for callers whose access the first request removed: the key is looked up after authorization."""


def send_with_key(operation: Operation, world: TenantFixture, key: str = KEY, **options: Any) -> ApiResponse:
    return call_operation(operation, world, headers={"Idempotency-Key": key}, **options)


def assert_replayed(operation: Operation, world: TenantFixture, first: ApiResponse, key: str = KEY) -> None:
    """Assert that the repeated request changes nothing and has the same response."""
    before = snapshots.items_by_key()
    again = send_with_key(operation, world, key)
    assert snapshots.items_by_key() == before
    if get_example(operation, world).revokes_own_access:  # The key is looked up after authorization, which fails.
        assert again.status_and_code in ACCESS_LOST
        return
    assert again.comparable_content == first.comparable_content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.calls.names_of_service("sqs") == []


@parametrize_operations(lambda o: o.method == "POST" and o.emits_events)
class TestARepeatedPost:
    def test_has_no_effect_and_the_same_response(self, operation, tenant):
        first = send_with_key(operation, tenant)
        assert first.status == operation.success
        assert_replayed(operation, tenant, first)

    def test_is_recognized_with_the_key_in_quotes(self, operation, tenant):
        assert_replayed(operation, tenant, send_with_key(operation, tenant), f'"{KEY}"')

    def test_with_another_body_is_rejected(self, operation, tenant):
        send_with_key(operation, tenant)
        before = snapshots.items_by_key()
        example = get_example(operation, tenant)
        other = send_with_key(operation, tenant, json={**(example.body or {}), "name": "Another"})
        assert other.status_and_code in (ACCESS_LOST if example.revokes_own_access else ("422 idempotency_key_reused",))
        assert snapshots.items_by_key() == before

    def test_by_another_caller_is_another_request(self, operation, tenant):
        first = send_with_key(operation, tenant)
        admin, owner = tenant.people.admin, tenant.people.owner
        other = send_with_key(operation, tenant, caller=owner if get_caller(operation, tenant) is admin else admin)
        assert "Idempotency-Replayed" not in other.headers
        if first.text and other.calls.names_of_service("sqs"):  # The second request has an effect.
            assert (other.status, other.text) != (first.status, first.text)

    def test_stores_no_secret_in_clear(self, operation, tenant):
        first = send_with_key(operation, tenant)
        for secret in secrets_of(operation, first):
            assert len(secret) > 30
            assert secret not in str(snapshots.items_by_key())

    def test_after_a_day_is_a_new_request(self, operation, tenant, clock):
        send_with_key(operation, tenant)
        clock.shift(hours=24, seconds=1)
        assert "Idempotency-Replayed" not in send_with_key(operation, tenant).headers

    def test_after_a_validation_error_is_a_new_request(self, operation, tenant):
        invalid = send_with_key(operation, tenant, json={"colour": "green"})
        assert invalid.status_and_code == "422 validation_failed"
        assert send_with_key(operation, tenant).status == operation.success


@parametrize_operations(lambda o: o.method == "POST" and not o.emits_events)
class TestAPostThatChangesNothing:
    def test_stores_nothing_for_any_caller_and_is_processed_again(self, operation, tenant):
        before = snapshots.items_by_key()
        for caller in (get_caller(operation, tenant), None):
            for _ in range(2):
                answer = send_with_key(operation, tenant, caller=caller)
                assert answer.status in (operation.success, 401, 404)
                assert "Idempotency-Replayed" not in answer.headers
                assert "dynamodb:TransactWriteItems" not in answer.calls.call_names
        assert snapshots.items_by_key() == before

    def test_still_rejects_a_malformed_key(self, operation, tenant):
        assert send_with_key(operation, tenant, key="k" * 256).status_and_code == "400 invalid_header"
