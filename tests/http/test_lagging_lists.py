"""Lists while indexes are behind: of members they show the role that is stored, and nobody who has gone."""

from collections.abc import Callable, Iterator

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part
from tests.harness.sources import Library, World, works
from tests.harness.workers import Workers

Place = Founded | Running | Room


@pytest.fixture(params=LAGS, autouse=True)
def lag(request: pytest.FixtureRequest, organization: Founded) -> Iterator[Lag]:
    """Indexes that lag behind what happens in a test."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A platform."""
    return run_platform(api, organization)


@pytest.fixture(params=["organization", "platform", "space"])
def place(
    request: pytest.FixtureRequest, api: Api, organization: Founded, platform: Running, stranger: Person, lag: Lag
) -> Place:
    """A place that a stranger has joined, as indexes show."""
    joined: dict[str, Callable[[], Place]] = {
        "organization": lambda: organization,
        "platform": lambda: platform,
        "space": lambda: make_space(api, platform),
    }
    place = joined[request.param]()
    if isinstance(place, Founded):
        joins(place, stranger, "member")
    elif isinstance(place, Running):
        takes_part(place, stranger)
    else:
        comes_in(place, stranger)
    lag.catch_up()
    return place


def roles(api: Api, place: Place, as_: Person) -> dict[str, str]:
    """Return who is listed as a member of a place, and with which role."""
    return {member["userId"]: member["role"] for member in api.items(f"{place.path}/members", as_=as_)}


class TestMembers:
    def test_are_shown_with_the_role_that_they_have(
        self, api: Api, organization: Founded, place: Place, stranger: Person
    ) -> None:
        owner = organization.owner
        assert roles(api, place, owner)[stranger.id] == "member"
        answer = api.patch(f"{place.path}/members/{stranger.id}", as_=owner, json={"role": "editor"})
        assert answer.status == 200
        assert roles(api, place, owner)[stranger.id] == "editor"

    def test_are_not_shown_once_they_are_removed(
        self, api: Api, organization: Founded, place: Place, stranger: Person
    ) -> None:
        assert api.delete(f"{place.path}/members/{stranger.id}", as_=organization.owner).status == 204
        assert stranger.id not in roles(api, place, organization.owner)

    def test_of_a_place_below_are_not_shown_once_they_are_removed_from_the_one_above(
        self, api: Api, organization: Founded, platform: Running, mary: Person, lag: Lag
    ) -> None:
        space = make_space(api, platform)
        lag.catch_up()  # What follows is not known to the index by which a removal finds what goes with a member.
        takes_part(platform, mary)
        comes_in(space, mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        for place in (platform, space):
            assert mary.id not in roles(api, place, organization.owner)
            seconds, lag.seconds = lag.seconds, 0
            assert mary.id not in roles(api, place, organization.owner)
            lag.seconds = seconds


class TestOrganizations:
    def test_are_not_shown_to_who_was_removed(self, api: Api, organization: Founded, mary: Person, lag: Lag) -> None:
        lag.catch_up()
        assert len(api.items("/organizations", as_=mary)) == 1
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/organizations", as_=mary) == []


class TestResearch:
    def test_is_not_shown_to_who_was_removed(
        self, api: Api, organization: Founded, workers: Workers, world: World, mary: Person, lag: Lag
    ) -> None:
        world.knows(works(1))
        Library(api, workers, organization.owner, organization.id).imported()
        lag.catch_up()
        assert api.items("/research/artefacts", as_=mary)
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert api.items("/research/artefacts", as_=mary) == []
