"""Effective roles on platforms and in spaces equal the documented rules."""

from itertools import product
from typing import Final

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.memberships import role_in_container
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from tests.harness.stored_records import new_id_and_time_fields

ADMINS: Final = (Role.ADMIN, Role.OWNER)
ORGANIZATION_ROLES: Final = (None, *Role)
LOWER_ROLES: Final = (None, Role.MEMBER, Role.EDITOR, Role.ADMIN)

base_fields = new_id_and_time_fields(now())
organization = Organization(**base_fields, name="O", slug="o", owner_id="x")
platform = Platform(**base_fields, organization_id="o", name="P", slug="p")
space = Space(**base_fields, organization_id="o", platform_id="p", name="S", slug="s")


def effective_roles(
    at_organization: Role | None, at_platform: Role | None, in_space: Role | None, space_variant: Space
) -> tuple[Role | None, Role | None]:
    """Return the effective roles on the platform and in the space."""
    platform_role = role_in_container(platform, at_platform, role_in_container(organization, at_organization, None))
    return platform_role, role_in_container(space_variant, in_space, platform_role)


@pytest.mark.parametrize("visibility", ["open", "private"])
@pytest.mark.parametrize("roles", [*product(ORGANIZATION_ROLES, LOWER_ROLES, LOWER_ROLES)])
def test_the_roles_on_a_platform_and_in_a_space(roles, visibility):
    at_organization, at_platform, in_space = roles
    platform_role, role = effective_roles(at_organization, at_platform, in_space, space.replace(visibility=visibility))
    if at_organization in ADMINS:
        assert platform_role is Role.ADMIN, "admins and owners of the organization are admins of the platform"
    elif at_platform:
        assert platform_role is at_platform, "otherwise the role of the membership applies"
    else:
        expected = Role.MEMBER if at_organization else None
        assert platform_role is expected, "without a membership, members of the organization are members"
    if at_organization in ADMINS or at_platform is Role.ADMIN:
        assert role is Role.ADMIN, "admins of the platform are admins of its spaces"
    elif in_space:
        assert role is in_space
    elif visibility == "open":
        expected = Role.MEMBER if platform_role else None
        assert role is expected, "every member of the platform is a member of an open space"
    else:
        assert role is None, "a private space is invisible to others"
