"""Invitations to a platform: sending, accepting, declining and managing them, and how they end."""

from dataclasses import replace

import pytest

from chalicelib.features.platforms.members import tasks
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.erasures import keys_of_items_containing
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    REVOKED_PROBLEM,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    list_invitation_ids,
    open_invitation,
    post_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import add_platform_member, create_platform, set_member_role

CREATED_AND_ACCEPTED = ["platform.invitation.created", "platform.invitation.accepted"]


class TestInviteToPlatform:
    def test_an_invitation_to_a_platform_is_one_of_the_organizations_invitations(
        self, api, organization, platform, emmy, invitation, stranger, entries
    ):
        assert invitation.path == f"{organization.path}/invitations/{invitation.id}"
        record = api.get(invitation.path, caller=emmy).json
        expected = {"platformId": platform.id, "email": stranger.email, "invitedBy": emmy.id, "acceptUrl": None}
        assert record == {**invitation.record, **expected}
        target = {"type": "platform.invitation", "id": invitation.id, "name": stranger.email}
        assert (entries()[0]["target"], entries()[0]["data"]) == (target, record)

    def test_an_address_has_one_invitation_to_each_container_within_the_limit_of_the_organization(
        self, api, organization, platform, other_platform, stranger, monkeypatch
    ):
        containers = (organization, platform, other_platform)
        monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=3))
        for container in containers:
            create_invitation(api, container, stranger)
            answer = post_invitation(api, container, stranger)
            assert answer.errors == {"/email": "already_exists"}
            invitation = f"{organization.path}/invitations/{answer.json['existingId']}"
            answer.expect_problem("409 already_exists", f"POST {invitation}/resend. ", f"DELETE {invitation}.")
        for container in containers:
            assert post_invitation(api, container, "else@example.org").status_and_code == "409 limit_exceeded"

    def test_members_of_the_organization_but_not_of_the_platform_can_be_invited(self, api, platform, emmy, mary):
        assert post_invitation(api, platform, emmy).errors == {"/email": "already_member"}
        accepted = accept_invitation(api, create_invitation(api, platform, mary, role="admin"), mary)
        assert accepted["membership"]["role"] == "admin"
        assert post_invitation(api, platform, mary).status_and_code == "409 already_member"

    def test_admins_invite_with_roles_up_to_their_own_by_an_email_that_names_the_platform(
        self, api, organization, platform, grace, emmy, mailbox, workers
    ):
        for n, person in enumerate((grace, emmy)):
            create_invitation(api, platform, f"{n}@example.org", caller=person, role="admin")
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        for key, role, code in ((limited_key, "admin", "insufficient_role"), (admin_key, "owner", "not_one_of")):
            assert post_invitation(api, platform, SOPHIE_EMAIL, caller=key, role=role).errors == {"/role": code}
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=admin_key, role="admin")
        assert invitation.record["invitedBy"] == admin_key.id
        workers.deliver()
        subjects = [f"{name} invites you to Engines" for name in ("Grace Hopper", "Emmy Noether")]
        assert [letter.subject for letter in mailbox.emails] == [*subjects, "You are invited to Engines"]


