"""Responses for foreign, missing and malformed ids are equal byte for byte, after the same AWS calls."""

from collections.abc import Hashable
from typing import Any, Final

from chalicelib.kernel.operations.access_rules import ContainerReference, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.conftest import RestoreTenant
from tests.catalogue.examples.example import Example
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.outcomes import is_public
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse
from tests.harness.callers import Caller
from tests.harness.parametrize_operations import (
    access_rule_of,
    admits_operators_to_tenants,
    parametrize_access_rules,
    parametrize_representatives,
)

IDEMPOTENCY_HEADERS: Final = {"Idempotency-Key": "3f0c"}
EXEMPT_OPERATIONS: Final = ("join_platform", "leave_platform", "leave_space")
"""Operations for callers without a role, which check visibility themselves. They make one read less if the process has
the container cached."""


def records_and_access_rule_of(operation: Operation) -> Hashable:
    """Return the access rule of an operation with the types of the records in its path."""
    return *operation.record_types_by_parameter.values(), access_rule_of(operation)


def create_keys(tenant: TenantFixture) -> list[Caller]:
    return [tenant.create_api_key("admin"), tenant.create_api_key("read")]


def callers_without_access(operation: Operation, tenant: TenantFixture, begin: RestoreTenant) -> list[Caller]:
    """Return callers without access to the foreign container who could call the operation in their own."""
    keys = begin(create_keys) if operation.scope else []
    for key in keys:
        assert tenant.api.get("/status", caller=key).status == 200  # Let the process cache the key.
    operators = [] if admits_operators_to_tenants(operation) else [tenant.people.operator]
    return [tenant.people.owner, tenant.people.member, *operators, *keys]


def comparable(response: ApiResponse) -> tuple[Any, ...]:
    """Return all parts of a response but its request id and path."""
    headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
    text = response.text.replace(response.request_id, "REQUEST").replace(f'"{response.path}"', '"PATH"')
    return response.status, headers, text


def call_names(response: ApiResponse) -> list[str]:
    return sorted(response.calls.call_names)


def request(operation: Operation, tenant: TenantFixture, example: Example, caller: Caller) -> ApiResponse:
    """Call an operation, with an idempotency key if it takes one."""
    headers = IDEMPOTENCY_HEADERS if operation.method == "POST" else None
    return call_operation(operation, tenant, example, caller=caller, headers=headers)


@parametrize_access_rules(lambda o: isinstance(o.access, RequireRole) and not is_public(o))
def test_foreign_container_is_indistinguishable_from_a_missing_one(operation, tenant, restore_tenant):
    example, rule = get_example(operation, tenant), operation.access
    foreign_id = tenant.get_rivals_parameter(rule.container_or_record_parameter)
    examples = [example.in_container(rule, container) for container in (foreign_id, None, "NO PLACE/AT:ALL")]
    for caller in callers_without_access(operation, tenant, restore_tenant):
        foreign, missing, malformed = (request(operation, tenant, each, caller) for each in examples)
        repeated = call_operation(operation, tenant, examples[0], caller=caller, headers=IDEMPOTENCY_HEADERS)
        is_denied = caller is tenant.people.operator and foreign.status == 403
        assert foreign.status_and_code == "404 not_found" or is_denied
        assert comparable(foreign) == comparable(missing) == comparable(repeated)
        if rule.location is not ContainerReference.BODY_ID:
            assert malformed.comparable_problem == missing.comparable_problem
        elif not is_denied:
            assert malformed.errors == {f"/{rule.container_id_body_field}": "malformed"}
        is_exempt = operation.id in EXEMPT_OPERATIONS
        assert call_names(foreign) == call_names(repeated) == call_names(missing) or is_exempt


# A PUT creates missing records.
@parametrize_representatives(
    records_and_access_rule_of,
    lambda o: o.record_types_by_parameter and isinstance(o.access, RequireRole) and o.method != "PUT",
)
def test_foreign_record_is_indistinguishable_from_a_missing_one(operation, tenant):
    example = get_example(operation, tenant)
    tenant.warm_caches()
    for record in operation.record_types_by_parameter.values():
        name = record.parameter
        foreign_example = example.with_parameters(**{name: tenant.get_rivals_parameter(name)})
        for caller in (tenant.people.owner, tenant.people.member):
            foreign = request(operation, tenant, foreign_example, caller)
            missing = request(operation, tenant, example.with_unknown(name), caller)
            malformed = request(operation, tenant, example.with_parameters(**{name: "#"}), caller)
            assert foreign.status_and_code == "404 not_found"
            assert comparable(foreign) == comparable(missing)
            assert call_names(foreign) == call_names(missing)
            assert malformed.comparable_problem == missing.comparable_problem


@parametrize_access_rules(
    lambda o: (
        o.record_types_by_parameter
        and isinstance(o.access, RequireRole)
        and o.access.role is not Role.MEMBER
        and o.method != "PUT"
    )
)
def test_missing_record_is_reported_before_an_insufficient_role(operation, tenant):
    missing = get_example(operation, tenant).with_unknown(operation.path_parameter_names[-1])
    answer = call_operation(operation, tenant, missing, caller=tenant.people.member)
    assert answer.status_and_code == "404 not_found"
