"""Erasures in the platforms, spaces and taxonomies of an organization."""

from typing import Any

import pytest

from chalicelib.features.privacy.erasures import tasks
from chalicelib.features.tenancy.members.logic import leaving
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.erasures import keys_of_items_containing
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import SOPHIE_EMAIL, accept_invitation, create_invitation, post_invitation
from tests.harness.platforms import create_platform, create_space, set_member_role
from tests.harness.taxonomy import create_node, resolve_node


@pytest.fixture
def platforms_and_spaces(api, organization):
    """Three published platforms with an open join policy, and two spaces in each."""

    def create() -> Any:
        fields: Any = {"publish": True, "joinPolicy": "open"}
        platforms = [create_platform(api, organization, name=f"P{n}", **fields) for n in range(3)]
        return platforms, [create_space(api, platform, name=f"S{n}") for platform in platforms for n in range(2)]

    return extended_scenario("platforms with spaces", create)


@pytest.fixture
def platforms(platforms_and_spaces):
    return platforms_and_spaces[0]


@pytest.fixture
def spaces(platforms_and_spaces):
    return platforms_and_spaces[1]


def join_all(api, person, containers):
    for container in containers:
        assert api.post(f"{container.path}/join", caller=person).status == 200


def member_usernames(api, container, owner):
    return [member["username"] for member in api.get_items(f"{container.path}/members", caller=owner)]


class TestMembersOfPlatformsAndSpaces:
    @pytest.mark.parametrize("field", ["email", "userId"])
    def test_the_person_is_removed_and_other_members_stay(
        self, api, platforms, spaces, ada, mary, stranger, erase, field
    ):
        for person in (mary, stranger):
            join_all(api, person, [*platforms, *spaces])
        record_count, _ = erase(**{field: {"email": stranger.email, "userId": stranger.id}[field]})
        assert keys_of_items_containing(stranger.id, stranger.email, stranger.username) == []
        assert record_count == 9
        assert [member_usernames(api, platform, ada) for platform in platforms] == [["mary"]] * 3
        assert [member_usernames(api, space, ada) for space in spaces] == [["ada", "mary"]] * 6
        assert api.get(platforms[0].path, caller=stranger).status_and_code == "404 not_found"

    def test_an_admin_of_the_organization_and_of_platforms_is_removed(
        self, api, organization, platforms, spaces, grace, erase
    ):
        join_all(api, grace, [*platforms, *spaces])
        create_invitation(api, platforms[0], SOPHIE_EMAIL, caller=grace)
        set_member_role(api, platforms[1], grace, "admin")
        erase(email=grace.email)
        assert keys_of_items_containing(grace.id, grace.email, grace.username) == []
        (invitation,) = api.get_items(f"{organization.path}/invitations", caller=organization.owner)
        assert (invitation["status"], invitation["invitedBy"]) == ("revoked", None)
        assert post_invitation(api, platforms[0], SOPHIE_EMAIL).status == 201

    def test_invited_people_are_removed(self, api, platforms, stranger, erase, clock):
        accept_invitation(api, create_invitation(api, platforms[0], stranger), stranger)
        create_invitation(api, platforms[1], stranger, expiresInDays=1)
        clock.shift(days=1, seconds=1)
        create_invitation(api, platforms[2], stranger)
        erase(email=stranger.email)
        assert keys_of_items_containing(stranger.email, stranger.id) == []

    def test_the_guard_of_an_expired_invitation_does_not_name_the_inviter(
        self, api, organization, platforms, grace, workers, clock, erase
    ):
        create_invitation(api, platforms[0], SOPHIE_EMAIL, caller=grace, expiresInDays=1)
        workers.deliver()
        clock.shift(days=1, seconds=1)
        path = erase.begin(userId=grace.id)
        workers.deliver()
        assert erase.get(path)["status"] == "completed"
        assert [key for key in keys_of_items_containing(grace.id) if key[0].startswith("U#")] == []
        erase.finish()
        assert keys_of_items_containing(grace.id) == []

    def test_an_interrupted_erasure_of_many_memberships_is_completed(
        self, api, platforms, spaces, stranger, workers, clock, monkeypatch, erase
    ):
        join_all(api, stranger, [*platforms, *spaces])
        workers.run_until_idle()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        monkeypatch.setattr(tasks, "_CONTAINER_PAGE_SIZE", 1)
        path = erase.begin(userId=stranger.id)
        call_name = "dynamodb:TransactWriteItems"
        for at in (9, 14, 23):
            with inject_fault(Fault.TIMED_OUT, call_name=call_name, first_call=at, times=None) as injected:
                workers.try_deliver()
            assert injected.failed_call
            clock.shift(minutes=4)
            workers.run_sweep()
        erase.finish()
        record = erase.get(path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 9)
        assert keys_of_items_containing(stranger.id, stranger.email) == []

    def test_a_former_member_whose_memberships_are_not_all_removed_yet_is_removed(
        self, api, platforms, spaces, stranger, erase, monkeypatch
    ):
        monkeypatch.setattr(leaving, "_MAX_DEPENDENTS_PER_TRANSACTION", 1)
        join_all(api, stranger, [platforms[0], *spaces[:2]])
        assert api.post(f"{platforms[0].path}/leave", caller=stranger).status == 204
        erase(userId=stranger.id)
        assert keys_of_items_containing(stranger.id, stranger.email) == []


