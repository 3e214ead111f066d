"""Invitations to a platform: sent, listed, answered and ended as those to an organization are, and by whom."""

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
    def test_is_found_under_the_organizations_invitations(
        self, api: Api, organization: Founded, platform: Running, emmy: Person, invited: Invited, stranger: Person
    ) -> None:
        assert invited.path == f"{organization.path}/invitations/{invited.id}"
        shown = api.get(invited.path, as_=emmy).json
        assert shown == {**invited.record, "acceptUrl": None}
        assert (shown["platformId"], shown["email"], shown["invitedBy"]) == (platform.id, stranger.email, emmy.id)
        (entry, *_) = log_of(api, organization)
        assert (entry["type"], entry["target"]) == (
            "platform.invitation.created",
            {"type": "platform.invitation", "id": invited.id, "name": stranger.email},
        )
        assert entry["data"] == shown

    def test_an_address_has_one_to_each_place(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, stranger: Person
    ) -> None:
        for place in (organization, platform, elsewhere):
            invite(api, place, stranger)
            assert asked_to_invite(api, place, stranger).faults == {"/email": "already_exists"}

    def test_members_of_the_platform_are_not_invited_and_those_of_the_organization_may_be(
        self, api: Api, platform: Running, emmy: Person, mary: Person
    ) -> None:
        assert asked_to_invite(api, platform, emmy).faults == {"/email": "already_member"}
        assert accepts(api, invite(api, platform, mary, role="admin"), mary)["membership"]["role"] == "admin"
        assert asked_to_invite(api, platform, mary).code == "409 already_member"

    def test_they_count_together_with_those_to_the_organization(
        self, api: Api, organization: Founded, platform: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=2))
        for place in (organization, platform):
            invite(api, place, f"{place.id}@example.org")
        for place in (organization, platform):
            assert asked_to_invite(api, place, SOPHIE).code == "409 limit_exceeded"

    def test_is_for_admins_who_give_no_more_than_they_have(
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
        area, full = make_key(api, organization, "members:write"), make_key(api, organization, "admin")
        assert asked_to_invite(api, platform, SOPHIE, as_=area, role="admin").faults == {"/role": "insufficient_role"}
        assert asked_to_invite(api, platform, SOPHIE, as_=full, role="owner").faults == {"/role": "not_one_of"}
        assert invite(api, platform, SOPHIE, as_=full, role="admin").record["invitedBy"] == full.id

    def test_its_mail_names_the_platform(
        self, api: Api, platform: Running, emmy: Person, mailbox: Mailbox, workers: Workers
    ) -> None:
        invite(api, platform, SOPHIE, as_=emmy)
        workers.deliver()
        (letter,) = mailbox.letters
        assert letter.subject == "Emmy Noether invites you to Engines"


class TestTheAnswer:
    def test_describes_the_platform_to_whoever_has_the_link(
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
    def test_makes_a_member_once(
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

    def test_is_for_the_invited_person_who_may_decline(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, mary: Person, stranger: Person
    ) -> None:
        assert decides(api, invited, mary).code == "403 email_mismatch"
        assert declines(api, invited, stranger)["status"] == "declined"
        assert decides(api, invited, stranger).code == "410 invitation_used"
        assert api.get(platform.path, as_=stranger).code == "404 not_found"
        assert history(api, organization, invited)[-1] == "platform.invitation.declined"

    def test_gives_no_member_a_higher_role_and_tells_how_to_leave(
        self, api: Api, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        takes_part(platform, stranger)
        refused = decides(api, invited, stranger)
        assert refused.code == "409 already_member"
        assert f"PATCH {platform.path}/members/{stranger.id}" in refused.json["detail"]
        is_made(api, platform, stranger, "admin")
        assert accepts(api, invited, stranger)["membership"]["role"] == "admin"
        assert f"POST {platform.path}/leave" in opens(api, invited, stranger, decision="decline").json["detail"]

    def test_has_no_effect_once_who_accepted_has_left(
        self, api: Api, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        accepts(api, invited, stranger)
        assert api.post(f"{platform.path}/leave", as_=stranger).status == 204
        assert decides(api, invited, stranger).code == "410 invitation_used"

    def test_leads_nowhere_once_the_platform_or_the_organization_is_gone(
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


class TestJoining:
    def test_accepts_what_the_callers_address_is_invited_to_also_at_a_draft(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        answer = api.post(f"{platform.path}/join", as_=stranger)
        assert (answer.status, answer.json["role"]) == (200, "editor")
        assert len(answer.calls.reads) <= 3  # The platform is new to the process.
        assert status_of(api, organization, invited) == "accepted"
        assert history(api, organization, invited) == ["platform.invitation.created", "platform.invitation.accepted"]
        assert accepts(api, invited, stranger)["membership"] == answer.json
        assert api.post(f"{platform.path}/join", as_=stranger).json == answer.json

    def test_an_open_platform_gives_the_role_that_was_offered(
        self, api: Api, organization: Founded, stranger: Person, mary: Person
    ) -> None:
        open_to_all = run_platform(api, organization, published=True, joinPolicy="open")
        for person, role in ((stranger, "admin"), (mary, "editor")):
            invite(api, open_to_all, person, role=role)
            assert api.post(f"{open_to_all.path}/join", as_=person).json["role"] == role

    @pytest.mark.parametrize("ended", ["revoked", "declined", "expired", "nobody vouches"])
    def test_needs_one_that_holds(
        self, api: Api, platform: Running, emmy: Person, invited: Invited, stranger: Person, clock: Clock, ended: str
    ) -> None:
        match ended:
            case "revoked":
                api.delete(invited.path, as_=emmy)
            case "declined":
                declines(api, invited, stranger)
            case "expired":
                clock.shift(days=7, seconds=1)
            case "nobody vouches":
                is_made(api, platform, emmy, "member")
        assert api.post(f"{platform.path}/join", as_=stranger).code == "404 not_found"

    @pytest.mark.usefixtures("invited")
    def test_needs_one_to_the_platform_for_an_address_that_is_seen_to_be_the_callers(
        self, api: Api, platform: Running, elsewhere: Running, issuer: Issuer, stranger: Person
    ) -> None:
        assert api.post(f"{elsewhere.path}/join", as_=stranger).code == "404 not_found"
        somebody = issuer.person("other", "Other", email=stranger.email, email_verified=False)
        assert api.post(f"{platform.path}/join", as_=somebody).code == "404 not_found"

    def test_while_it_is_revoked_comes_too_late(
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
