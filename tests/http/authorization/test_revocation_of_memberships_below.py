"""A member who leaves an organization or a platform, or is removed, loses all memberships below it at once."""

from collections.abc import Callable
from itertools import count

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws, snapshots
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Person
from tests.harness.faults import run_before_call
from tests.harness.organizations import CreatedOrganization, add_organization_member
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)

LeaveContainer = Callable[[str, Person], None]


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A published platform of Ada's organization with an open join policy."""
    return create_platform(api, organization, publish=True, joinPolicy="open")


@pytest.fixture
def private_space(api: ApiClient, platform: CreatedPlatform) -> CreatedSpace:
    """A private space of the platform."""
    return create_space(api, platform, name="Cell", visibility="private")


@pytest.fixture
def foreign_space(api: ApiClient, organization: CreatedOrganization) -> CreatedSpace:
    """A private space of another platform."""
    return create_space(api, create_platform(api, organization, name="Elsewhere"), visibility="private")


@pytest.fixture(params=["removed", "left"])
def leave_container(
    request: pytest.FixtureRequest, api: ApiClient, organization: CreatedOrganization
) -> LeaveContainer:
    """A function that ends a membership at a path: by a removal, or because the member leaves."""

    def leave_container(path: str, person: Person) -> None:
        if request.param == "removed":
            assert api.delete(f"{path}/members/{person.id}", caller=organization.owner).status == 204
        else:
            assert api.post(f"{path}/leave", caller=person).status == 204

    return leave_container


