"""Invitations to a platform: sending, listing, accepting, declining and revoking them."""

from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.invitations import (
    ACCEPTANCE,
    SOPHIE,
    Invited,
    accepts,
    asked_to_invite,
    before_the_next_write,
    decides,
    declines,
    history,
    invite,
    opens,
    status_of,
)
from tests.harness.logs import log_of
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Running, is_made, make_space, run_platform, takes_part
from tests.harness.workers import Workers


class TestInviteToPlatform:
    def test_an_invitation_to_a_platform_is_one_of_the_organizations_invitations(
        self, api: Api, organization: Founded, platform: Running, emmy: Person, invited: Invited, stranger: Person
    ) -> None:
        assert invited.path == f"{organization.path}/invitations/{invited.id}"
        invitation = api.get(invited.path, as_=emmy).json
        assert invitation == {**invited.record, "acceptUrl": None}
        assert (invitation["platformId"], invitation["email"], invitation["invitedBy"]) == (
            platform.id,
            stranger.email,
            emmy.id,
        )
        (entry, *_) = log_of(api, organization)
        assert (entry["type"], entry["target"]) == (
            "platform.invitation.created",
            {"type": "platform.invitation", "id": invited.id, "name": stranger.email},
        )
        assert entry["data"] == invitation

    def test_an_address_has_one_invitation_to_each_container(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, stranger: Person
    ) -> None:
        for container in (organization, platform, elsewhere):
            invite(api, container, stranger)
            assert asked_to_invite(api, container, stranger).faults == {"/email": "already_exists"}

    def test_members_of_the_organization_can_be_invited_and_members_of_the_platform_cannot(
        self, api: Api, platform: Running, emmy: Person, mary: Person
    ) -> None:
        assert asked_to_invite(api, platform, emmy).faults == {"/email": "already_member"}
        assert accepts(api, invite(api, platform, mary, role="admin"), mary)["membership"]["role"] == "admin"
        assert asked_to_invite(api, platform, mary).code == "409 already_member"

    def test_invitations_to_platforms_count_toward_the_limit_of_the_organization(
        self, api: Api, organization: Founded, platform: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=2))
        for container in (organization, platform):
            invite(api, container, f"{container.id}@example.org")
        for container in (organization, platform):
            assert asked_to_invite(api, container, SOPHIE).code == "409 limit_exceeded"

    def test_admins_invite_with_roles_up_to_their_own(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        grace: Person,
        emmy: Person,
        edith: Person,
        stranger: Person,
    ) -> None:
        takes_part(platform, edith, "editor")
        assert asked_to_invite(api, platform, SOPHIE, as_=edith).code == "403 insufficient_role"
        assert asked_to_invite(api, platform, SOPHIE, as_=stranger).code == "404 not_found"
        for n, person in enumerate((grace, emmy)):
            invite(api, platform, f"{n}@example.org", as_=person, role="admin")
        limited_key, admin_key = make_key(api, organization, "members:write"), make_key(api, organization, "admin")
        assert asked_to_invite(api, platform, SOPHIE, as_=limited_key, role="admin").faults == {
            "/role": "insufficient_role"
        }
        assert asked_to_invite(api, platform, SOPHIE, as_=admin_key, role="owner").faults == {"/role": "not_one_of"}
        assert invite(api, platform, SOPHIE, as_=admin_key, role="admin").record["invitedBy"] == admin_key.id

    def test_the_email_names_the_platform(
        self, api: Api, platform: Running, emmy: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        invite(api, platform, SOPHIE, as_=emmy)
        workers.deliver()
        (letter,) = mailbox.letters
        assert letter.subject == "Emmy Noether invites you to Engines"


class TestAcceptance:
    def test_the_link_describes_the_platform(
        self, api: Api, platform: Running, emmy: Person, invited: Invited, stranger: Person
    ) -> None:
        answer = opens(api, invited)
        record = platform.record
        assert answer.json == {
            "organization": None,
            "platform": {"id": platform.id, "name": record["name"], "slug": record["slug"]},
            "role": "editor",
            "email": stranger.email,
            "status": "pending",
            "expiresAt": invited.record["expiresAt"],
            "invitedBy": emmy.id,
            "inviterName": "Emmy Noether",
            "canAccept": None,
            "reason": None,
            "membership": None,
        }
        assert len(answer.calls.names) == 2

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_accepting_twice_creates_one_member(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, stranger: Person, method: str
    ) -> None:
        def accept() -> Json:
            if method == "GET":
                return accepts(api, invited, stranger)
            answer = api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token})
            assert len(answer.calls.reads) == 2
            return answer.json

        first = accept()
        assert (first["status"], first["membership"]["role"]) == ("accepted", "editor")
        assert accept() == first
        assert api.get(f"{platform.path}/members/{stranger.id}", as_=stranger).json == first["membership"]
        assert make_space(api, platform, as_=stranger).record["name"] == "Looms"
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert history(api, organization, invited) == ["platform.invitation.created", "platform.invitation.accepted"]

    def test_only_the_invited_person_accepts_or_declines(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, mary: Person, stranger: Person
    ) -> None:
        assert decides(api, invited, mary).code == "403 email_mismatch"
        assert declines(api, invited, stranger)["status"] == "declined"
        assert decides(api, invited, stranger).code == "410 invitation_used"
        assert api.get(platform.path, as_=stranger).code == "404 not_found"
        assert history(api, organization, invited)[-1] == "platform.invitation.declined"

    def test_an_existing_member_is_not_promoted_and_is_told_how_to_leave(
        self, api: Api, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        takes_part(platform, stranger)
        response = decides(api, invited, stranger)
        assert response.code == "409 already_member"
        assert f"PATCH {platform.path}/members/{stranger.id}" in response.json["detail"]
        is_made(api, platform, stranger, "admin")
        assert accepts(api, invited, stranger)["membership"]["role"] == "admin"
        assert f"POST {platform.path}/leave" in opens(api, invited, stranger, decision="decline").json["detail"]

    def test_an_accepted_invitation_is_used_up_when_the_member_has_left(
        self, api: Api, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        accepts(api, invited, stranger)
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert decides(api, invited, stranger).code == "410 invitation_used"

    def test_the_link_is_not_found_when_the_platform_or_the_organization_is_deleted(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        elsewhere: Running,
        invited: Invited,
        stranger: Person,
        clock: Clock,
    ) -> None:
        other = invite(api, elsewhere, stranger)
        clock.shift(minutes=2)
        assert api.delete(platform.path, as_=organization.owner).status == 204
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == "404 not_found"
        assert api.post(f"{invited.path}/resend", as_=organization.owner).code == "404 not_found"
        assert api.delete(invited.path, as_=organization.owner).status == 204
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert opens(api, other, stranger).code == "404 not_found"


class TestJoin:
    def test_joining_accepts_an_invitation_even_to_a_draft(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        answer = api.post(f"{platform.path}/join", as_=stranger)
        assert (answer.status, answer.json["role"]) == (200, "editor")
        assert len(answer.calls.reads) <= 3  # The platform is not yet cached.
        assert status_of(api, organization, invited) == "accepted"
        assert history(api, organization, invited) == ["platform.invitation.created", "platform.invitation.accepted"]
        assert accepts(api, invited, stranger)["membership"] == answer.json
        assert api.post(f"{platform.path}/join", as_=stranger).json == answer.json

    def test_joining_an_open_platform_grants_the_invitations_role(
        self, api: Api, organization: Founded, stranger: Person, mary: Person
    ) -> None:
        open_platform = run_platform(api, organization, published=True, joinPolicy="open")
        for person, role in ((stranger, "admin"), (mary, "editor")):
            invite(api, open_platform, person, role=role)
            assert api.post(f"{open_platform.path}/join", as_=person).json["role"] == role

    @pytest.mark.parametrize("reason", ["revoked", "declined", "expired", "inviter demoted"])
    def test_joining_needs_a_valid_invitation(
        self, api: Api, platform: Running, emmy: Person, invited: Invited, stranger: Person, clock: Clock, reason: str
    ) -> None:
        match reason:
            case "revoked":
                api.delete(invited.path, as_=emmy)
            case "declined":
                declines(api, invited, stranger)
            case "expired":
                clock.shift(days=7, seconds=1)
            case "inviter demoted":
                is_made(api, platform, emmy, "member")
        assert api.post(f"{platform.path}/join", as_=stranger).code == "404 not_found"

    @pytest.mark.usefixtures("invited")
    def test_joining_needs_an_invitation_to_this_platform_and_a_verified_address(
        self, api: Api, platform: Running, elsewhere: Running, issuer: Issuer, stranger: Person
    ) -> None:
        assert api.post(f"{elsewhere.path}/join", as_=stranger).code == "404 not_found"
        unverified = issuer.person("other", "Other", email=stranger.email, email_verified=False)
        assert api.post(f"{platform.path}/join", as_=unverified).code == "404 not_found"

    def test_joining_during_the_revocation_is_rejected(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        emmy: Person,
        invited: Invited,
        stranger: Person,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before_the_next_write(monkeypatch, lambda: api.delete(invited.path, as_=emmy))
        assert api.post(f"{platform.path}/join", as_=stranger).code == "404 not_found"
        assert status_of(api, organization, invited) == "revoked"
