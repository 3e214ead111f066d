"""Departures: who leaves a place, or is removed from it, has no part any more in what lies below it, from then on."""

from collections.abc import Callable
from itertools import count

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import cloud, snapshots
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import overtaken
from tests.harness.logs import log_of, verify
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Room, Running, comes_in, make_space, run_platform, takes_part
from tests.harness.workers import Workers

Gone = Callable[[str, Person], None]
Wait = Callable[[], None]


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A platform of Ada's organization that everybody can join."""
    return run_platform(api, organization, published=True, joinPolicy="open")


@pytest.fixture
def cell(api: Api, platform: Running) -> Room:
    """A private space of it."""
    return make_space(api, platform, name="Cell", visibility="private")


@pytest.fixture
def elsewhere(api: Api, organization: Founded) -> Room:
    """A private space of another platform."""
    return make_space(api, run_platform(api, organization, name="Elsewhere"), visibility="private")


@pytest.fixture(params=["removed", "left"])
def gone(request: pytest.FixtureRequest, api: Api, organization: Founded) -> Gone:
    """Let somebody be removed from what is at a path, or leave it."""

    def gone(path: str, person: Person) -> None:
        if request.param == "removed":
            assert api.delete(f"{path}/members/{person.id}", as_=organization.owner).status == 204
        else:
            assert api.post(f"{path}/leave", as_=person).status == 204

    return gone


@pytest.fixture
def wait(workers: Workers, clock: Clock) -> Wait:
    """Let the time go by that a departure takes."""

    def wait() -> None:
        for _ in range(2):
            clock.shift(minutes=1, seconds=10)
            workers.settle()

    return wait


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that shows nothing yet while somebody leaves."""
    monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])


@pytest.fixture(params=["in time", "late"])
def index(request: pytest.FixtureRequest) -> None:
    """An index that shows what there is, or nothing yet."""
    if request.param == "late":
        request.getfixturevalue("late")


def take_part(person: Person, *rooms: Room) -> None:
    """Let a person be an admin of some spaces and of their platforms."""
    for platform in {room.platform.id: room.platform for room in rooms}.values():
        takes_part(platform, person, "admin")
    for room in rooms:
        comes_in(room, person, "admin")


def sees(api: Api, person: Person, *paths: str) -> list[int]:
    return [api.get(path, as_=person).status for path in paths]


def held(person: Person) -> list[str]:
    """What is stored of somebody's memberships and departures."""
    kinds = ("organization.member", "platform.member", "space.member", "organization.departure", "platform.departure")
    return sorted(i["kind"] for i in cloud.stored() if i.get("user_id") == person.id and i.get("kind") in kinds)


@pytest.mark.usefixtures("index")
class TestWhoLeavesAnOrganization:
    def test_has_no_part_in_its_platforms_and_spaces_from_then_on(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        cell: Room,
        elsewhere: Room,
        mary: Person,
        gone: Gone,
        wait: Wait,
    ) -> None:
        take_part(mary, cell, elsewhere)
        paths = (platform.path, cell.path, elsewhere.path)
        assert sees(api, mary, *paths) == [200, 200, 200]
        gone(organization.path, mary)
        assert sees(api, mary, *paths) == [404, 404, 404]
        assert api.get("/platforms", as_=mary).json["items"] == []
        wait()
        assert sees(api, mary, *paths) == [404, 404, 404]
        assert held(mary) == []
        assert verify(api, organization)["valid"]

    def test_may_come_back_at_once(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        cell: Room,
        mary: Person,
        gone: Gone,
        wait: Wait,
        clock: Clock,
    ) -> None:
        take_part(mary, cell)
        clock.freeze()
        for _ in range(2):
            gone(organization.path, mary)
            joins(organization, mary, "member")
            assert sees(api, mary, platform.path, cell.path) == [200, 404]
            assert api.post(f"{platform.path}/join", as_=mary).json["role"] == "member"
            for path in (f"{platform.path}/members/{mary.id}", f"{cell.path}/members/{mary.id}"):
                added = api.patch(path, as_=organization.owner, json={"role": "editor"})
                assert (added.status, added.json["role"]) == (200, "editor")
            assert sees(api, mary, platform.path, cell.path) == [200, 200]
        wait()
        assert sees(api, mary, platform.path, cell.path) == [200, 200]
        assert held(mary) == ["organization.member", "platform.member", "space.member"]


