"""Erasures in the platforms, spaces and taxonomies of an organization."""

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
    """Three published platforms of Ada's organization with an open join policy."""
    return [run_platform(api, organization, published=True, joinPolicy="open", name=f"P{n}") for n in range(3)]


@pytest.fixture
def spaces(api: Api, platforms: list[Running]) -> list[Room]:
    """Two spaces in each platform."""
    return [make_space(api, platform, name=f"S{n}") for platform in platforms for n in range(2)]


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> Erase:
    """A function that completes the erasure of a person in the organization."""
    return partial(erased, api, workers, clock, organization)


def join_all(api: Api, person: Person, platforms: list[Running], spaces: list[Room]) -> None:
    for path in [*(platform.path for platform in platforms), *(space.path for space in spaces)]:
        assert api.post(f"{path}/join", as_=person).status == 200


def member_usernames(api: Api, container: Running | Room) -> list[str]:
    owner = container.owner if isinstance(container, Running) else container.platform.owner
    return [m["username"] for m in api.items(f"{container.path}/members", as_=owner)]


class TestMembersOfPlatformsAndSpaces:
    @pytest.mark.parametrize("field", ["email", "userId"])
    def test_the_person_is_removed_and_other_members_stay(
        self,
        api: Api,
        platforms: list[Running],
        spaces: list[Room],
        mary: Person,
        stranger: Person,
        erase: Erase,
        field: str,
    ) -> None:
        for person in (mary, stranger):
            join_all(api, person, platforms, spaces)
        identity = {"email": stranger.email, "userId": stranger.id}
        record = erase(**{field: identity[field]})
        assert left_of(stranger.id, stranger.email, stranger.username) == []
        assert record["erasedRecords"] == 9
        assert [member_usernames(api, platform) for platform in platforms] == [["mary"]] * 3
        assert [member_usernames(api, space) for space in spaces] == [["ada", "mary"]] * 6
        assert api.get(platforms[0].path, as_=stranger).code == "404 not_found"

    def test_an_admin_of_the_organization_and_of_platforms_is_removed(
        self,
        api: Api,
        organization: Founded,
        platforms: list[Running],
        spaces: list[Room],
        grace: Person,
        erase: Erase,
    ) -> None:
        join_all(api, grace, platforms, spaces)
        invite(api, platforms[0], SOPHIE, as_=grace)
        is_made(api, platforms[1], grace, "admin")
        erase(email=grace.email)
        assert left_of(grace.id, grace.email, grace.username) == []
        (invitation,) = api.items(f"{organization.path}/invitations", as_=organization.owner)
        assert (invitation["status"], invitation["invitedBy"]) == ("revoked", None)
        assert asked_to_invite(api, platforms[0], SOPHIE).status == 201

    @pytest.mark.usefixtures("spaces")
    def test_invited_people_are_removed(
        self, api: Api, platforms: list[Running], stranger: Person, erase: Erase, clock: Clock
    ) -> None:
        accepts(api, invite(api, platforms[0], stranger), stranger)
        invite(api, platforms[1], stranger, expiresInDays=1)
        clock.shift(days=1, seconds=1)
        invite(api, platforms[2], stranger)
        erase(email=stranger.email)
        assert left_of(stranger.email, stranger.id) == []

    def test_the_guard_of_an_expired_invitation_does_not_name_the_inviter(
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

    def test_an_interrupted_erasure_of_many_memberships_is_completed(
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
        join_all(api, stranger, platforms, spaces)
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


class TestTexts:
    def test_texts_of_platforms_and_spaces_are_redacted(
        self, api: Api, organization: Founded, platforms: list[Running], erase: Erase
    ) -> None:
        platform, owner = platforms[0], organization.owner
        text = f"Ask {SOPHIE}."
        api.patch(platform.path, as_=owner, json={"name": text, "description": text})
        link = {"id": "ask", "label": text, "type": "url", "target": "https://example.org/"}
        assert api.patch(f"{platform.path}/navigation", as_=owner, json={"items": [link]}).status == 200
        blocks = [{"id": "hello", "type": "hero", "settings": {SOPHIE: [text]}}]
        assert api.patch(f"{platform.path}/home", as_=owner, json={"blocks": blocks}).status == 200
        space = make_space(api, platform, name="Looms", description=text)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        record = api.get(platform.path, as_=owner).json
        assert (record["name"], record["description"], record["navigation"]["items"][0]["label"]) == ("Ask ….",) * 3
        assert record["home"]["blocks"][0]["settings"] == {"…": ["Ask …."]}
        assert api.get(space.path, as_=owner).json["description"] == "Ask …."
        (entry, *_) = api.items(f"{organization.path}/domains/inventory", as_=owner)
        assert entry["platformName"] == "Ask …."

    def test_nodes_of_a_taxonomy_are_redacted_and_found_by_the_remaining_text(
        self, api: Api, platforms: list[Running], erase: Erase
    ) -> None:
        texts: dict[str, Any] = {"description": f"Ask {SOPHIE}.", "altLabels": [f"{SOPHIE}'s", f"About {SOPHIE}"]}
        node = plant(api, platforms[0], f"Notes of {SOPHIE}", slug="notes", **texts)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        record = api.get(node.path, as_=platforms[0].owner).json
        assert (record["name"], record["altLabels"]) == ("Notes of …", ["…'s", "About …"])
        assert resolve(api, platforms[0], slug="about …").json["node"]["id"] == node.id

    def test_usernames_that_are_the_erased_email_address_are_removed(
        self, api: Api, platforms: list[Running], issuer: Issuer, erase: Erase
    ) -> None:
        members = [issuer.person(f"{n}@example.org", f"Person {n}", email=f"{n}@example.com") for n in range(2)]
        for member in members:
            assert api.post(f"{platforms[0].path}/join", as_=member).status == 200
            erase(email=member.username)
            assert left_of(member.username) == []
        assert member_usernames(api, platforms[0]) == [None, None]


def test_a_former_member_whose_memberships_are_not_all_removed_yet_is_erased(
    api: Api, platforms: list[Running], stranger: Person, erase: Erase
) -> None:
    spaces = [make_space(api, platforms[0], name=f"Room {n}") for n in range(42)]
    join_all(api, stranger, platforms[:1], spaces)
    assert api.post(f"{platforms[0].path}/leave", as_=stranger).status == 204
    erase(userId=stranger.id)
    assert left_of(stranger.id, stranger.email) == []
