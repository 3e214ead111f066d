"""Invitations to a platform: sent, listed, answered and ended as those to an organization are, and by whom."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chalicelib.features.invitations.entities import Invitation
from chalicelib.kernel.context import Context
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.erasures import left_of
from tests.harness.invitations import (
    ACCEPTANCE,
    Invited,
    accepts,
    asked_to_invite,
    before_the_next_write,
    declines,
    invite,
    opens,
    status_of,
)
from tests.harness.logs import log_of
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found, make_key
from tests.harness.running import Running, is_made, make_space, run_platform, takes_part
from tests.harness.workers import Workers

SOPHIE = "sophie@example.org"
REVOKED = "410 invitation_revoked"
READS = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")


@pytest.fixture
def emmy(issuer: Issuer) -> Person:
    """An admin of the platform, and of nothing else."""
    return issuer.person("emmy", "Emmy Noether")


@pytest.fixture
def platform(api: Api, organization: Founded, emmy: Person) -> Running:
    """A draft of Ada's organization, of which Emmy is an admin."""
    platform = run_platform(api, organization)
    takes_part(platform, emmy, "admin")
    return platform


@pytest.fixture
def elsewhere(api: Api, organization: Founded) -> Running:
    """Another platform of the organization."""
    return run_platform(api, organization, name="Elsewhere")


@pytest.fixture
def invited(api: Api, platform: Running, emmy: Person, stranger: Person) -> Invited:
    """Emmy's invitation of Sophie to become an editor."""
    return invite(api, platform, stranger, as_=emmy, role="editor")


def told(api: Api, organization: Founded, invited: Invited) -> list[str]:
    return [entry["type"] for entry in reversed(log_of(api, organization, targetId=invited.id))]