class TestAcceptance:
    def test_the_link_describes_the_platform(self, api, platform, emmy, invitation):
        answer = open_invitation(api, invitation)
        record = {name: invitation.record[name] for name in ("role", "email", "status", "expiresAt", "invitedBy")}
        container = {name: platform.record[name] for name in ("id", "name", "slug")}
        unknown = dict.fromkeys(("organization", "canAccept", "reason", "membership"))
        assert answer.json == {"platform": container, "inviterName": "Emmy Noether", **record, **unknown}
        assert (record["role"], record["invitedBy"]) == ("editor", emmy.id)
        assert len(answer.calls.call_names) == 2

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_accepting_twice_creates_one_member(
        self, api, organization, platform, new_space, invitation, stranger, method
    ):
        def accept() -> Json:
            if method == "GET":
                return accept_invitation(api, invitation, stranger)
            answer = api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token})
            assert len(answer.calls.read_names) == 2
            return answer.json

        first = accept()
        assert (first["status"], first["membership"]["role"]) == ("accepted", "editor")
        assert accept() == first
        assert platform.get(f"/members/{stranger.id}", caller=stranger).json == first["membership"]
        assert new_space(platform, caller=stranger).record["name"] == "Looms"
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert invitation_events(api, organization, invitation) == CREATED_AND_ACCEPTED
        assert platform.post("/leave", caller=stranger).status == 204
        assert decide_on_invitation(api, invitation, stranger).status_and_code == "410 invitation_used"

    def test_only_the_invited_person_accepts_or_declines(self, api, organization, platform, invitation, mary, stranger):
        assert decide_on_invitation(api, invitation, mary).status_and_code == "403 email_mismatch"
        assert decline_invitation(api, invitation, stranger)["status"] == "declined"
        assert decide_on_invitation(api, invitation, stranger).status_and_code == "410 invitation_used"
        assert platform.get(caller=stranger).status_and_code == "404 not_found"
        assert invitation_events(api, organization, invitation)[-1] == "platform.invitation.declined"

    def test_an_existing_member_is_not_promoted_and_is_told_how_to_leave(self, api, platform, invitation, stranger):
        add_platform_member(platform, stranger)
        response = decide_on_invitation(api, invitation, stranger)
        response.expect_problem("409 already_member", f"PATCH {platform.path}/members/{stranger.id}")
        set_member_role(api, platform, stranger, "admin")
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"
        response = decide_on_invitation(api, invitation, stranger, "decline")
        assert f"POST {platform.path}/leave" in response.json["detail"]

    def test_nobody_finds_the_invitation_when_its_platform_or_organization_is_deleted(
        self, api, organization, platform, other_platform, invitation, stranger, clock
    ):
        other = create_invitation(api, other_platform, stranger)
        clock.shift(minutes=2)
        assert platform.delete().status == 204
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == "404 not_found"
        assert api.post(f"{invitation.path}/resend", caller=organization.owner).status_and_code == "404 not_found"
        assert api.delete(invitation.path, caller=organization.owner).status == 204
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert open_invitation(api, other, stranger).status_and_code == "404 not_found"


class TestJoin:
    def test_joining_accepts_an_invitation_even_to_a_draft(self, api, organization, platform, invitation, stranger):
        answer = platform.post("/join", caller=stranger)
        assert (answer.status, answer.json["role"]) == (200, "editor")
        assert len(answer.calls.read_names) <= 3  # The platform is not yet cached.
        assert get_invitation_status(api, organization, invitation) == "accepted"
        assert invitation_events(api, organization, invitation) == CREATED_AND_ACCEPTED
        assert accept_invitation(api, invitation, stranger)["membership"] == answer.json
        assert platform.post("/join", caller=stranger).json == answer.json

    def test_joining_an_open_platform_grants_the_invitations_role(self, api, new_platform, stranger, mary):
        open_platform = new_platform(publish=True, joinPolicy="open")
        for person, role in ((stranger, "admin"), (mary, "editor")):
            create_invitation(api, open_platform, person, role=role)
            assert open_platform.post("/join", caller=person).json["role"] == role

    @pytest.mark.parametrize("reason", ["revoked", "declined", "expired", "inviter demoted"])
    def test_joining_needs_a_valid_invitation(self, api, platform, emmy, invitation, stranger, clock, reason):
        invalidations = {
            "revoked": lambda: api.delete(invitation.path, caller=emmy),
            "declined": lambda: decline_invitation(api, invitation, stranger),
            "expired": lambda: clock.shift(days=7, seconds=1),
            "inviter demoted": lambda: set_member_role(api, platform, emmy, "member"),
        }
        invalidations[reason]()
        assert platform.post("/join", caller=stranger).status_and_code == "404 not_found"

    @pytest.mark.usefixtures("invitation")
    def test_joining_needs_an_own_invitation_to_this_platform(self, platform, other_platform, issuer, stranger):
        assert other_platform.post("/join", caller=stranger).status_and_code == "404 not_found"
        unverified = issuer.create_person("other", "Other", email=stranger.email, email_verified=False)
        assert platform.post("/join", caller=unverified).status_and_code == "404 not_found"

    def test_joining_during_the_revocation_is_rejected(
        self, api, organization, platform, emmy, invitation, stranger, monkeypatch
    ):
        run_before_next_transaction(monkeypatch, lambda: api.delete(invitation.path, caller=emmy))
        assert platform.post("/join", caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, invitation) == "revoked"


