"""The roles of callers on platforms and in spaces: their own, and those that follow from a role above."""

import pytest

from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_platform_member, add_space_member

NOT_FOUND = "404 not_found"


def role_or_problem(place, caller):
    answer = place.get("/role", caller=caller)
    return answer.json["role"] if answer.status == 200 else answer.status_and_code


@pytest.fixture
def published_platform(new_platform):
    return new_platform(publish=True)


def test_a_role_on_a_platform_is_that_of_the_membership_or_follows_from_the_organization(
    published_platform, grace, edith, mary, stranger
):
    add_platform_member(published_platform, mary, "editor")
    callers = (published_platform.owner, grace, mary, edith, stranger)
    roles = ["admin", "admin", "editor", "member", NOT_FOUND]
    assert [role_or_problem(published_platform, caller) for caller in callers] == roles
    add_platform_member(published_platform, stranger)
    assert role_or_problem(published_platform, stranger) == "member"


def test_a_role_in_a_space_is_that_of_the_membership_or_follows_from_the_platform(
    published_platform, new_space, grace, edith, mary, stranger
):
    add_platform_member(published_platform, edith, "admin")
    add_platform_member(published_platform, stranger)
    open_space = new_space(published_platform)
    secret_space = new_space(published_platform, name="Secret", visibility="private")
    add_space_member(secret_space, mary, "editor")
    roles = {grace: ["admin"] * 2, edith: ["admin"] * 2, mary: ["member", "editor"], stranger: ["member", NOT_FOUND]}
    for caller, expected in roles.items():
        assert [role_or_problem(space, caller) for space in (open_space, secret_space)] == expected


def test_a_key_has_the_role_of_its_scopes(api, organization, published_platform):
    for scope, role in (("read", "member"), ("write", "editor"), ("admin", "admin")):
        assert role_or_problem(published_platform, create_api_key(api, organization, scope)) == role
    assert (
        role_or_problem(published_platform, create_api_key(api, organization, "spaces:read"))
        == "403 insufficient_scope"
    )
