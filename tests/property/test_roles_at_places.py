"""What somebody is at a platform and in a space, against plain sentences of the contract."""

from itertools import product
from typing import Final

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.memberships import role_at
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import Role
from tests.harness.stored_records import beginning

ADMINS: Final = (Role.ADMIN, Role.OWNER)
AT_ORGANIZATION: Final = (None, *Role)
BELOW: Final = (None, Role.MEMBER, Role.EDITOR, Role.ADMIN)

begun = beginning(now())
organization = Organization(**begun, name="O", slug="o", owner_id="x")
platform = Platform(**begun, organization_id="o", name="P", slug="p")
space = Space(**begun, organization_id="o", platform_id="p", name="S", slug="s")


def roles(
    at_organization: Role | None, at_platform: Role | None, in_space: Role | None, where: Space
) -> tuple[Role | None, Role | None]:
    """The role at the platform and the one in the space, by the service."""
    role = role_at(platform, at_platform, role_at(organization, at_organization, None))
    return role, role_at(where, in_space, role)


@pytest.mark.parametrize(("at_organization", "at_platform"), [*product(AT_ORGANIZATION, BELOW)])
def test_at_a_platform(at_organization: Role | None, at_platform: Role | None) -> None:
    found, _ = roles(at_organization, at_platform, None, space)
    if at_organization in ADMINS:
        assert found is Role.ADMIN, "admins of the organization and its owner act as admins"
    elif at_platform:
        assert found is at_platform, "else it is that of the member record"
    else:
        assert found is (Role.MEMBER if at_organization else None), "or, lacking one, member"


@pytest.mark.parametrize("visibility", ["open", "private"])
@pytest.mark.parametrize("who", [*product(AT_ORGANIZATION, BELOW, BELOW)])
def test_in_a_space(who: tuple[Role | None, Role | None, Role | None], visibility: str) -> None:
    at_organization, at_platform, in_space = who
    above, found = roles(*who, space.replace(visibility=visibility))
    if at_organization in ADMINS or at_platform is Role.ADMIN:
        assert found is Role.ADMIN, "a platform's admin acts as admin on its spaces"
    elif in_space:
        assert found is in_space
    elif visibility == "open":
        assert found is (Role.MEMBER if above else None), "at an open space every platform member is a member"
    else:
        assert found is None, "a private space is not there for those outside"