@pytest.fixture
def lagging_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that does not show the memberships yet."""
    monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])


@pytest.fixture(params=["current", "lagging"])
def index(request: pytest.FixtureRequest) -> None:
    """An index that is current, or lags."""
    if request.param == "lagging":
        request.getfixturevalue("lagging_index")


def add_to_spaces_and_platforms(person: Person, *spaces: CreatedSpace) -> None:
    """Make a person an admin of spaces and of their platforms."""
    for platform in {space.platform.id: space.platform for space in spaces}.values():
        add_platform_member(platform, person, "admin")
    for space in spaces:
        add_space_member(space, person, "admin")


def get_statuses(api: ApiClient, person: Person, *paths: str) -> list[int]:
    return [api.get(path, caller=person).status for path in paths]


def stored_kinds(person: Person) -> list[str]:
    """Return the kinds of the stored memberships and revocation markers of a user."""
    kinds = ("organization.member", "platform.member", "space.member", "organization.departure", "platform.departure")
    return sorted(i["kind"] for i in memory_aws.all_items() if i.get("user_id") == person.id and i.get("kind") in kinds)


@pytest.mark.usefixtures("index")
class TestLeaveOrganization:
    def test_the_memberships_of_platforms_and_spaces_end_at_once(
        self, api, organization, platform, private_space, foreign_space, mary, leave_container, await_cleanup
    ):
        add_to_spaces_and_platforms(mary, private_space, foreign_space)
        paths = (platform.path, private_space.path, foreign_space.path)
        assert get_statuses(api, mary, *paths) == [200, 200, 200]
        leave_container(organization.path, mary)
        assert get_statuses(api, mary, *paths) == [404, 404, 404]
        assert api.get("/platforms", caller=mary).json["items"] == []
        await_cleanup()
        assert get_statuses(api, mary, *paths) == [404, 404, 404]
        assert stored_kinds(mary) == []
        assert verify_integrity(api, organization)["valid"]

    def test_a_former_member_may_rejoin_at_once(
        self, api, organization, platform, private_space, mary, leave_container, await_cleanup, clock
    ):
        add_to_spaces_and_platforms(mary, private_space)
        clock.freeze()
        for _ in range(2):
            leave_container(organization.path, mary)
            add_organization_member(organization, mary, "member")
            assert get_statuses(api, mary, platform.path, private_space.path) == [200, 404]
            assert api.post(f"{platform.path}/join", caller=mary).json["role"] == "member"
            for path in (f"{platform.path}/members/{mary.id}", f"{private_space.path}/members/{mary.id}"):
                added = api.patch(path, caller=organization.owner, json={"role": "editor"})
                assert (added.status, added.json["role"]) == (200, "editor")
            assert get_statuses(api, mary, platform.path, private_space.path) == [200, 200]
        await_cleanup()
        assert get_statuses(api, mary, platform.path, private_space.path) == [200, 200]
        assert stored_kinds(mary) == ["organization.member", "platform.member", "space.member"]


@pytest.mark.usefixtures("index")
class TestLeavePlatform:
    def test_memberships_of_the_spaces_of_the_platform_end_at_once_and_others_stay(
        self, api, platform, private_space, foreign_space, stranger, mary, leave_container, await_cleanup
    ):
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
        self, api, organization, platform, private_space, stranger, leave_container, await_cleanup, clock
    ):
        add_to_spaces_and_platforms(stranger, private_space)
        clock.freeze()
        for _ in range(2):
            leave_container(platform.path, stranger)
            assert api.post(f"{platform.path}/join", caller=stranger).json["role"] == "member"
            assert get_statuses(api, stranger, platform.path, private_space.path) == [200, 404]
            path = f"{private_space.path}/members/{stranger.id}"
            assert api.patch(path, caller=organization.owner, json={"role": "admin"}).json["version"] == 1
            assert get_statuses(api, stranger, private_space.path) == [200]
        await_cleanup()
        assert get_statuses(api, stranger, platform.path, private_space.path) == [200, 200]
        assert stored_kinds(stranger) == ["platform.member", "space.member"]


class TestLogEntries:
    def test_one_entry_covers_all_memberships_removed_in_the_transaction(
        self, api, organization, private_space, mary, await_cleanup
    ):
        add_to_spaces_and_platforms(mary, private_space)
        before = len(list_entries(api, organization))
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        assert stored_kinds(mary) == ["organization.departure"]
        await_cleanup()
        assert [e["type"] for e in list_entries(api, organization)][:-before] == ["organization.member.removed"]

    def test_memberships_beyond_the_transaction_limit_get_entries_of_their_own(
        self, api, organization, platform, stranger, await_cleanup
    ):
        spaces = [create_space(api, platform, name=f"Room {n}", visibility="private") for n in range(43)]
        add_to_spaces_and_platforms(stranger, *spaces)
        assert api.post(f"{platform.path}/leave", caller=stranger).status == 204
        assert {status for space in spaces for status in get_statuses(api, stranger, space.path)} == {404}
        assert len(stored_kinds(stranger)) == 1 + 3
        await_cleanup()
        assert stored_kinds(stranger) == []
        removals = [e for e in list_entries(api, organization) if e["type"] == "space.member.removed"]
        assert [(e["actor"]["type"], e["data"]["userId"]) for e in removals] == [("system", stranger.id)] * 3


class TestConcurrentJoin:
    """A user leaves while they join a container below. No membership remains, whatever the order."""

    @pytest.fixture
    def joins_by_name(
        self, organization: CreatedOrganization, platform: CreatedPlatform, api: ApiClient, mary: Person
    ) -> dict[str, Callable[[], int]]:
        """The ways to join a container of the organization, by name. Each returns the status of the response."""
        open_space = create_space(api, platform)
        return {
            "joins the platform": lambda: api.post(f"{platform.path}/join", caller=mary).status,
            "joins a space": lambda: api.post(f"{open_space.path}/join", caller=mary).status,
            "is added to a space": lambda: (
                api.patch(
                    f"{open_space.path}/members/{mary.id}", caller=organization.owner, json={"role": "admin"}
                ).status
            ),
            "makes a space": lambda: (
                api.post(
                    "/spaces", caller=mary, json={"platformId": platform.id, "name": "Hers", "visibility": "private"}
                ).status
            ),
        }

    @pytest.mark.parametrize(
        "join_name", ["joins the platform", "joins a space", "is added to a space", "makes a space"]
    )
    @pytest.mark.parametrize("departure_first", [True, False])
    def test_no_membership_below_remains(
        self, api, platform, mary, await_cleanup, joins_by_name, join_name, *, departure_first
    ):
        organization = f"/organizations/{platform.organization_id}"
        api.patch(f"{organization}/members/{mary.id}", caller=platform.owner, json={"role": "editor"})
        if join_name == "makes a space":
            add_platform_member(platform, mary, "editor")

        def leave_organization() -> int:
            return api.delete(f"{organization}/members/{mary.id}", caller=platform.owner).status

        interrupted, interrupting = (
            (leave_organization, joins_by_name[join_name])
            if departure_first
            else (joins_by_name[join_name], leave_organization)
        )
        before = snapshots.take_snapshot()
        for at in count(1):
            snapshots.restore_snapshot(before)
            with run_before_call(interrupting, call_number=at) as overtaking:
                interrupted()
            if not overtaking.interrupted_call:
                break
            space_ids = [i["id"] for i in memory_aws.all_items() if i.get("kind") == "space"]
            paths = [platform.path, *(f"/spaces/{space_id}" for space_id in space_ids)]
            if join_name == "joins the platform" and stored_kinds(mary) == [
                "organization.departure",
                "platform.member",
            ]:
                # She joined after she had left the organization. Anybody may join.
                paths, expected = paths[:1], [200]
            else:
                expected = [404] * len(paths)
            assert get_statuses(api, mary, *paths) == expected, f"before {overtaking.interrupted_call}, call {at}"
            await_cleanup()
            assert get_statuses(api, mary, *paths) == expected, f"before {overtaking.interrupted_call}, call {at}"
        assert at > 2
