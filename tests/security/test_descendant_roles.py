"""Who takes part in one place only: what their role there may, and nothing above it, beside it or of others."""

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

BELOW: Final = (Role.MEMBER, Role.EDITOR, Role.ADMIN)


def of_the_platform(world: World, role: Role) -> Person:
    """Somebody who has a role at the platform, and is no member of its organization."""
    person = world.people.issuer.person(f"lise-{role}", "Lise Meitner")
    takes_part(world.platform, person, role)
    return person


def of_the_space(world: World, role: Role) -> Person:
    """Somebody who is a plain member of the platform, and has a role in the space."""
    person = of_the_platform(world, Role.MEMBER)
    comes_in(world.space, person, role)
    return person


def judged_at(kind: type[Container]) -> pytest.MarkDecorator:
    """The operations that need a role at a place of this kind."""
    return by_operation(
        lambda o: (
            isinstance(o.access, RequireRole) and o.access.role and o.access.role_scope is kind and not is_shown(o)
        )
    )


def expected(operation: Operation, role: Role) -> str:
    assert isinstance(operation.access, RequireRole)
    assert operation.access.role
    order = list(Role)
    enough = order.index(role) >= order.index(operation.access.role)
    return "success" if enough else "403 insufficient_role"


@judged_at(Platform)
def test_platform_role_decides_access_to_the_platform(operation: Operation, world: World, begin: Begin) -> None:
    for role in BELOW:
        person = begin(of_the_platform, role)
        assert told(operation, perform(operation, world, as_=person)) == expected(operation, role)


@judged_at(Platform)
def test_space_role_grants_nothing_in_the_platform(
    operation: Operation, world: World, begin: Begin
) -> None:
    person = begin(of_the_space, Role.ADMIN)
    assert told(operation, perform(operation, world, as_=person)) == expected(operation, Role.MEMBER)


@judged_at(Space)
def test_space_role_decides_access_to_the_space(operation: Operation, world: World, begin: Begin) -> None:
    for role in BELOW:
        person = begin(of_the_space, role)
        assert told(operation, perform(operation, world, as_=person)) == expected(operation, role)


@by_operation(
    lambda o: isinstance(o.access, RequireRole) and o.access.role and o.access.role_scope in (Organization, Site)
)
def test_descendant_roles_grant_nothing_in_the_organization(
    operation: Operation, world: World, begin: Begin
) -> None:
    assert isinstance(operation.access, RequireRole)
    for made in (of_the_platform, of_the_space):
        wanted = to_strangers(operation, world)
        if operation.access.container_type is Platform:
            wanted = "403 insufficient_role"  # It is theirs too, and takes a role above it.
        if operation.id == "list_invitations" and made is of_the_platform:
            wanted = "success"  # It shows admins of a platform what leads there: nothing, here.
        assert told(operation, perform(operation, world, as_=begin(made, Role.ADMIN))) == wanted


@judged_at(Platform)
def test_platform_admin_cannot_see_other_platforms(operation: Operation, world: World, begin: Begin) -> None:
    assert isinstance(operation.access, RequireRole)
    person, example, needs = begin(of_the_platform, Role.ADMIN), example_of(operation, world), operation.access
    theirs = perform(operation, world, example.at(needs, world.rivals_own(needs.parameter)), as_=person)
    assert theirs.code == "404 not_found"