class TestTexts:
    def test_texts_of_platforms_and_spaces_are_redacted(self, api, organization, platforms, erase):
        platform, owner = platforms[0], organization.owner
        text = f"Ask {SOPHIE_EMAIL}."
        api.patch(platform.path, caller=owner, json={"name": text, "description": text})
        link = {"id": "ask", "label": text, "type": "url", "target": "https://example.org/"}
        assert api.patch(f"{platform.path}/navigation", caller=owner, json={"items": [link]}).status == 200
        blocks = [{"id": "hello", "type": "hero", "settings": {SOPHIE_EMAIL: [text]}}]
        assert api.patch(f"{platform.path}/home", caller=owner, json={"blocks": blocks}).status == 200
        space = create_space(api, platform, name="Looms", description=text)
        erase(email=SOPHIE_EMAIL)
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        record = api.get(platform.path, caller=owner).json
        assert (record["name"], record["description"], record["navigation"]["items"][0]["label"]) == ("Ask ….",) * 3
        assert record["home"]["blocks"][0]["settings"] == {"…": ["Ask …."]}
        assert api.get(space.path, caller=owner).json["description"] == "Ask …."
        platform_names = [
            item["platformName"] for item in api.get_items(f"{organization.path}/domains/inventory", caller=owner)
        ]
        assert "Ask …." in platform_names

    def test_nodes_of_a_taxonomy_are_redacted_and_found_by_the_remaining_text(self, api, platforms, erase):
        alternative_labels = [f"{SOPHIE_EMAIL}'s", f"About {SOPHIE_EMAIL}"]
        texts: dict[str, Any] = {"description": f"Ask {SOPHIE_EMAIL}.", "altLabels": alternative_labels}
        node = create_node(api, platforms[0], f"Notes of {SOPHIE_EMAIL}", slug="notes", **texts)
        erase(email=SOPHIE_EMAIL)
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        record = api.get(node.path, caller=platforms[0].owner).json
        assert (record["name"], record["altLabels"]) == ("Notes of …", ["…'s", "About …"])
        assert resolve_node(api, platforms[0], slug="about …").json["node"]["id"] == node.id

    def test_usernames_that_are_the_erased_email_address_are_removed(self, api, platforms, ada, issuer, erase):
        members = [issuer.create_person(f"{n}@example.org", f"Person {n}", email=f"{n}@example.com") for n in range(2)]
        for member in members:
            join_all(api, member, platforms[:1])
            erase(email=member.username)
            assert keys_of_items_containing(member.username) == []
        assert member_usernames(api, platforms[0], ada) == [None, None]
