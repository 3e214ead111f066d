"""An erasure reaches a person wherever they are in an organization's platforms and spaces."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from chalicelib.features.privacy.erasures import tasks
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE, accepts, asked_to_invite, invite
from tests.harness.organizations import Founded
from tests.harness.platforms import Room, Running, is_made, make_space, run_platform
from tests.harness.taxonomy import plant, resolve
from tests.harness.workers import Workers

Erase = Callable[..., Json]


@pytest.fixture
def platforms(api: Api, organization: Founded) -> list[Running]:
    """Three platforms of Ada's organization that everybody can join."""
    return [run_platform(api, organization, published=True, joinPolicy="open", name=f"P{n}") for n in range(3)]


@pytest.fixture
def spaces(api: Api, platforms: list[Running]) -> list[Room]:
    """Two spaces in each."""
    return [make_space(api, platform, name=f"S{n}") for platform in platforms for n in range(2)]


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> Erase:
    """Erase somebody of the organization, to the end."""
    return partial(erased, api, workers, clock, organization)


def joins_all(api: Api, person: Person, platforms: list[Running], spaces: list[Room]) -> None:
    for path in [*(platform.path for platform in platforms), *(space.path for space in spaces)]:
        assert api.post(f"{path}/join", as_=person).status == 200


def usernames(api: Api, place: Running | Room) -> list[str]:
    owner = place.owner if isinstance(place, Running) else place.platform.owner
    return [m["username"] for m in api.items(f"{place.path}/members", as_=owner)]


