"""A member who leaves an organization or a platform, or is removed, loses all memberships below it at once."""

from functools import partial
from itertools import count
from uuid import uuid4

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws, snapshots
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.faults import run_before_call
from tests.harness.organizations import add_organization_member, remove_member, set_role
from tests.harness.platforms import CreatedSpace, add_platform_member, add_space_member, create_platform, create_space

KINDS = ("organization.member", "platform.member", "space.member", "organization.departure", "platform.departure")


def create_containers(api, organization):
    platform = create_platform(api, organization, publish=True, joinPolicy="open")
    other_platform = create_platform(api, organization, name="Elsewhere")
    return [platform, *(create_space(api, each, visibility="private") for each in (platform, other_platform))]


@pytest.fixture
def containers(api, organization):
    """A published platform with an open join policy, a private space of it, and one of another platform."""
    return snapshots.create_or_restore(("private spaces",), lambda: create_containers(api, organization))


@pytest.fixture
def platform(containers):
    return containers[0]


@pytest.fixture
def private_space(containers):
    return containers[1]


@pytest.fixture(params=["removed", "left"])
def leave(request, api, organization, monkeypatch):
    """A function that ends a membership at a path: by a removal while the index lags, or because the member leaves."""
    if request.param == "left":
        return lambda path, person: api.post(f"{path}/leave", caller=person)
    monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
    return lambda path, person: api.delete(f"{path}/members/{person.id}", caller=organization.owner)


def get_statuses(api, person, paths):
    return [api.get(path, caller=person).status for path in paths]


def add_to_spaces_and_platforms(person, spaces):
    """Make a person an admin of spaces and of their platforms."""
    for platform in {space.platform.id: space.platform for space in spaces}.values():
        add_platform_member(platform, person, "admin")
    for space in spaces:
        add_space_member(space, person, "admin")


def stored_kinds(person):
    """Return the kinds of the stored memberships and revocation markers of a user."""
    return sorted(i["kind"] for i in memory_aws.all_items() if i.get("user_id") == person.id and i.get("kind") in KINDS)


def test_memberships_of_platforms_and_spaces_end_with_that_of_the_organization(
    api, organization, containers, mary, leave, await_cleanup
):
    add_to_spaces_and_platforms(mary, containers[1:])
    paths = [container.path for container in containers]
    assert get_statuses(api, mary, paths) == [200, 200, 200]
    assert leave(organization.path, mary).status == 204
    assert get_statuses(api, mary, paths) == [404, 404, 404]
    assert api.get("/platforms", caller=mary).json["items"] == []
    await_cleanup()
    assert get_statuses(api, mary, paths) == [404, 404, 404]
    assert stored_kinds(mary) == []
    assert verify_integrity(api, organization)["valid"]


def test_a_former_member_of_the_organization_may_rejoin_at_once(
    api, organization, platform, private_space, mary, leave, await_cleanup, clock
):
    add_to_spaces_and_platforms(mary, [private_space])
    clock.freeze()
    for _ in range(2):
        assert leave(organization.path, mary).status == 204
        add_organization_member(organization, mary, "member")
        assert get_statuses(api, mary, [platform.path, private_space.path]) == [200, 404]
        assert api.post(f"{platform.path}/join", caller=mary).json["role"] == "member"
        for container in (platform, private_space):
            path = f"{container.path}/members/{mary.id}"
            added = api.patch(path, caller=organization.owner, json={"role": "editor"})
            assert (added.status, added.json["role"]) == (200, "editor")
        assert get_statuses(api, mary, [platform.path, private_space.path]) == [200, 200]
    await_cleanup()
    assert get_statuses(api, mary, [platform.path, private_space.path]) == [200, 200]
    assert stored_kinds(mary) == ["organization.member", "platform.member", "space.member"]


def test_only_memberships_of_its_spaces_end_with_that_of_a_platform(
    api, containers, stranger, mary, leave, await_cleanup
):
    for person, platform_status in ((stranger, 404), (mary, 200)):  # Mary is a member of the organization.
        add_to_spaces_and_platforms(person, containers[1:])
        assert leave(containers[0].path, person).status == 204
        for _ in range(2):
            statuses = get_statuses(api, person, [container.path for container in containers])
            assert statuses == [platform_status, 404, 200]
            await_cleanup()
    assert stored_kinds(stranger) == ["platform.member", "space.member"]
    assert stored_kinds(mary) == ["organization.member", "platform.member", "space.member"]