class TestManagement:
    def test_platform_admins_list_only_invitations_to_their_platforms(
        self, api, organization, platform, other_platform, emmy, invitation
    ):
        own_ids = [invitation.id]
        for n in range(3):
            create_invitation(api, organization, f"{n}@example.org")
            own_ids.append(create_invitation(api, platform, f"{n}@example.org").id)
            other = create_invitation(api, other_platform, f"{n}@example.org")
        for limit in (1, 2, 100):
            assert list_invitation_ids(api, organization, emmy, limit) == own_ids
        assert list_invitation_ids(api, organization, emmy, 2, platformId=platform.id.upper()) == own_ids
        for platform_id in (other_platform.id, "x"):
            answer = api.get(f"{organization.path}/invitations", caller=emmy, query={"platformId": platform_id})
            assert answer.status_and_code == "404 not_found"
        add_platform_member(other_platform, emmy, "admin")
        listed_ids = list_invitation_ids(api, organization, emmy, 2)
        assert (len(listed_ids), listed_ids[-1]) == (7, other.id)
        assert listed_ids == sorted(listed_ids)

    def test_organization_admins_list_all_invitations_and_filter_by_platform(
        self, api, organization, platform, grace, stranger, invitation
    ):
        other = create_invitation(api, organization, SOPHIE_EMAIL)
        foreign_platform = create_platform(api, create_organization(api, stranger))
        create_invitation(api, foreign_platform, SOPHIE_EMAIL)
        for limit in (1, 100):
            assert list_invitation_ids(api, organization, grace, limit) == [invitation.id, other.id]
        assert list_invitation_ids(api, organization, grace, platformId=platform.id) == [invitation.id]
        assert list_invitation_ids(api, organization, grace, platformId=foreign_platform.id) == []
        answer = api.get(f"{organization.path}/invitations", caller=grace, query={"platformId": "x"})
        assert answer.errors == {"query/platformId": "malformed"}

    def test_platform_admins_resend_and_revoke_only_invitations_to_their_platforms(
        self, api, organization, platform, other_platform, emmy, grace, invitation, clock
    ):
        others = [create_invitation(api, container, SOPHIE_EMAIL) for container in (organization, other_platform)]
        clock.shift(minutes=2)
        for path in (other.path for other in others):
            for method, requested_path in (("GET", path), ("DELETE", path), ("POST", f"{path}/resend")):
                assert api.request(method, requested_path, caller=emmy).status_and_code == "404 not_found"
        for caller in (emmy, grace):
            resent = api.post(f"{invitation.path}/resend", caller=caller)
            # The limit for resend_invitation in tests/catalogue/test_aws_calls.py is 3.
            assert (resent.status, len(resent.calls.read_names)) == (200, 3)
            clock.shift(minutes=2)
        set_member_role(api, platform, emmy, "member")
        assert api.post(f"{invitation.path}/resend", caller=grace).status_and_code == "409 invalid_transition"
        assert get_invitation_status(api, organization, invitation) == "pending"
        set_member_role(api, platform, emmy, "admin")
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert api.delete(invitation.path, caller=emmy).status == 204
        events = [f"platform.invitation.{name}" for name in ("created", "resent", "resent", "revoked")]
        assert invitation_events(api, organization, invitation) == events

    def test_organization_members_who_are_platform_admins_manage_its_invitations(
        self, api, organization, platform, mary, edith, invitation
    ):
        other = create_invitation(api, organization, SOPHIE_EMAIL)
        add_platform_member(platform, mary, "admin")
        add_platform_member(platform, edith, "editor")
        assert list_invitation_ids(api, organization, mary) == [invitation.id]
        assert api.get(invitation.path, caller=mary).status == 200
        for person, path in ((mary, other.path), (edith, invitation.path), (edith, f"{organization.path}/invitations")):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"

    @pytest.mark.parametrize("reason", ["the admin left", "the organization is deleted"])
    def test_strangers_and_former_admins_get_not_found(
        self, api, organization, platform, emmy, stranger, invitation, reason
    ):
        if reason == "the admin left":
            assert platform.post("/leave", caller=emmy).status == 204
        else:
            assert api.delete(organization.path, caller=organization.owner).status == 204
        for person in (emmy, stranger):
            for path in (invitation.path, f"{organization.path}/invitations"):
                assert api.get(path, caller=person).status_and_code == "404 not_found"


