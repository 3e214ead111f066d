"""Invitations to a platform: sending, accepting and declining them."""

from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    post_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_platform_member, set_member_role

CREATED_AND_ACCEPTED = ["platform.invitation.created", "platform.invitation.accepted"]


class TestInviteToPlatform:
    def test_an_invitation_to_a_platform_is_one_of_the_organizations_invitations(
        self, api, organization, platform, emmy, invitation, stranger
    ):
        assert invitation.path == f"{organization.path}/invitations/{invitation.id}"
        record = api.get(invitation.path, caller=emmy).json
        assert record == {**invitation.record, "acceptUrl": None}
        expected = {"platformId": platform.id, "email": stranger.email, "invitedBy": emmy.id}
        assert record | expected == record
        (entry, *_) = list_entries(api, organization)
        target = {"type": "platform.invitation", "id": invitation.id, "name": stranger.email}
        assert (entry["type"], entry["target"]) == ("platform.invitation.created", target)
        assert entry["data"] == record

    def test_an_address_has_one_invitation_to_each_container_within_the_limit_of_the_organization(
        self, api, organization, platform, other_platform, stranger, monkeypatch
    ):
        containers = (organization, platform, other_platform)
        monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=3))
        for container in containers:
            create_invitation(api, container, stranger)
            assert post_invitation(api, container, stranger).errors == {"/email": "already_exists"}
        for container in containers:
            assert post_invitation(api, container, "else@example.org").status_and_code == "409 limit_exceeded"

    def test_members_of_the_organization_can_be_invited_and_members_of_the_platform_cannot(
        self, api, platform, emmy, mary
    ):
        assert post_invitation(api, platform, emmy).errors == {"/email": "already_member"}
        accepted = accept_invitation(api, create_invitation(api, platform, mary, role="admin"), mary)
        assert accepted["membership"]["role"] == "admin"
        assert post_invitation(api, platform, mary).status_and_code == "409 already_member"

    def test_admins_invite_with_roles_up_to_their_own(self, api, organization, platform, grace, emmy):
        for n, person in enumerate((grace, emmy)):
            create_invitation(api, platform, f"{n}@example.org", caller=person, role="admin")
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        for key, role, code in ((limited_key, "admin", "insufficient_role"), (admin_key, "owner", "not_one_of")):
            assert post_invitation(api, platform, SOPHIE_EMAIL, caller=key, role=role).errors == {"/role": code}
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=admin_key, role="admin")
        assert invitation.record["invitedBy"] == admin_key.id

    def test_the_email_names_the_platform(self, api, platform, emmy, mailbox, workers):
        create_invitation(api, platform, SOPHIE_EMAIL, caller=emmy)
        workers.deliver()
        (letter,) = mailbox.emails
        assert letter.subject == "Emmy Noether invites you to Engines"


class TestAcceptance:
    def test_the_link_describes_the_platform(self, api, platform, emmy, invitation, stranger):
        answer = open_invitation(api, invitation)
        record = platform.record
        assert answer.json == {
            "organization": None,
            "platform": {"id": platform.id, "name": record["name"], "slug": record["slug"]},
            "role": "editor",
            "email": stranger.email,
            "status": "pending",
            "expiresAt": invitation.record["expiresAt"],
            "invitedBy": emmy.id,
            "inviterName": "Emmy Noether",
            "canAccept": None,
            "reason": None,
            "membership": None,
        }
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
        assert response.status_and_code == "409 already_member"
        assert f"PATCH {platform.path}/members/{stranger.id}" in response.json["detail"]
        set_member_role(api, platform, stranger, "admin")
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"
        response = decide_on_invitation(api, invitation, stranger, "decline")
        assert f"POST {platform.path}/leave" in response.json["detail"]

    def test_the_link_is_not_found_when_the_platform_or_the_organization_is_deleted(
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
        match reason:
            case "revoked":
                api.delete(invitation.path, caller=emmy)
            case "declined":
                decline_invitation(api, invitation, stranger)
            case "expired":
                clock.shift(days=7, seconds=1)
            case "inviter demoted":
                set_member_role(api, platform, emmy, "member")
        assert platform.post("/join", caller=stranger).status_and_code == "404 not_found"

    @pytest.mark.usefixtures("invitation")
    def test_joining_needs_an_invitation_to_this_platform_and_a_verified_address(
        self, platform, other_platform, issuer, stranger
    ):
        assert other_platform.post("/join", caller=stranger).status_and_code == "404 not_found"
        unverified = issuer.create_person("other", "Other", email=stranger.email, email_verified=False)
        assert platform.post("/join", caller=unverified).status_and_code == "404 not_found"

    def test_joining_during_the_revocation_is_rejected(
        self, api, organization, platform, emmy, invitation, stranger, monkeypatch
    ):
        run_before_next_transaction(monkeypatch, lambda: api.delete(invitation.path, caller=emmy))
        assert platform.post("/join", caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, invitation) == "revoked"
