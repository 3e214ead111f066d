"""Lists while indexes lag: they show the stored roles of members, and no former members."""

from collections.abc import Callable, Iterator

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part
from tests.harness.sources import Library, World, works
from tests.harness.workers import Workers

Container = Founded | Running | Room


@pytest.fixture(params=LAGS, autouse=True)
def lag(request: pytest.FixtureRequest, organization: Founded) -> Iterator[Lag]:
    """Indexes that lag behind every change of a test."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A platform."""
    return run_platform(api, organization)


@pytest.fixture(params=["organization", "platform", "space"])
def container(
    request: pytest.FixtureRequest, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
) -> Container:
    """A container that the stranger has joined, which indexes show."""
    factories: dict[str, Callable[[], Container]] = {
        "organization": lambda: organization,
        "platform": lambda: platform,
        "space": lambda: make_space(api, platform),
    }
    container = factories[request.param]()
    if isinstance(container, Founded):
        joins(container, stranger, "member")
    elif isinstance(container, Running):
        takes_part(container, stranger)
    else:
        comes_in(container, stranger)
    lag.catch_up()
    return container


def list_roles(api: Api, container: Container, as_: Person) -> dict[str, str]:
    """Return the roles of a container's listed members by user id."""
    return {member["userId"]: member["role"] for member in api.items(f"{container.path}/members", as_=as_)}


class TestMembers:
    def test_members_are_listed_with_their_current_role(
        self, api: Api, organization: Founded, container: Container, stranger: Person
    ) -> None:
        owner = organization.owner
        assert list_roles(api, container, owner)[stranger.id] == "member"
        answer = api.patch(f"{container.path}/members/{stranger.id}", as_=owner, json={"role": "editor"})
        assert answer.status == 200
        assert list_roles(api, container, owner)[stranger.id] == "editor"

    def test_removed_members_are_not_listed(
        self, api: Api, organization: Founded, container: Container, stranger: Person
    ) -> None:
        assert api.delete(f"{container.path}/members/{stranger.id}", as_=organization.owner).status == 204
        assert stranger.id not in list_roles(api, container, organization.owner)

    def test_members_removed_from_the_organization_are_not_listed_in_its_platforms_and_spaces(
        self, api: Api, organization: Founded, platform: Running, mary: Person, lag: Lag
    ) -> None:
        space = make_space(api, platform)
        lag.catch_up()  # The index through which a removal finds descendant memberships lacks the following ones.
        takes_part(platform, mary)
        comes_in(space, mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        for container in (platform, space):
            assert mary.id not in list_roles(api, container, organization.owner)
            seconds, lag.seconds = lag.seconds, 0
            assert mary.id not in list_roles(api, container, organization.owner)
            lag.seconds = seconds


class TestOrganizations:
    def test_an_organization_is_not_listed_for_a_removed_member(
        self, api: Api, organization: Founded, mary: Person, lag: Lag
    ) -> None:
        lag.catch_up()
        assert len(api.items("/organizations", as_=mary)) == 1
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/organizations", as_=mary) == []


class TestResearch:
    def test_research_is_not_listed_for_a_removed_member(
        self, api: Api, organization: Founded, workers: Workers, world: World, mary: Person, lag: Lag
    ) -> None:
        world.knows(works(1))
        Library(api, workers, organization.owner, organization.id).imported()
        lag.catch_up()
        assert api.items("/research/artefacts", as_=mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/research/artefacts", as_=mary) == []
