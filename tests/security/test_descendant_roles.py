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
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.catalogue.test_permissions import is_shown, to_strangers, told
from tests.harness.by_operation import by_operation
from tests.harness.callers import Person
from tests.harness.platforms import comes_in, takes_part

DESCENDANT_ROLES: Final = (Role.MEMBER, Role.EDITOR, Role.ADMIN)


def create_platform_member(world: World, role: Role) -> Person:
    """Create a person with a role in the platform who is not a member of its organization."""
    person = world.people.issuer.person(f"lise-{role}", "Lise Meitner")
    takes_part(world.platform, person, role)
    return person


def create_space_member(world: World, role: Role) -> Person:
    """Create a person with a role in the space who is a plain member of the platform."""
    person = create_platform_member(world, Role.MEMBER)
    comes_in(world.space, person, role)
    return person


def by_role_scope(kind: type[Container]) -> pytest.MarkDecorator:
    """Parametrize a test with the operations that require a role in containers of this type."""
    return by_operation(
        lambda o: (
            isinstance(o.access, RequireRole) and o.access.role and o.access.role_scope is kind and not is_shown(o)
        )
    )


def expected_outcome(operation: Operation, role: Role) -> str:
    assert isinstance(operation.access, RequireRole)
    assert operation.access.role
    order = list(Role)
    is_sufficient = order.index(role) >= order.index(operation.access.role)
    return "success" if is_sufficient else "403 insufficient_role"


@by_role_scope(Platform)
def test_platform_role_decides_access_to_the_platform(operation: Operation, world: World, begin: Begin) -> None:
    for role in DESCENDANT_ROLES:
        person = begin(create_platform_member, role)
        assert told(operation, perform(operation, world, as_=person)) == expected_outcome(operation, role)


@by_role_scope(Platform)
def test_space_role_grants_nothing_in_the_platform(operation: Operation, world: World, begin: Begin) -> None:
    person = begin(create_space_member, Role.ADMIN)
    assert told(operation, perform(operation, world, as_=person)) == expected_outcome(operation, Role.MEMBER)


@by_role_scope(Space)
def test_space_role_decides_access_to_the_space(operation: Operation, world: World, begin: Begin) -> None:
    for role in DESCENDANT_ROLES:
        person = begin(create_space_member, role)
        assert told(operation, perform(operation, world, as_=person)) == expected_outcome(operation, role)


@by_operation(
    lambda o: isinstance(o.access, RequireRole) and o.access.role and o.access.role_scope in (Organization, Site)
)
def test_descendant_roles_grant_nothing_in_the_organization(operation: Operation, world: World, begin: Begin) -> None:
    assert isinstance(operation.access, RequireRole)
    for create_person in (create_platform_member, create_space_member):
        expected = to_strangers(operation, world)
        if operation.access.container_type is Platform:
            # The platform is visible to them, but the operation requires a role in the organization.
            expected = "403 insufficient_role"
        if operation.id == "list_invitations" and create_person is create_platform_member:
            expected = "success"  # Admins of a platform can list its invitations, of which there are none.
        assert told(operation, perform(operation, world, as_=begin(create_person, Role.ADMIN))) == expected


@by_role_scope(Platform)
def test_platform_admin_cannot_see_other_platforms(operation: Operation, world: World, begin: Begin) -> None:
    assert isinstance(operation.access, RequireRole)
    person, example, rule = begin(create_platform_member, Role.ADMIN), example_of(operation, world), operation.access
    response = perform(operation, world, example.at(rule, world.rivals_own(rule.parameter)), as_=person)
    assert response.code == "404 not_found"
