"""A member who leaves an organization or a platform, or is removed, loses all memberships below it at once."""

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

LeaveContainer = Callable[[str, Person], None]
AwaitCleanup = Callable[[], None]


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A published platform of Ada's organization with an open join policy."""
    return run_platform(api, organization, published=True, joinPolicy="open")


@pytest.fixture
def private_space(api: Api, platform: Running) -> Room:
    """A private space of the platform."""
    return make_space(api, platform, name="Cell", visibility="private")


@pytest.fixture
def foreign_space(api: Api, organization: Founded) -> Room:
    """A private space of another platform."""
    return make_space(api, run_platform(api, organization, name="Elsewhere"), visibility="private")


@pytest.fixture(params=["removed", "left"])
def leave_container(request: pytest.FixtureRequest, api: Api, organization: Founded) -> LeaveContainer:
    """A function that ends a membership at a path: by a removal, or because the member leaves."""

    def leave_container(path: str, person: Person) -> None:
        if request.param == "removed":
            assert api.delete(f"{path}/members/{person.id}", as_=organization.owner).status == 204
        else:
            assert api.post(f"{path}/leave", as_=person).status == 204

    return leave_container


@pytest.fixture
def await_cleanup(workers: Workers, clock: Clock) -> AwaitCleanup:
    """A function that runs the workers until the memberships below have been removed."""

    def await_cleanup() -> None:
        for _ in range(2):
            clock.shift(minutes=1, seconds=10)
            workers.settle()

    return await_cleanup