class TestDepartureOfTheInviter:
    @pytest.mark.parametrize("index_lags", [False, True])
    def test_the_invitation_is_rejected_at_once_and_stays_revoked_when_the_inviter_returns(
        self, api, organization, platform, invitation, emmy, await_cleanup, monkeypatch, *, index_lags
    ):
        if index_lags:
            monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        assert platform.delete(f"/members/{emmy.id}").status == 204
        add_platform_member(platform, emmy, "admin")
        for _ in range(2):
            assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
            await_cleanup()
        assert get_invitation_status(api, organization, invitation) == "revoked"
        later_events = ["platform.invitation.revoked"] if index_lags else []
        assert invitation_events(api, organization, invitation)[1:] == later_events

    def test_leaving_the_organization_revokes_invitations_to_its_platforms(
        self, api, organization, platform, grace, await_cleanup
    ):
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=grace)
        assert api.post(f"{organization.path}/leave", caller=grace).status == 204
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert get_invitation_status(api, organization, invitation) == "revoked"
        await_cleanup()
        assert invitation_events(api, organization, invitation) == ["platform.invitation.created"]

    def test_leaving_the_platform_keeps_invitations_sent_as_an_organization_admin(
        self, api, organization, platform, grace, await_cleanup
    ):
        add_platform_member(platform, grace, "admin")
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=grace)
        assert platform.post("/leave", caller=grace).status == 204
        await_cleanup()
        assert open_invitation(api, invitation).json["status"] == "pending"
        assert get_invitation_status(api, organization, invitation) == "pending"


def test_deleting_the_platform_removes_its_invitations_from_the_list_and_the_count(
    api, organization, platform, other_platform, stranger, workers, run_tasks_after, monkeypatch
):
    monkeypatch.setattr(tasks, "_BATCH_SIZE", 4)
    accept_invitation(api, create_invitation(api, platform, stranger), stranger)
    for n in range(6):
        create_invitation(api, platform, f"{n}@example.org")
    others = [create_invitation(api, container, SOPHIE_EMAIL).id for container in (organization, other_platform)]
    workers.run_until_idle()
    assert platform.delete().status == 204
    workers.deliver()
    assert list_invitation_ids(api, organization, organization.owner) == others
    (counter,) = [item for item in memory_aws.all_items() if item["sk"] == "COUNT#pending invitations"]
    assert counter["n"] == 2
    run_tasks_after(minutes=2)
    assert [key for key in keys_of_items_containing(platform.id) if key[0].startswith(("O#", "P#", "U#"))] == []


def test_the_expiry_of_an_invitation_to_a_platform_has_its_own_event(api, organization, invitation, workers, clock):
    clock.shift(days=7, seconds=1)
    assert open_invitation(api, invitation).status_and_code == "410 invitation_expired"
    workers.run_until_idle()
    assert invitation_events(api, organization, invitation)[-1] == "platform.invitation.expired"
