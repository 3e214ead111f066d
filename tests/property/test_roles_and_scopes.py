"""Roles and scopes equal plain tables of the documented rules."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.memberships import role_in_container
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.permissions.roles import (
    Role,
    all_scopes,
    expand_scopes,
    role_of_general_scopes_or_member,
    scopes_allow,
    ungrantable_scopes,
)
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.harness.stored_records import new_id_and_time_fields

ORDER: Final = ("member", "editor", "admin", "owner")
REQUIREMENTS: Final = ("read:member", "read:editor", "read:admin", "write:member", "write:editor", "write:admin")
"""The access that an operation can require of an API key: the verb of its scope, and its role."""

ALLOWED_REQUIREMENTS: Final = {
    "read": {"read:member"},
    "write": {"read:member", "read:editor", "write:member", "write:editor"},
    "admin": set(REQUIREMENTS),
    "area:read": {"read:member", "read:editor", "read:admin"},
    "area:write": set(REQUIREMENTS),
    "other:read": set[str](),
    "other:write": set[str](),
}
"""The requirements in an area that each scope satisfies. `other` is another area."""

_AREAS: Final = tuple(area.name for area in scope_areas())
scope_sets = st.lists(st.sampled_from(all_scopes()), max_size=5)
requirements = st.tuples(st.sampled_from(_AREAS), st.sampled_from(REQUIREMENTS))


def allows(scopes: list[str], area: str, requirement: str) -> bool:
    verb, _, role = requirement.partition(":")
    return scopes_allow(scopes, f"{area}:{verb}", Role(role))


def table_key(scope: str, area: str) -> str:
    """Return the key of the table for a scope, as seen from an area."""
    if ":" not in scope:
        return scope
    scope_area, _, verb = scope.partition(":")
    return f"{'area' if scope_area == area else 'other'}:{verb}"


def test_a_role_includes_itself_and_lower_roles():
    for role, required in product(ORDER, ORDER):
        assert Role(role).includes(Role(required)) is (ORDER.index(role) >= ORDER.index(required))


@pytest.mark.parametrize("scope", all_scopes())
def test_a_scope_allows_what_the_table_contains(scope):
    for area in scope_areas():
        possible = {each for each in REQUIREMENTS if f"{area.name}:{each.partition(':')[0]}" in area.scopes}
        allowed = {requirement for requirement in possible if allows([scope], area.name, requirement)}
        assert allowed == ALLOWED_REQUIREMENTS[table_key(scope, area.name)] & possible


def test_the_former_write_scope_of_a_read_only_area_is_equal_to_its_read_scope():
    former, present = ["audit-log:write"], ["audit-log:read"]
    assert not {*former} & {*all_scopes()}
    assert expand_scopes(former) == expand_scopes(present) == {*present}
    assert ungrantable_scopes(former, present) == ungrantable_scopes(former, ["admin"]) == []
    assert ungrantable_scopes(former, ["write"]) == former


@given(scope_sets, requirements)
def test_several_scopes_allow_what_each_allows(scopes, requirement):
    assert allows(scopes, *requirement) is any(allows([scope], *requirement) for scope in scopes)


@given(scope_sets)
def test_a_key_has_the_highest_role_of_its_scopes(scopes):
    role_of_scope = {"admin": "admin", "write": "editor"}
    highest = max((ORDER.index(role_of_scope.get(scope, "member")) for scope in scopes), default=0)
    assert role_of_general_scopes_or_member(scopes) == ORDER[highest]


@given(scope_sets, scope_sets)
def test_exactly_the_scopes_that_allow_no_more_than_the_grantor_holds_can_be_granted(requested, held_scopes):
    rejected = ungrantable_scopes(requested, held_scopes)
    assert rejected == [scope for scope in requested if scope in rejected]
    granted = [scope for scope in requested if scope not in rejected]
    for area, requirement in product(_AREAS, REQUIREMENTS):
        assert not allows(granted, area, requirement) or allows(held_scopes, area, requirement)
    assert ungrantable_scopes([scope for scope in requested if scope in held_scopes], held_scopes) == []
    assert ungrantable_scopes(requested, ["admin"]) == []


ADMINS: Final = (Role.ADMIN, Role.OWNER)
ORGANIZATION_ROLES: Final = (None, *Role)
LOWER_ROLES: Final = (None, Role.MEMBER, Role.EDITOR, Role.ADMIN)

base_fields = new_id_and_time_fields(now())
organization = Organization(**base_fields, name="O", slug="o", owner_id="x")
platform = Platform(**base_fields, organization_id="o", name="P", slug="p")
space = Space(**base_fields, organization_id="o", platform_id="p", name="S", slug="s")


@pytest.mark.parametrize("visibility", ["open", "private"])
@pytest.mark.parametrize("roles", [*product(ORGANIZATION_ROLES, LOWER_ROLES, LOWER_ROLES)])
def test_the_roles_on_a_platform_and_in_a_space(roles, visibility):
    at_organization, at_platform, in_space = roles
    organization_role = role_in_container(organization, at_organization, None)
    platform_role = role_in_container(platform, at_platform, organization_role)
    role = role_in_container(space.replace(visibility=visibility), in_space, platform_role)
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