def listed(api: Api, organization: Founded, as_: Person, limit: int = 100, **query: str) -> list[str]:
    """The ids of the invitations that somebody is shown."""
    items = api.items(f"{organization.path}/invitations", as_=as_, query={"limit": limit, **query})
    return [item["id"] for item in items]


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
            "platform.invitation.created", {"type": "platform.invitation", "id": invited.id, "name": stranger.email},
        )  # fmt: skip
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
        monkeypatch.setattr(Invitation, "limit", replace(Invitation.limit, most=2))
        for place in (organization, platform):
            invite(api, place, f"{place.id}@example.org")
        for place in (organization, platform):
            assert asked_to_invite(api, place, SOPHIE).code == "409 limit_exceeded"

    def test_is_for_admins_who_give_no_more_than_they_have(
        self, api: Api, organization: Founded, platform: Running, grace: Person, emmy: Person, edith: Person,
        stranger: Person,
    ) -> None:  # fmt: skip
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
            "organization": None, "platform": {"id": platform.id, "name": record["name"], "slug": record["slug"]},
            "role": "editor", "email": stranger.email, "status": "pending", "expiresAt": invited.record["expiresAt"],
            "invitedBy": emmy.id, "inviterName": "Emmy Noether", "membership": None,
        }  # fmt: skip
        assert len(answer.calls.names) == 2

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_makes_a_member_once(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, stranger: Person, method: str
    ) -> None:
        def accept() -> Json:
            if method == "GET":
                return accepts(api, invited, stranger)
            answer = api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token})
            assert sum(answer.calls.names.count(name) for name in READS) == 2
            return answer.json

        first = accept()
        assert (first["status"], first["membership"]["role"]) == ("accepted", "editor")
        assert accept() == first
        assert api.get(f"{platform.path}/members/{stranger.id}", as_=stranger).json == first["membership"]
        assert make_space(api, platform, as_=stranger).record["name"] == "Looms"
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert told(api, organization, invited) == ["platform.invitation.created", "platform.invitation.accepted"]

    def test_is_for_the_invited_person_who_may_decline(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, mary: Person, stranger: Person
    ) -> None:
        assert opens(api, invited, mary).code == "403 email_mismatch"
        assert declines(api, invited, stranger)["status"] == "declined"
        assert opens(api, invited, stranger).code == "410 invitation_used"
        assert api.get(platform.path, as_=stranger).code == "404 not_found"
        assert told(api, organization, invited)[-1] == "platform.invitation.declined"

    def test_gives_no_member_a_higher_role_and_tells_how_to_leave(
        self, api: Api, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        takes_part(platform, stranger)
        refused = opens(api, invited, stranger)
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
        assert opens(api, invited, stranger).code == "410 invitation_used"

    def test_leads_nowhere_once_the_platform_or_the_organization_is_gone(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, invited: Invited,
        stranger: Person, clock: Clock,
    ) -> None:  # fmt: skip
        other = invite(api, elsewhere, stranger)
        clock.shift(minutes=2)
        assert api.delete(platform.path, as_=organization.owner).status == 204
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == "404 not_found"
        assert api.post(f"{invited.path}/resend", as_=organization.owner).code == "404 not_found"
        assert api.delete(invited.path, as_=organization.owner).status == 204
        assert api.delete(organization.path, as_=organization.owner).status == 204
        assert opens(api, other, stranger).code == "404 not_found"


def test_it_goes_with_its_platform_and_counts_no_more(
    api: Api, organization: Founded, platform: Running, elsewhere: Running, emmy: Person, stranger: Person,
    workers: Workers, clock: Clock,
) -> None:  # fmt: skip
    accepts(api, invite(api, platform, stranger), stranger)
    for n in range(30):
        invite(api, platform, f"{n}@example.org", as_=emmy)
    others = [invite(api, place, SOPHIE).id for place in (organization, elsewhere)]
    workers.settle()
    assert api.delete(platform.path, as_=organization.owner).status == 204
    workers.deliver()
    assert listed(api, organization, organization.owner) == others
    (counter,) = [item for item in cloud.stored() if item["sk"] == "COUNT#pending invitations"]
    assert counter["n"] == 2
    clock.shift(minutes=2)
    workers.settle()
    assert [key for key in left_of(platform.id) if key[0].startswith(("O#", "P#", "U#"))] == []


class TestJoining:
    def test_accepts_what_the_callers_address_is_invited_to_also_at_a_draft(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, stranger: Person
    ) -> None:
        answer = api.post(f"{platform.path}/join", as_=stranger)
        assert (answer.status, answer.json["role"]) == (200, "editor")
        assert sum(answer.calls.names.count(name) for name in READS) <= 3  # The platform is new to the process.
        assert status_of(api, organization, invited) == "accepted"
        assert told(api, organization, invited) == ["platform.invitation.created", "platform.invitation.accepted"]
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
        self, api: Api, organization: Founded, platform: Running, emmy: Person, invited: Invited, stranger: Person,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        before_the_next_write(monkeypatch, lambda: api.delete(invited.path, as_=emmy))
        assert api.post(f"{platform.path}/join", as_=stranger).code == "404 not_found"
        assert status_of(api, organization, invited) == "revoked"


class TestWhoLooksAfterThem:
    def test_a_platforms_admins_see_those_to_their_platforms(
        self, api: Api, organization: Founded, platform: Running, elsewhere: Running, emmy: Person, invited: Invited
    ) -> None:
        own = [invited.id]
        for n in range(3):
            invite(api, organization, f"{n}@example.org")
            own.append(invite(api, platform, f"{n}@example.org").id)
            other = invite(api, elsewhere, f"{n}@example.org")
        for limit in (1, 2, 100):
            assert listed(api, organization, emmy, limit) == own
            assert listed(api, organization, emmy, limit, platformId=platform.id.upper()) == own
        for query in ({"platformId": elsewhere.id}, {"platformId": "x"}):
            answer = api.get(f"{organization.path}/invitations", as_=emmy, query=query)
            assert answer.code == "404 not_found"
        takes_part(elsewhere, emmy, "admin")
        both = listed(api, organization, emmy, 2)
        assert (len(both), both[-1]) == (7, other.id)
        assert both == sorted(both)

    def test_an_organizations_admins_see_all_and_choose(
        self, api: Api, organization: Founded, platform: Running, grace: Person, stranger: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        rivals = run_platform(api, found(api, stranger))
        invite(api, rivals, SOPHIE)
        for limit in (1, 100):
            assert listed(api, organization, grace, limit) == [invited.id, other.id]
        assert listed(api, organization, grace, platformId=platform.id) == [invited.id]
        assert listed(api, organization, grace, platformId=rivals.id) == []
        answer = api.get(f"{organization.path}/invitations", as_=grace, query={"platformId": "x"})
        assert answer.faults == {"query/platformId": "malformed"}

    def test_a_platforms_admins_send_and_revoke_those_to_it_and_no_others(
        self, api: Api, organization: Founded, elsewhere: Running, emmy: Person, invited: Invited, clock: Clock
    ) -> None:
        others = [invite(api, place, SOPHIE) for place in (organization, elsewhere)]
        clock.shift(minutes=2)
        for other in others:
            asked = [api.get(other.path, as_=emmy), api.delete(other.path, as_=emmy),
                     api.post(f"{other.path}/resend", as_=emmy)]  # fmt: skip
            assert [answer.code for answer in asked] == ["404 not_found"] * 3
        again = api.post(f"{invited.path}/resend", as_=emmy)
        assert again.status == 200
        assert sum(again.calls.names.count(name) for name in READS) == 2
        assert opens(api, invited).code == REVOKED
        assert api.delete(invited.path, as_=emmy).status == 204
        assert told(api, organization, invited) == [
            "platform.invitation.created", "platform.invitation.resent", "platform.invitation.revoked",
        ]  # fmt: skip

    def test_members_of_the_organization_who_are_admins_of_a_platform_too(
        self, api: Api, organization: Founded, platform: Running, mary: Person, edith: Person, invited: Invited
    ) -> None:
        other = invite(api, organization, SOPHIE)
        takes_part(platform, mary, "admin")
        takes_part(platform, edith, "editor")
        assert listed(api, organization, mary) == [invited.id]
        assert api.get(invited.path, as_=mary).status == 200
        for person, path in ((mary, other.path), (edith, invited.path), (edith, f"{organization.path}/invitations")):
            assert api.get(path, as_=person).code == "403 insufficient_role"

    def test_strangers_and_who_is_none_any_more_see_nothing(
        self, api: Api, organization: Founded, platform: Running, emmy: Person, stranger: Person, invited: Invited
    ) -> None:
        assert api.post(f"{platform.path}/leave", as_=emmy).status == 204
        for person in (emmy, stranger):
            for path in (invited.path, f"{organization.path}/invitations"):
                assert api.get(path, as_=person).code == "404 not_found"

    def test_nobody_sees_any_of_an_organization_that_is_deleted(
        self, api: Api, organization: Founded, emmy: Person, invited: Invited
    ) -> None:
        assert api.delete(organization.path, as_=organization.owner).status == 204
        for path in (invited.path, f"{organization.path}/invitations"):
            assert api.get(path, as_=emmy).code == "404 not_found"

    def test_an_admin_of_the_organization_sends_again_what_its_inviter_could(
        self, api: Api, organization: Founded, platform: Running, grace: Person, emmy: Person, invited: Invited,
        clock: Clock,
    ) -> None:  # fmt: skip
        clock.shift(minutes=2)
        again = api.post(f"{invited.path}/resend", as_=grace)
        assert (again.status, sum(again.calls.names.count(name) for name in READS)) == (200, 2)
        clock.shift(minutes=2)
        is_made(api, platform, emmy, "member")
        assert api.post(f"{invited.path}/resend", as_=grace).code == "409 invalid_transition"
        assert status_of(api, organization, invited) == "pending"


class TestWhoseInviterIsGone:
    @pytest.fixture
    def wait(self, workers: Workers, clock: Clock) -> Callable[[], None]:
        """Let the time go by that a departure takes."""

        def wait() -> None:
            for _ in range(2):
                clock.shift(minutes=1, seconds=10)
                workers.settle()

        return wait

    @pytest.mark.parametrize("late", [False, True])
    def test_from_the_platform_it_is_dead_at_once_and_revoked_though_they_come_back(
        self, api: Api, organization: Founded, platform: Running, invited: Invited, emmy: Person,
        wait: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, late: bool,
    ) -> None:  # fmt: skip
        if late:
            monkeypatch.setattr(Context, "among", lambda *_, **__: [])
        assert api.delete(f"{platform.path}/members/{emmy.id}", as_=organization.owner).status == 204
        takes_part(platform, emmy, "admin")
        for _ in range(2):
            assert opens(api, invited).code == REVOKED
            wait()
        assert status_of(api, organization, invited) == "revoked"
        assert told(api, organization, invited)[1:] == (["platform.invitation.revoked"] if late else [])

    def test_from_the_organization_so_are_those_to_its_platforms(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        as_admin = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{organization.path}/leave", as_=grace).status == 204
        assert opens(api, as_admin).code == REVOKED
        assert status_of(api, organization, as_admin) == "revoked"
        wait()
        assert told(api, organization, as_admin) == ["platform.invitation.created"]

    def test_only_what_they_invited_as_its_member_goes_with_the_platforms_membership(
        self, api: Api, organization: Founded, platform: Running, grace: Person, wait: Callable[[], None]
    ) -> None:
        takes_part(platform, grace, "admin")
        as_admin = invite(api, platform, SOPHIE, as_=grace)
        assert api.post(f"{platform.path}/leave", as_=grace).status == 204
        wait()
        assert opens(api, as_admin).json["status"] == "pending"
        assert status_of(api, organization, as_admin) == "pending"


def test_it_expires_with_an_event_of_its_own(
    api: Api, organization: Founded, invited: Invited, workers: Workers, clock: Clock
) -> None:
    clock.shift(days=7, seconds=1)
    assert opens(api, invited).code == "410 invitation_expired"
    workers.settle()
    assert told(api, organization, invited)[-1] == "platform.invitation.expired"
