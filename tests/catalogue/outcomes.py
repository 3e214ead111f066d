"""Outcomes of examples of operations, for the tests of permissions."""

from typing import Any, Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers
from tests.harness.api import ApiResponse

REJECTED_KEYS: Final = {
    "revoked": "401 api_key_revoked",
    "rotated": "401 api_key_revoked",
    "expired": "401 api_key_expired",
    "elsewhere": "403 ip_not_allowed",
}
"""The reasons why keys are rejected, and the problem of each."""


def is_public(operation: Operation) -> bool:
    """Return whether the target of an operation's example is public. The site is published, the platform is not."""
    access = operation.access
    return operation.allows_anonymous or (
        isinstance(access, RequireRole) and access.if_published and access.container_type is Site
    )


def is_visible_only_to_creator(operation: Operation, tenant: TenantFixture) -> bool:
    of_a_record = bool(operation.path_parameter_names) and not isinstance(operation.access, RequireRole)
    return of_a_record and get_example(operation, tenant).only_caller is not None


def is_open_to_all_callers(operation: Operation, tenant: TenantFixture) -> bool:
    return is_public(operation) and get_example(operation, tenant).only_caller is None


def is_open_to_every_key(operation: Operation, tenant: TenantFixture) -> bool:
    needs_no_scope = operation.access is Caller.PRINCIPAL and operation.scope is None
    return needs_no_scope or is_open_to_all_callers(operation, tenant)


def outcome_of(operation: Operation, answer: ApiResponse) -> str:
    """Return `success` or the problem."""
    return "success" if answer.status == operation.success else answer.status_and_code


def outcome_of_call(operation: Operation, tenant: TenantFixture, caller: callers.Caller | None, **options: Any) -> str:
    return outcome_of(operation, call_operation(operation, tenant, caller=caller, **options))


def get_area(operation: Operation) -> str:
    """Return the area of an operation's scope, or an empty text without a scope."""
    return (operation.scope or "").partition(":")[0]
