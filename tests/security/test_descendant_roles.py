"""A role in one container grants access to that container only, not to its parent, siblings or other tenants."""

from typing import Final

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.catalogue.test_permissions import expected_for_outsiders, is_public, outcome_of
from tests.harness.callers import Person
from tests.harness.parametrize_operations import parametrize_operations
from tests.harness.platforms import add_platform_member, add_space_member

DESCENDANT_ROLES: Final = (Role.MEMBER, Role.EDITOR, Role.ADMIN)


def create_platform_member(world: TenantFixture, role: Role) -> Person:
    """Create a person with a role in the platform who is not a member of its organization."""
    person = world.people.issuer.create_person(f"lise-{role}", "Lise Meitner")
    add_platform_member(world.platform, person, role)
    return person


def create_space_member(world: TenantFixture, role: Role) -> Person:
    """Create a person with a role in the space who is a plain member of the platform."""
    person = create_platform_member(world, Role.MEMBER)
    add_space_member(world.space, person, role)
    return person


def by_role_scope(kind: type[Container]) -> pytest.MarkDecorator:
    """Parametrize a test with the operations that require a role in containers of this type."""
    return parametrize_operations(
        lambda o: (
            isinstance(o.access, RequireRole)
            and o.access.role
            and o.access.role_container_type is kind
            and not is_public(o)
        )
    )


def expected_outcome(operation: Operation, role: Role) -> str:
    assert isinstance(operation.access, RequireRole)
    assert operation.access.role
    order = list(Role)
    is_sufficient = order.index(role) >= order.index(operation.access.role)
    return "success" if is_sufficient else "403 insufficient_role"


@by_role_scope(Platform)
def test_platform_role_decides_access_to_the_platform(operation, tenant, restore_tenant):
    for role in DESCENDANT_ROLES:
        person = restore_tenant(create_platform_member, role)
        assert outcome_of(operation, call_operation(operation, tenant, caller=person)) == expected_outcome(
            operation, role
        )


@by_role_scope(Platform)
def test_space_role_grants_nothing_in_the_platform(operation, tenant, restore_tenant):
    person = restore_tenant(create_space_member, Role.ADMIN)
    assert outcome_of(operation, call_operation(operation, tenant, caller=person)) == expected_outcome(
        operation, Role.MEMBER
    )


@by_role_scope(Space)
def test_space_role_decides_access_to_the_space(operation, tenant, restore_tenant):
    for role in DESCENDANT_ROLES:
        person = restore_tenant(create_space_member, role)
        assert outcome_of(operation, call_operation(operation, tenant, caller=person)) == expected_outcome(
            operation, role
        )


@parametrize_operations(
    lambda o: (
        isinstance(o.access, RequireRole) and o.access.role and o.access.role_container_type in (Organization, Site)
    )
)
def test_descendant_roles_grant_nothing_in_the_organization(operation, tenant, restore_tenant):
    assert isinstance(operation.access, RequireRole)
    for create_person in (create_platform_member, create_space_member):
        expected = expected_for_outsiders(operation, tenant)
        if operation.access.container_type is Platform:
            # The platform is visible to them, but the operation requires a role in the organization.
            expected = "403 insufficient_role"
        if operation.id == "list_invitations" and create_person is create_platform_member:
            expected = "success"  # Admins of a platform can list its invitations, of which there are none.
        assert (
            outcome_of(operation, call_operation(operation, tenant, caller=restore_tenant(create_person, Role.ADMIN)))
            == expected
        )


@by_role_scope(Platform)
def test_platform_admin_cannot_see_other_platforms(operation, tenant, restore_tenant):
    assert isinstance(operation.access, RequireRole)
    person, example, rule = (
        restore_tenant(create_platform_member, Role.ADMIN),
        get_example(operation, tenant),
        operation.access,
    )
    response = call_operation(
        operation,
        tenant,
        example.in_container(rule, tenant.get_rivals_parameter(rule.container_or_record_parameter)),
        caller=person,
    )
    assert response.status_and_code == "404 not_found"