@pytest.fixture
def lagging_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that does not show the memberships yet."""
    monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])


@pytest.fixture(params=["current", "lagging"])
def index(request: pytest.FixtureRequest) -> None:
    """An index that is current, or lags."""
    if request.param == "lagging":
        request.getfixturevalue("lagging_index")


def add_to_spaces_and_platforms(person: Person, *spaces: Room) -> None:
    """Make a person an admin of spaces and of their platforms."""
    for platform in {space.platform.id: space.platform for space in spaces}.values():
        takes_part(platform, person, "admin")
    for space in spaces:
        comes_in(space, person, "admin")


def get_statuses(api: Api, person: Person, *paths: str) -> list[int]:
    return [api.get(path, as_=person).status for path in paths]


def stored_kinds(person: Person) -> list[str]:
    """Return the kinds of the stored memberships and revocation markers of a user."""
    kinds = ("organization.member", "platform.member", "space.member", "organization.departure", "platform.departure")
    return sorted(i["kind"] for i in cloud.stored() if i.get("user_id") == person.id and i.get("kind") in kinds)


@pytest.mark.usefixtures("index")
class TestLeaveOrganization:
    def test_the_memberships_of_platforms_and_spaces_end_at_once(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        private_space: Room,
        foreign_space: Room,
        mary: Person,
        leave_container: LeaveContainer,
        await_cleanup: AwaitCleanup,
    ) -> None:
        add_to_spaces_and_platforms(mary, private_space, foreign_space)
        paths = (platform.path, private_space.path, foreign_space.path)
        assert get_statuses(api, mary, *paths) == [200, 200, 200]
        leave_container(organization.path, mary)
        assert get_statuses(api, mary, *paths) == [404, 404, 404]
        assert api.get("/platforms", as_=mary).json["items"] == []
        await_cleanup()
        assert get_statuses(api, mary, *paths) == [404, 404, 404]
        assert stored_kinds(mary) == []
        assert verify(api, organization)["valid"]

    def test_a_former_member_may_rejoin_at_once(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        private_space: Room,
        mary: Person,
        leave_container: LeaveContainer,
        await_cleanup: AwaitCleanup,
        clock: Clock,
    ) -> None:
        add_to_spaces_and_platforms(mary, private_space)
        clock.freeze()
        for _ in range(2):
            leave_container(organization.path, mary)
            joins(organization, mary, "member")
            assert get_statuses(api, mary, platform.path, private_space.path) == [200, 404]
            assert api.post(f"{platform.path}/join", as_=mary).json["role"] == "member"
            for path in (f"{platform.path}/members/{mary.id}", f"{private_space.path}/members/{mary.id}"):
                added = api.patch(path, as_=organization.owner, json={"role": "editor"})
                assert (added.status, added.json["role"]) == (200, "editor")
            assert get_statuses(api, mary, platform.path, private_space.path) == [200, 200]
        await_cleanup()
        assert get_statuses(api, mary, platform.path, private_space.path) == [200, 200]
        assert stored_kinds(mary) == ["organization.member", "platform.member", "space.member"]


@pytest.mark.usefixtures("index")
class TestLeavePlatform:
    def test_memberships_of_the_spaces_of_the_platform_end_at_once_and_others_stay(
        self,
        api: Api,
        platform: Running,
        private_space: Room,
        foreign_space: Room,
        stranger: Person,
        mary: Person,
        leave_container: LeaveContainer,
        await_cleanup: AwaitCleanup,
    ) -> None:
        for person, platform_status in ((stranger, 404), (mary, 200)):  # Mary is a member of the organization.
            add_to_spaces_and_platforms(person, private_space, foreign_space)
            leave_container(platform.path, person)
            for _ in range(2):
                statuses = get_statuses(api, person, platform.path, private_space.path, foreign_space.path)
                assert statuses == [platform_status, 404, 200]
                await_cleanup()
        assert stored_kinds(stranger) == ["platform.member", "space.member"]
        assert stored_kinds(mary) == ["organization.member", "platform.member", "space.member"]

    def test_a_former_member_may_rejoin_at_once(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        private_space: Room,
        stranger: Person,
        leave_container: LeaveContainer,
        await_cleanup: AwaitCleanup,
        clock: Clock,
    ) -> None:
        add_to_spaces_and_platforms(stranger, private_space)
        clock.freeze()
        for _ in range(2):
            leave_container(platform.path, stranger)
            assert api.post(f"{platform.path}/join", as_=stranger).json["role"] == "member"
            assert get_statuses(api, stranger, platform.path, private_space.path) == [200, 404]
            path = f"{private_space.path}/members/{stranger.id}"
            assert api.patch(path, as_=organization.owner, json={"role": "admin"}).json["version"] == 1
            assert get_statuses(api, stranger, private_space.path) == [200]
        await_cleanup()
        assert get_statuses(api, stranger, platform.path, private_space.path) == [200, 200]
        assert stored_kinds(stranger) == ["platform.member", "space.member"]


class TestLogEntries:
    def test_one_entry_covers_all_memberships_removed_in_the_transaction(
        self, api: Api, organization: Founded, private_space: Room, mary: Person, await_cleanup: AwaitCleanup
    ) -> None:
        add_to_spaces_and_platforms(mary, private_space)
        before = len(log_of(api, organization))
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert stored_kinds(mary) == ["organization.departure"]
        await_cleanup()
        assert [e["type"] for e in log_of(api, organization)][:-before] == ["organization.member.removed"]

    def test_memberships_beyond_the_transaction_limit_get_entries_of_their_own(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, await_cleanup: AwaitCleanup
    ) -> None:
        spaces = [make_space(api, platform, name=f"Room {n}", visibility="private") for n in range(43)]
        add_to_spaces_and_platforms(stranger, *spaces)
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert {status for space in spaces for status in get_statuses(api, stranger, space.path)} == {404}
        assert len(stored_kinds(stranger)) == 1 + 3
        await_cleanup()
        assert stored_kinds(stranger) == []
        removals = [e for e in log_of(api, organization) if e["type"] == "space.member.removed"]
        assert [(e["actor"]["type"], e["data"]["userId"]) for e in removals] == [("system", stranger.id)] * 3


class TestConcurrentJoin:
    """A user leaves while they join a container below. No membership remains, whatever the order."""

    @pytest.fixture
    def joins_by_name(
        self, organization: Founded, platform: Running, api: Api, mary: Person
    ) -> dict[str, Callable[[], int]]:
        """The ways to join a container of the organization, by name. Each returns the status of the response."""
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

    @pytest.mark.parametrize(
        "join_name", ["joins the platform", "joins a space", "is added to a space", "makes a space"]
    )
    @pytest.mark.parametrize("departure_first", [True, False])
    def test_no_membership_below_remains(
        self,
        api: Api,
        platform: Running,
        mary: Person,
        await_cleanup: AwaitCleanup,
        joins_by_name: dict[str, Callable[[], int]],
        join_name: str,
        *,
        departure_first: bool,
    ) -> None:
        organization = f"/organizations/{platform.organization_id}"
        api.patch(f"{organization}/members/{mary.id}", as_=platform.owner, json={"role": "editor"})
        if join_name == "makes a space":
            takes_part(platform, mary, "editor")

        def leave_organization() -> int:
            return api.delete(f"{organization}/members/{mary.id}", as_=platform.owner).status

        interrupted, interrupting = (
            (leave_organization, joins_by_name[join_name])
            if departure_first
            else (joins_by_name[join_name], leave_organization)
        )
        before = snapshots.taken()
        for at in count(1):
            snapshots.put_back(before)
            with overtaken(interrupting, at=at) as overtaking:
                interrupted()
            if not overtaking.hit:
                break
            space_ids = [i["id"] for i in cloud.stored() if i.get("kind") == "space"]
            paths = [platform.path, *(f"/spaces/{space_id}" for space_id in space_ids)]
            if join_name == "joins the platform" and stored_kinds(mary) == [
                "organization.departure",
                "platform.member",
            ]:
                # She joined after she had left the organization. Anybody may join.
                paths, expected = paths[:1], [200]
            else:
                expected = [404] * len(paths)
            assert get_statuses(api, mary, *paths) == expected, f"before {overtaking.hit}, call {at}"
            await_cleanup()
            assert get_statuses(api, mary, *paths) == expected, f"before {overtaking.hit}, call {at}"
        assert at > 2