def test_a_former_member_of_the_platform_may_rejoin_at_once(
    api, organization, platform, private_space, stranger, leave, await_cleanup, clock
):
    add_to_spaces_and_platforms(stranger, [private_space])
    clock.freeze()
    for _ in range(2):
        assert leave(platform.path, stranger).status == 204
        assert api.post(f"{platform.path}/join", caller=stranger).json["role"] == "member"
        assert get_statuses(api, stranger, [platform.path, private_space.path]) == [200, 404]
        path = f"{private_space.path}/members/{stranger.id}"
        assert api.patch(path, caller=organization.owner, json={"role": "admin"}).json["version"] == 1
        assert get_statuses(api, stranger, [private_space.path]) == [200]
    await_cleanup()
    assert get_statuses(api, stranger, [platform.path, private_space.path]) == [200, 200]
    assert stored_kinds(stranger) == ["platform.member", "space.member"]


def test_one_entry_covers_all_removed_memberships(api, organization, private_space, mary, await_cleanup):
    add_to_spaces_and_platforms(mary, [private_space])
    before = len(list_entries(api, organization))
    assert remove_member(api, organization, mary).status == 204
    assert stored_kinds(mary) == ["organization.departure"]
    await_cleanup()
    assert [e["type"] for e in list_entries(api, organization)][:-before] == ["organization.member.removed"]


def test_memberships_beyond_the_limit_get_own_entries(api, organization, platform, stranger, await_cleanup):
    first, last = (create_space(api, platform, name=name, visibility="private") for name in ("First", "Last"))
    # Only the memberships count, so most of their spaces need not exist.
    spaces = [first, *(CreatedSpace({"id": str(uuid4())}, platform) for _ in range(40)), last]
    add_to_spaces_and_platforms(stranger, spaces)
    assert api.post(f"{platform.path}/leave", caller=stranger).status == 204
    assert get_statuses(api, stranger, [first.path, last.path]) == [404, 404]
    assert stored_kinds(stranger) == ["platform.departure", "space.member", "space.member"]
    await_cleanup()
    assert stored_kinds(stranger) == []
    removals = list_entries(api, organization, type="space.member.removed")
    assert [(e["actor"]["type"], e["data"]["userId"]) for e in removals] == [("system", stranger.id)] * 2


@pytest.fixture(params=["joins the platform", "joins a space", "is added to a space", "makes a space"])
def join(request, api, organization, platform, mary):
    """A function that makes Mary a member of a container below the organization."""
    space, body = create_space(api, platform), {"platformId": platform.id, "name": "Hers", "visibility": "private"}
    member_path = f"{space.path}/members/{mary.id}"
    set_role(api, organization, mary, "editor")
    if request.param == "makes a space":
        add_platform_member(platform, mary, "editor")
    joins_by_name = {
        "joins the platform": lambda: api.post(f"{platform.path}/join", caller=mary),
        "joins a space": lambda: api.post(f"{space.path}/join", caller=mary),
        "is added to a space": lambda: api.patch(member_path, caller=organization.owner, json={"role": "admin"}),
        "makes a space": lambda: api.post("/spaces", caller=mary, json=body),
    }
    return joins_by_name[request.param]


@pytest.mark.parametrize("departure_first", [True, False])
def test_no_membership_below_remains_of_a_user_who_leaves_while_they_join(
    api, organization, platform, mary, await_cleanup, join, departure_first
):
    leave = partial(remove_member, api, organization, mary)
    interrupted, interrupting = (leave, join) if departure_first else (join, leave)
    before = snapshots.take_snapshot()
    for at in count(1):
        snapshots.restore_snapshot(before)
        with run_before_call(interrupting, call_number=at) as overtaking:
            interrupted()
        if not overtaking.interrupted_call:
            break
        space_ids = [i["id"] for i in memory_aws.all_items() if i.get("kind") == "space"]
        expected = {platform.path: 404, **{f"/spaces/{space_id}": 404 for space_id in space_ids}}
        if stored_kinds(mary) == ["organization.departure", "platform.member"]:
            # She joined the platform after she had left the organization. Anybody may join.
            expected = {platform.path: 200}
        for await_step in (bool, await_cleanup):
            await_step()
            statuses = dict(zip(expected, get_statuses(api, mary, expected), strict=True))
            assert statuses == expected, f"before {overtaking.interrupted_call}, call {at}"
    assert at > 2