@pytest.mark.usefixtures("index")
class TestWhoLeavesAPlatform:
    def test_has_no_part_in_its_spaces_from_then_on_but_in_those_of_others(
        self,
        api: Api,
        platform: Running,
        cell: Room,
        elsewhere: Room,
        stranger: Person,
        mary: Person,
        gone: Gone,
        wait: Wait,
    ) -> None:
        for person, left in ((stranger, 404), (mary, 200)):  # Mary belongs to the organization.
            take_part(person, cell, elsewhere)
            gone(platform.path, person)
            for _ in range(2):
                assert sees(api, person, platform.path, cell.path, elsewhere.path) == [left, 404, 200]
                wait()
        assert held(stranger) == ["platform.member", "space.member"]
        assert held(mary) == ["organization.member", "platform.member", "space.member"]

    def test_may_come_back_at_once(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        cell: Room,
        stranger: Person,
        gone: Gone,
        wait: Wait,
        clock: Clock,
    ) -> None:
        take_part(stranger, cell)
        clock.freeze()
        for _ in range(2):
            gone(platform.path, stranger)
            assert api.post(f"{platform.path}/join", as_=stranger).json["role"] == "member"
            assert sees(api, stranger, platform.path, cell.path) == [200, 404]
            path = f"{cell.path}/members/{stranger.id}"
            assert api.patch(path, as_=organization.owner, json={"role": "admin"}).json["version"] == 1
            assert sees(api, stranger, cell.path) == [200]
        wait()
        assert sees(api, stranger, platform.path, cell.path) == [200, 200]
        assert held(stranger) == ["platform.member", "space.member"]


class TestWhatIsToldOfIt:
    def test_the_entry_of_the_removal_stands_for_all_that_ended_with_it(
        self, api: Api, organization: Founded, cell: Room, mary: Person, wait: Wait
    ) -> None:
        take_part(mary, cell)
        before = len(log_of(api, organization))
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert held(mary) == ["organization.departure"]
        wait()
        assert [e["type"] for e in log_of(api, organization)][:-before] == ["organization.member.removed"]

    def test_what_was_too_much_for_it_is_removed_with_entries_of_its_own(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, wait: Wait
    ) -> None:
        rooms = [make_space(api, platform, name=f"Room {n}", visibility="private") for n in range(43)]
        take_part(stranger, *rooms)
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert {status for room in rooms for status in sees(api, stranger, room.path)} == {404}
        assert len(held(stranger)) == 1 + 3
        wait()
        assert held(stranger) == []
        told = [e for e in log_of(api, organization) if e["type"] == "space.member.removed"]
        assert [(e["actor"]["type"], e["data"]["userId"]) for e in told] == [("system", stranger.id)] * 3


class TestAtTheSameMoment:
    """Somebody leaves while they become a member of something below: in whatever order, nothing of that is left."""

    @pytest.fixture
    def ways(self, organization: Founded, platform: Running, api: Api, mary: Person) -> dict[str, Callable[[], int]]:
        open_space = make_space(api, platform)
        return {
            "joins the platform": lambda: api.post(f"{platform.path}/join", as_=mary).status,
            "joins a space": lambda: api.post(f"{open_space.path}/join", as_=mary).status,
            "is added to a space": lambda: (
                api.patch(f"{open_space.path}/members/{mary.id}", as_=organization.owner, json={"role": "admin"}).status
            ),
            "makes a space": lambda: (
                api.post(
                    "/spaces", as_=mary, json={"platformId": platform.id, "name": "Hers", "visibility": "private"}
                ).status
            ),
        }

    @pytest.mark.parametrize("way", ["joins the platform", "joins a space", "is added to a space", "makes a space"])
    @pytest.mark.parametrize("departure_first", [True, False])
    def test_nothing_below_outlives_it(
        self,
        api: Api,
        platform: Running,
        mary: Person,
        wait: Wait,
        ways: dict[str, Callable[[], int]],
        way: str,
        *,
        departure_first: bool,
    ) -> None:
        organization = f"/organizations/{platform.organization_id}"
        api.patch(f"{organization}/members/{mary.id}", as_=platform.owner, json={"role": "editor"})
        if way == "makes a space":
            takes_part(platform, mary, "editor")

        def depart() -> int:
            return api.delete(f"{organization}/members/{mary.id}", as_=platform.owner).status

        one, other = (depart, ways[way]) if departure_first else (ways[way], depart)
        before = snapshots.taken()
        for at in count(1):
            snapshots.put_back(before)
            with overtaken(other, at=at) as overtaking:
                one()
            if not overtaking.hit:
                break
            places = [i["id"] for i in cloud.stored() if i.get("kind") == "space"]
            paths = [platform.path, *(f"/spaces/{place}" for place in places)]
            if way == "joins the platform" and held(mary) == ["organization.departure", "platform.member"]:
                # She was out when she joined: everybody may.
                paths, expected = paths[:1], [200]
            else:
                expected = [404] * len(paths)
            assert sees(api, mary, *paths) == expected, f"before {overtaking.hit}, call {at}"
            wait()
            assert sees(api, mary, *paths) == expected, f"before {overtaking.hit}, call {at}"
        assert at > 2
