"""Responses for foreign and missing records are equal byte for byte, after the same AWS calls."""

from typing import Any, Final

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.examples.example import Example
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.catalogue.test_permissions import is_public
from tests.harness.api import ApiResponse
from tests.harness.callers import Caller
from tests.harness.parametrize_operations import parametrize_operations

IDEMPOTENCY_HEADERS: Final = {"Idempotency-Key": "3f0c"}
EXEMPT_OPERATIONS: Final = ("join_platform", "leave_platform", "leave_space")
"""Operations for callers without a role, which check visibility themselves. They make one read less if the process has
the container cached."""


def create_keys(world: TenantFixture) -> list[Caller]:
    return [world.create_api_key("admin"), world.create_api_key("read")]


def callers_without_access(operation: Operation, world: TenantFixture, begin: RestoreTenant) -> list[Caller]:
    """Return callers without access to the foreign container who could call the operation in their own."""
    keys = begin(create_keys) if operation.scope else []
    for key in keys:
        assert world.api.get("/status", caller=key).status == 200  # Let the process cache the key.
    return [world.people.owner, world.people.member, world.people.operator, *keys]


def comparable(response: ApiResponse) -> tuple[Any, ...]:
    """Return all parts of a response but its request id and path."""
    headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
    text = response.text.replace(response.request_id, "REQUEST").replace(f'"{response.path}"', '"PATH"')
    return response.status, headers, text


def request_both(
    operation: Operation, world: TenantFixture, foreign: Example, missing: Example, caller: Caller | None
) -> tuple[ApiResponse, ApiResponse]:
    """Return the responses for a foreign and for a missing record."""
    headers = IDEMPOTENCY_HEADERS if operation.method == "POST" else None
    return (
        call_operation(operation, world, foreign, caller=caller, headers=headers),
        call_operation(operation, world, missing, caller=caller, headers=headers),
    )


def call_names(response: ApiResponse) -> list[str]:
    return sorted(response.calls.call_names)


@parametrize_operations(lambda o: isinstance(o.access, RequireRole) and not is_public(o))
def test_foreign_container_is_indistinguishable_from_a_missing_one(operation, tenant, restore_tenant):
    assert isinstance(operation.access, RequireRole)
    example, rule = get_example(operation, tenant), operation.access
    foreign, missing = (
        example.in_container(rule, tenant.get_rivals_parameter(rule.container_or_record_parameter)),
        example.in_container(rule),
    )
    for caller in callers_without_access(operation, tenant, restore_tenant):
        foreign_response, missing_response = request_both(operation, tenant, foreign, missing, caller)
        repeated_response = call_operation(operation, tenant, foreign, caller=caller, headers=IDEMPOTENCY_HEADERS)
        assert foreign_response.status in (403, 404)
        assert comparable(foreign_response) == comparable(missing_response) == comparable(repeated_response)
        assert (
            call_names(foreign_response) == call_names(repeated_response) == call_names(missing_response)
            or operation.id in EXEMPT_OPERATIONS
        )


# A PUT creates missing records.
@parametrize_operations(
    lambda o: o.record_types_by_parameter and isinstance(o.access, RequireRole) and o.method != "PUT"
)
def test_foreign_record_is_indistinguishable_from_a_missing_one(operation, tenant):
    example = get_example(operation, tenant)
    tenant.warm_caches()
    for record in operation.record_types_by_parameter.values():
        name = record.parameter
        foreign, missing = (
            example.with_parameters(**{name: tenant.get_rivals_parameter(name)}),
            example.with_unknown(name),
        )
        for caller in (tenant.people.owner, tenant.people.member):
            foreign_response, missing_response = request_both(operation, tenant, foreign, missing, caller)
            assert foreign_response.status in (403, 404)
            assert comparable(foreign_response) == comparable(missing_response)
            assert call_names(foreign_response) == call_names(missing_response)
