import pytest

from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage import table
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.invitations import (
    SOPHIE,
    Invited,
    accepts,
    asked_to_invite,
    decides,
    declines,
    history,
    invite,
    opens,
    resend,
    status_of,
)
from tests.harness.organizations import Founded, make_key
from tests.harness.workers import Workers, bodies

REVOKED, EXPIRED = "410 invitation_revoked", "410 invitation_expired"


def create_accepted(api: Api, organization: Founded, person: Person) -> Invited:
    invitation = invite(api, organization, person)
    accepts(api, invitation, person)
    return invitation


def create_declined(api: Api, organization: Founded, person: Person) -> Invited:
    invitation = invite(api, organization, person)
    declines(api, invitation, person)
    return invitation


class TestRevokeInvitation:
    def test_the_link_is_rejected_at_once_for_everyone(
        self, api: Api, organization: Founded, grace: Person, stranger: Person
    ) -> None:
        invitation = invite(api, organization, stranger)
        answer = api.delete(invitation.path, as_=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert opens(api, invitation, caller).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert status_of(api, organization, invitation) == "revoked"

    def test_repeating_it_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invitation = invite(api, organization, SOPHIE)
        api.delete(invitation.path, as_=ada)
        before = api.get(invitation.path, as_=ada).json
        assert api.delete(invitation.path, as_=ada).status == 204
        assert api.get(invitation.path, as_=ada).json == before
        assert history(api, organization, invitation) == ["created", "revoked"]

    def test_an_accepted_or_declined_invitation_cannot_be_revoked(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person
    ) -> None:
        for invitation, status in (
            (create_accepted(api, organization, stranger), "accepted"),
            (create_declined(api, organization, operator), "declined"),
        ):
            assert api.delete(invitation.path, as_=ada).code == "409 invalid_transition"
            assert status_of(api, organization, invitation) == status

    def test_an_expired_invitation_cannot_be_revoked(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        clock.shift(days=8)
        for _ in range(2):
            assert api.delete(invitation.path, as_=ada).code == "409 invalid_transition"
            workers.settle()

    def test_if_match_rejects_a_changed_invitation(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        conditions = {"If-Match": api.get(invitation.path, as_=ada).etag}
        clock.shift(minutes=2)
        resent = resend(api, organization, invitation)
        assert api.delete(invitation.path, as_=ada, headers=conditions).code == "412 precondition_failed"
        assert opens(api, resent).status == 200
        conditions = {"If-Match": api.get(invitation.path, as_=ada).etag}
        assert api.delete(invitation.path, as_=ada, headers=conditions).status == 204

    def test_only_callers_who_may_write_members_revoke_an_invitation(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person
    ) -> None:
        invitation = invite(api, organization, stranger)
        for person in (edith, mary):
            assert api.delete(invitation.path, as_=person).code == "403 insufficient_role"
        assert api.delete(invitation.path, as_=make_key(api, organization, "members:read")).status == 403
        assert api.delete(invitation.path, as_=stranger).code == "404 not_found"
        assert api.delete(invitation.path).code == "401 unauthenticated"
        assert api.delete(invitation.path, as_=make_key(api, organization, "members:write")).status == 204


class TestResendInvitation:
    def post_resend(self, api: Api, invitation: Invited, as_: Caller, **headers: str) -> Answer:
        return api.post(
            f"{invitation.path}/resend", as_=as_, headers={n.replace("_", "-"): v for n, v in headers.items()}
        )

    def test_resending_needs_the_right_to_grant_the_role(
        self, api: Api, organization: Founded, grace: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, SOPHIE, role="admin")
        clock.shift(minutes=2)
        answer = self.post_resend(api, invitation, make_key(api, organization, "members:write"))
        assert answer.code == "403 insufficient_role"
        assert answer.json["detail"] == "It offers 'admin'. You can grant roles up to 'editor'."
        assert self.post_resend(api, invitation, grace).status == 200

    def test_a_failed_precondition_takes_precedence_over_the_rate_limit(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        assert self.post_resend(api, invitation, ada, If_Match='"another"').code == "412 precondition_failed"
        assert self.post_resend(api, invitation, ada).code == "429 rate_limited"

    def test_a_resent_invitation_has_a_new_link_and_its_full_lifetime(
        self, api: Api, organization: Founded, grace: Person, clock: Clock
    ) -> None:
        clock.freeze()
        first = invite(api, organization, SOPHIE, role="editor", message="Come.", expiresInDays=3)
        clock.shift(days=2)
        timestamp = clock.freeze()
        answer = self.post_resend(api, first, grace)
        assert answer.status == 200
        assert answer.json == {
            **first.record,
            "version": 2,
            "updatedAt": timestamp,
            "sentAt": timestamp,
            "expiresAt": after(timestamp, days=3),
            "acceptUrl": answer.json["acceptUrl"],
        }
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(first.path, as_=grace).json == {**answer.json, "acceptUrl": None}

    def test_earlier_links_are_rejected_and_the_new_one_works(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock
    ) -> None:
        versions = [invite(api, organization, stranger)]
        for _ in range(2):
            clock.shift(minutes=2)
            versions.append(resend(api, organization, versions[-1]))
        for former_version in versions[:-1]:
            for caller in (None, stranger):
                assert opens(api, former_version, caller).code == REVOKED
            for decision in ("accept", "decline"):
                assert decides(api, former_version, stranger, decision).code == REVOKED
        assert accepts(api, versions[-1], stranger)["status"] == "accepted"
        assert decides(api, versions[0], stranger).code == REVOKED

    def test_the_earlier_expiry_no_longer_applies(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        clock.shift(days=6)
        resent = resend(api, organization, invitation)
        clock.shift(days=6)
        workers.settle()
        assert opens(api, resent).json["status"] == "pending"
        assert asked_to_invite(api, organization, SOPHIE).code == "409 already_exists"
        clock.shift(days=1, seconds=1)
        workers.settle()
        assert opens(api, resent).code == EXPIRED
        assert history(api, organization, resent) == ["created", "resent", "expired"]

    def test_one_email_per_minute_including_the_first(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        clock.freeze()
        invitation = invite(api, organization, SOPHIE)
        for _ in range(2):
            for elapsed_seconds, remaining_seconds in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=elapsed_seconds)
                answer = self.post_resend(api, invitation, ada)
                assert answer.code == "429 rate_limited"
                assert answer.headers["Retry-After"] == str(remaining_seconds)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={remaining_seconds}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            clock.shift(seconds=0.5)
            assert self.post_resend(api, invitation, ada).status == 200

    def test_a_rate_limited_request_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invitation = invite(api, organization, SOPHIE)
        assert self.post_resend(api, invitation, ada).status == 429
        assert opens(api, invitation).status == 200
        assert api.get(invitation.path, as_=ada).json["version"] == 1
        assert history(api, organization, invitation) == ["created"]

    def test_the_rate_limit_is_separate_for_each_invitation(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        first = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        invite(api, organization, "x@example.org")
        assert self.post_resend(api, first, ada).status == 200

    def test_only_a_pending_invitation_is_resent(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person, clock: Clock
    ) -> None:
        expired_invitation = invite(api, organization, SOPHIE, expiresInDays=1)
        clock.shift(days=2)
        revoked_invitation = invite(api, organization, SOPHIE)
        api.delete(revoked_invitation.path, as_=ada)
        for invitation in (
            expired_invitation,
            revoked_invitation,
            create_accepted(api, organization, stranger),
            create_declined(api, organization, operator),
        ):
            before = api.get(invitation.path, as_=ada).json
            assert self.post_resend(api, invitation, ada).code == "409 invalid_transition"
            clock.shift(minutes=2)
            assert self.post_resend(api, invitation, ada).code == "409 invalid_transition"
            assert api.get(invitation.path, as_=ada).json == before

    def test_a_retry_with_the_idempotency_key_sends_once(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        first, repeated = (self.post_resend(api, invitation, ada, Idempotency_Key="once") for _ in range(2))
        assert first.status == 200
        assert repeated.said == first.said
        assert repeated.headers["Idempotency-Replayed"] == "true"

    def test_if_match_rejects_a_changed_invitation(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        etag = api.get(invitation.path, as_=ada).etag
        clock.shift(minutes=2)
        assert self.post_resend(api, invitation, ada, If_Match=etag).status == 200
        clock.shift(minutes=2)
        assert self.post_resend(api, invitation, ada, If_Match=etag).code == "412 precondition_failed"

    def test_a_nonempty_body_is_rejected(self, api: Api, organization: Founded, ada: Person, clock: Clock) -> None:
        invitation = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        path = f"{invitation.path}/resend"
        assert api.post(path, as_=ada, json={"role": "admin"}).faults == {"/role": "unknown_field"}
        assert api.post(path, as_=ada, json={}).status == 200

    def test_only_callers_who_may_write_members_resend_an_invitation(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, stranger)
        clock.shift(minutes=2)
        for person in (edith, mary):
            assert self.post_resend(api, invitation, person).code == "403 insufficient_role"
        assert self.post_resend(api, invitation, stranger).code == "404 not_found"
        assert (
            self.post_resend(api, invitation, make_key(api, organization, "members:read")).code
            == "403 insufficient_scope"
        )
        assert self.post_resend(api, invitation, make_key(api, organization, "members:write")).status == 200


class TestExpiry:
    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_the_link_works_until_the_expiry_and_not_afterwards(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock, days: int
    ) -> None:
        clock.freeze()
        invitation = invite(api, organization, stranger, expiresInDays=days)
        clock.shift(days=days, seconds=-0.001)
        assert opens(api, invitation).json["status"] == "pending"
        clock.shift(seconds=0.001)
        for caller in (None, stranger):
            assert opens(api, invitation, caller).code == EXPIRED
        for decision in ("accept", "decline"):
            assert decides(api, invitation, stranger, decision).code == EXPIRED
        assert status_of(api, organization, invitation) == "expired"

    def test_the_sweep_expires_an_invitation_with_one_entry(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        clock.shift(days=6)
        workers.settle()
        assert status_of(api, organization, invitation) == "pending"
        clock.shift(days=1, seconds=1)
        for _ in range(2):
            workers.settle()
            clock.shift(minutes=5)
        assert status_of(api, organization, invitation) == "expired"
        assert history(api, organization, invitation) == ["created", "expired"]
        assert opens(api, invitation).code == EXPIRED

    def test_accepted_and_declined_invitations_do_not_expire(
        self, api: Api, organization: Founded, stranger: Person, operator: Person, clock: Clock, workers: Workers
    ) -> None:
        accepted_invitation, declined_invitation = (
            create_accepted(api, organization, stranger),
            create_declined(api, organization, operator),
        )
        clock.shift(days=31)
        workers.settle()
        assert [
            status_of(api, organization, invitation) for invitation in (accepted_invitation, declined_invitation)
        ] == ["accepted", "declined"]
        assert decides(api, accepted_invitation, stranger).json["membership"]["userId"] == stranger.id
        assert [
            history(api, organization, invitation)[1:] for invitation in (accepted_invitation, declined_invitation)
        ] == [
            ["accepted"],
            ["declined"],
        ]

    def test_closed_invitations_have_no_scheduled_task(
        self,
        api: Api,
        organization: Founded,
        ada: Person,
        stranger: Person,
        operator: Person,
        clock: Clock,
        workers: Workers,
    ) -> None:
        create_accepted(api, organization, stranger)
        create_declined(api, organization, operator)
        api.delete(invite(api, organization, SOPHIE).path, as_=ada)
        invite(api, organization, "late@example.org")
        clock.shift(days=8)
        workers.settle()
        clock.shift(minutes=2)
        workers.sweep()
        assert bodies("jobs") == []

    def test_invitations_expire_in_a_deleted_organization(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        invitation = invite(api, organization, stranger)
        api.delete(organization.path, as_=ada)
        clock.shift(days=8)
        workers.settle()
        assert opens(api, invitation, stranger).code == "404 not_found"
        api.patch(organization.path, as_=ada, json={"status": "active"})
        assert opens(api, invitation, stranger).code == EXPIRED
        assert history(api, organization, invitation) == ["created", "expired"]

    def test_a_purge_removes_every_item_of_an_invitation(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        pending_invitation, accepted_invitation = (
            invite(api, organization, SOPHIE, expiresInDays=30),
            create_accepted(api, organization, stranger),
        )
        clock.shift(days=5)
        api.delete(organization.path, as_=ada)
        clock.shift(days=31)
        workers.settle()
        workers.settle()
        remaining = [
            item for item in cloud.stored() if item["pk"].startswith(("O#", "U#")) and not table.is_expired(item)
        ]
        assert remaining == []
        for invitation in (pending_invitation, accepted_invitation):
            assert opens(api, invitation, stranger).code == "404 not_found"
