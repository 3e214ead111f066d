"""Lists while indexes lag: they show the stored roles of members, and no former members."""

from collections.abc import Callable

import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.index_lag import IndexLag
from tests.harness.organizations import CreatedOrganization, add_organization_member
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)
from tests.harness.research_sources import ResearchClient, build_works

pytestmark = pytest.mark.usefixtures("lag")

Container = CreatedOrganization | CreatedPlatform | CreatedSpace


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A platform."""
    return create_platform(api, organization)


@pytest.fixture(params=["organization", "platform", "space"])
def container(
    request: pytest.FixtureRequest,
    api: ApiClient,
    organization: CreatedOrganization,
    platform: CreatedPlatform,
    stranger: Person,
    lag: IndexLag,
) -> Container:
    """A container that the stranger has joined, which indexes show."""
    factories: dict[str, Callable[[], Container]] = {
        "organization": lambda: organization,
        "platform": lambda: platform,
        "space": lambda: create_space(api, platform),
    }
    container = factories[request.param]()
    if isinstance(container, CreatedOrganization):
        add_organization_member(container, stranger, "member")
    elif isinstance(container, CreatedPlatform):
        add_platform_member(container, stranger)
    else:
        add_space_member(container, stranger)
    lag.catch_up()
    return container


def list_roles(api: ApiClient, container: Container, caller: Person) -> dict[str, str]:
    """Return the roles of a container's listed members by user id."""
    return {member["userId"]: member["role"] for member in api.get_items(f"{container.path}/members", caller=caller)}


class TestMembers:
    def test_members_are_listed_with_their_current_role(self, api, organization, container, stranger):
        owner = organization.owner
        assert list_roles(api, container, owner)[stranger.id] == "member"
        answer = api.patch(f"{container.path}/members/{stranger.id}", caller=owner, json={"role": "editor"})
        assert answer.status == 200
        assert list_roles(api, container, owner)[stranger.id] == "editor"

    def test_removed_members_are_not_listed(self, api, organization, container, stranger):
        assert api.delete(f"{container.path}/members/{stranger.id}", caller=organization.owner).status == 204
        assert stranger.id not in list_roles(api, container, organization.owner)

    def test_members_removed_from_the_organization_are_not_listed_in_its_platforms_and_spaces(
        self, api, organization, platform, mary, lag
    ):
        space = create_space(api, platform)
        lag.catch_up()  # The index through which a removal finds descendant memberships lacks the following ones.
        add_platform_member(platform, mary)
        add_space_member(space, mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        for container in (platform, space):
            assert mary.id not in list_roles(api, container, organization.owner)
            seconds, lag.seconds = lag.seconds, 0
            assert mary.id not in list_roles(api, container, organization.owner)
            lag.seconds = seconds


class TestOrganizations:
    def test_an_organization_is_not_listed_for_a_removed_member(self, api, organization, mary, lag):
        lag.catch_up()
        assert len(api.get_items("/organizations", caller=mary)) == 1
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        assert api.get_items("/organizations", caller=mary) == []


class TestResearch:
    def test_research_is_not_listed_for_a_removed_member(self, api, organization, workers, research_sources, mary, lag):
        research_sources.set_works(build_works(1))
        ResearchClient(api, workers, organization.owner, organization.id).import_works()
        lag.catch_up()
        assert api.get_items("/research/artefacts", caller=mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        assert api.get_items("/research/artefacts", caller=mary) == []