class TestSomebodyInPlatformsAndSpaces:
    @pytest.mark.parametrize("by", ["email", "userId"])
    def test_leaves_nothing_and_others_stay_what_they_are(
        self,
        api: Api,
        platforms: list[Running],
        spaces: list[Room],
        mary: Person,
        stranger: Person,
        erase: Erase,
        by: str,
    ) -> None:
        for person in (mary, stranger):
            joins_all(api, person, platforms, spaces)
        whom = {"email": stranger.email, "userId": stranger.id}
        record = erase(**{by: whom[by]})
        assert left_of(stranger.id, stranger.email, stranger.username) == []
        assert record["erasedRecords"] == 9
        assert [usernames(api, place) for place in platforms] == [["mary"]] * 3
        assert [usernames(api, place) for place in spaces] == [["ada", "mary"]] * 6
        assert api.get(platforms[0].path, as_=stranger).code == "404 not_found"

    def test_of_the_organization_too_leaves_nothing_of_either(
        self,
        api: Api,
        organization: Founded,
        platforms: list[Running],
        spaces: list[Room],
        grace: Person,
        erase: Erase,
    ) -> None:
        joins_all(api, grace, platforms, spaces)
        invite(api, platforms[0], SOPHIE, as_=grace)
        is_made(api, platforms[1], grace, "admin")
        erase(email=grace.email)
        assert left_of(grace.id, grace.email, grace.username) == []
        (invited,) = api.items(f"{organization.path}/invitations", as_=organization.owner)
        assert (invited["status"], invited["invitedBy"]) == ("revoked", None)
        assert asked_to_invite(api, platforms[0], SOPHIE).status == 201

    @pytest.mark.usefixtures("spaces")
    def test_who_was_invited_to_a_platform_leaves_nothing(
        self, api: Api, platforms: list[Running], stranger: Person, erase: Erase, clock: Clock
    ) -> None:
        accepts(api, invite(api, platforms[0], stranger), stranger)
        invite(api, platforms[1], stranger, expiresInDays=1)
        clock.shift(days=1, seconds=1)
        invite(api, platforms[2], stranger)
        erase(email=stranger.email)
        assert left_of(stranger.email, stranger.id) == []

    def test_whose_invitation_has_expired_is_named_by_no_reserved_address(
        self, api: Api, organization: Founded, platforms: list[Running], grace: Person, workers: Workers, clock: Clock
    ) -> None:
        invite(api, platforms[0], SOPHIE, as_=grace, expiresInDays=1)
        workers.deliver()
        clock.shift(days=1, seconds=1)
        path = begin_erasure(api, organization, userId=grace.id)
        workers.deliver()
        assert found_at(api, organization, path)["status"] == "completed"
        assert [key for key in left_of(grace.id) if key[0].startswith("U#")] == []
        finish(workers, clock)
        assert left_of(grace.id) == []

    def test_however_many_places_there_are_and_whenever_it_is_interrupted(
        self,
        api: Api,
        organization: Founded,
        platforms: list[Running],
        spaces: list[Room],
        stranger: Person,
        workers: Workers,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        joins_all(api, stranger, platforms, spaces)
        workers.settle()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        monkeypatch.setattr(tasks, "_CONTAINER_PAGE_SIZE", 1)
        path = begin_erasure(api, organization, userId=stranger.id)
        for at in (9, 14, 23):
            with failing(Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=at, times=None) as injected:
                workers.attempt()
            assert injected.hit
            clock.shift(minutes=4)
            workers.sweep()
        finish(workers, clock)
        record = found_at(api, organization, path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 9)
        assert left_of(stranger.id, stranger.email) == []


class TestTextsOfPlatformsAndSpaces:
    def test_name_the_person_no_more(
        self, api: Api, organization: Founded, platforms: list[Running], erase: Erase
    ) -> None:
        platform, owner = platforms[0], organization.owner
        words = f"Ask {SOPHIE}."
        api.patch(platform.path, as_=owner, json={"name": words, "description": words})
        link = {"id": "ask", "label": words, "type": "url", "target": "https://example.org/"}
        assert api.patch(f"{platform.path}/navigation", as_=owner, json={"items": [link]}).status == 200
        blocks = [{"id": "hello", "type": "hero", "settings": {SOPHIE: [words]}}]
        assert api.patch(f"{platform.path}/home", as_=owner, json={"blocks": blocks}).status == 200
        space = make_space(api, platform, name="Looms", description=words)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        shown = api.get(platform.path, as_=owner).json
        assert (shown["name"], shown["description"], shown["navigation"]["items"][0]["label"]) == ("Ask ….",) * 3
        assert shown["home"]["blocks"][0]["settings"] == {"…": ["Ask …."]}
        assert api.get(space.path, as_=owner).json["description"] == "Ask …."
        (entry, *_) = api.items(f"{organization.path}/domains/inventory", as_=owner)
        assert entry["platformName"] == "Ask …."

    def test_nor_do_the_nodes_of_a_taxonomy_which_are_found_by_what_is_left(
        self, api: Api, platforms: list[Running], erase: Erase
    ) -> None:
        words: dict[str, Any] = {"description": f"Ask {SOPHIE}.", "altLabels": [f"{SOPHIE}'s", f"About {SOPHIE}"]}
        node = plant(api, platforms[0], f"Notes of {SOPHIE}", slug="notes", **words)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        shown = api.get(node.path, as_=platforms[0].owner).json
        assert (shown["name"], shown["altLabels"]) == ("Notes of …", ["…'s", "About …"])
        assert resolve(api, platforms[0], slug="about …").json["node"]["id"] == node.id

    def test_members_whose_username_is_the_address_have_none_any_more(
        self, api: Api, platforms: list[Running], issuer: Issuer, erase: Erase
    ) -> None:
        others = [issuer.person(f"{n}@example.org", f"Person {n}", email=f"{n}@example.com") for n in range(2)]
        for other in others:
            assert api.post(f"{platforms[0].path}/join", as_=other).status == 200
            erase(email=other.username)
            assert left_of(other.username) == []
        assert usernames(api, platforms[0]) == [None, None]


def test_who_has_left_with_more_than_went_at_once_leaves_nothing(
    api: Api, platforms: list[Running], stranger: Person, erase: Erase
) -> None:
    rooms = [make_space(api, platforms[0], name=f"Room {n}") for n in range(42)]
    joins_all(api, stranger, platforms[:1], rooms)
    assert api.post(f"{platforms[0].path}/leave", as_=stranger).status == 204
    erase(userId=stranger.id)
    assert left_of(stranger.id, stranger.email) == []
