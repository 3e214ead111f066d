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
    invited = invite(api, organization, person)
    accepts(api, invited, person)
    return invited


def create_declined(api: Api, organization: Founded, person: Person) -> Invited:
    invited = invite(api, organization, person)
    declines(api, invited, person)
    return invited


class TestRevokeInvitation:
    def test_the_link_is_rejected_at_once_for_everyone(
        self, api: Api, organization: Founded, grace: Person, stranger: Person
    ) -> None:
        invited = invite(api, organization, stranger)
        answer = api.delete(invited.path, as_=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert status_of(api, organization, invited) == "revoked"

    def test_repeating_it_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invited = invite(api, organization, SOPHIE)
        api.delete(invited.path, as_=ada)
        before = api.get(invited.path, as_=ada).json
        assert api.delete(invited.path, as_=ada).status == 204
        assert api.get(invited.path, as_=ada).json == before
        assert history(api, organization, invited) == ["created", "revoked"]

    def test_an_accepted_or_declined_invitation_cannot_be_revoked(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person
    ) -> None:
        for invited, status in (
            (create_accepted(api, organization, stranger), "accepted"),
            (create_declined(api, organization, operator), "declined"),
        ):
            assert api.delete(invited.path, as_=ada).code == "409 invalid_transition"
            assert status_of(api, organization, invited) == status

    def test_an_expired_invitation_cannot_be_revoked(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(days=8)
        for _ in range(2):
            assert api.delete(invited.path, as_=ada).code == "409 invalid_transition"
            workers.settle()

    def test_if_match_rejects_a_changed_invitation(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        conditions = {"If-Match": api.get(invited.path, as_=ada).etag}
        clock.shift(minutes=2)
        later = resend(api, organization, invited)
        assert api.delete(invited.path, as_=ada, headers=conditions).code == "412 precondition_failed"
        assert opens(api, later).status == 200
        conditions = {"If-Match": api.get(invited.path, as_=ada).etag}
        assert api.delete(invited.path, as_=ada, headers=conditions).status == 204

    def test_only_callers_who_may_write_members_revoke_an_invitation(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person
    ) -> None:
        invited = invite(api, organization, stranger)
        for person in (edith, mary):
            assert api.delete(invited.path, as_=person).code == "403 insufficient_role"
        assert api.delete(invited.path, as_=make_key(api, organization, "members:read")).status == 403
        assert api.delete(invited.path, as_=stranger).code == "404 not_found"
        assert api.delete(invited.path).code == "401 unauthenticated"
        assert api.delete(invited.path, as_=make_key(api, organization, "members:write")).status == 204


class TestResendInvitation:
    def post_resend(self, api: Api, invited: Invited, as_: Caller, **headers: str) -> Answer:
        return api.post(f"{invited.path}/resend", as_=as_, headers={n.replace("_", "-"): v for n, v in headers.items()})

    def test_resending_needs_the_right_to_grant_the_role(
        self, api: Api, organization: Founded, grace: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE, role="admin")
        clock.shift(minutes=2)
        answer = self.post_resend(api, invited, make_key(api, organization, "members:write"))
        assert answer.code == "403 insufficient_role"
        assert answer.json["detail"] == "It offers 'admin'. You can grant roles up to 'editor'."
        assert self.post_resend(api, invited, grace).status == 200

    def test_a_failed_precondition_takes_precedence_over_the_rate_limit(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        assert self.post_resend(api, invited, ada, If_Match='"another"').code == "412 precondition_failed"
        assert self.post_resend(api, invited, ada).code == "429 rate_limited"

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
        sendings = [invite(api, organization, stranger)]
        for _ in range(2):
            clock.shift(minutes=2)
            sendings.append(resend(api, organization, sendings[-1]))
        for earlier in sendings[:-1]:
            for caller in (None, stranger):
                assert opens(api, earlier, caller).code == REVOKED
            for decision in ("accept", "decline"):
                assert decides(api, earlier, stranger, decision).code == REVOKED
        assert accepts(api, sendings[-1], stranger)["status"] == "accepted"
        assert decides(api, sendings[0], stranger).code == REVOKED

    def test_the_earlier_expiry_no_longer_applies(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(days=6)
        later = resend(api, organization, invited)
        clock.shift(days=6)
        workers.settle()
        assert opens(api, later).json["status"] == "pending"
        assert asked_to_invite(api, organization, SOPHIE).code == "409 already_exists"
        clock.shift(days=1, seconds=1)
        workers.settle()
        assert opens(api, later).code == EXPIRED
        assert history(api, organization, later) == ["created", "resent", "expired"]

    def test_one_email_per_minute_including_the_first(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        clock.freeze()
        invited = invite(api, organization, SOPHIE)
        for _ in range(2):
            for elapsed_seconds, remaining_seconds in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=elapsed_seconds)
                answer = self.post_resend(api, invited, ada)
                assert answer.code == "429 rate_limited"
                assert answer.headers["Retry-After"] == str(remaining_seconds)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={remaining_seconds}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            clock.shift(seconds=0.5)
            assert self.post_resend(api, invited, ada).status == 200

    def test_a_rate_limited_request_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invited = invite(api, organization, SOPHIE)
        assert self.post_resend(api, invited, ada).status == 429
        assert opens(api, invited).status == 200
        assert api.get(invited.path, as_=ada).json["version"] == 1
        assert history(api, organization, invited) == ["created"]

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
        expired = invite(api, organization, SOPHIE, expiresInDays=1)
        clock.shift(days=2)
        revoked = invite(api, organization, SOPHIE)
        api.delete(revoked.path, as_=ada)
        for invited in (
            expired,
            revoked,
            create_accepted(api, organization, stranger),
            create_declined(api, organization, operator),
        ):
            before = api.get(invited.path, as_=ada).json
            assert self.post_resend(api, invited, ada).code == "409 invalid_transition"
            clock.shift(minutes=2)
            assert self.post_resend(api, invited, ada).code == "409 invalid_transition"
            assert api.get(invited.path, as_=ada).json == before

    def test_a_retry_with_the_idempotency_key_sends_once(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        first, repeated = (self.post_resend(api, invited, ada, Idempotency_Key="once") for _ in range(2))
        assert first.status == 200
        assert repeated.said == first.said
        assert repeated.headers["Idempotency-Replayed"] == "true"

    def test_if_match_rejects_a_changed_invitation(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        etag = api.get(invited.path, as_=ada).etag
        clock.shift(minutes=2)
        assert self.post_resend(api, invited, ada, If_Match=etag).status == 200
        clock.shift(minutes=2)
        assert self.post_resend(api, invited, ada, If_Match=etag).code == "412 precondition_failed"

    def test_a_nonempty_body_is_rejected(self, api: Api, organization: Founded, ada: Person, clock: Clock) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        path = f"{invited.path}/resend"
        assert api.post(path, as_=ada, json={"role": "admin"}).faults == {"/role": "unknown_field"}
        assert api.post(path, as_=ada, json={}).status == 200

    def test_only_callers_who_may_write_members_resend_an_invitation(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, stranger)
        clock.shift(minutes=2)
        for person in (edith, mary):
            assert self.post_resend(api, invited, person).code == "403 insufficient_role"
        assert self.post_resend(api, invited, stranger).code == "404 not_found"
        assert (
            self.post_resend(api, invited, make_key(api, organization, "members:read")).code == "403 insufficient_scope"
        )
        assert self.post_resend(api, invited, make_key(api, organization, "members:write")).status == 200


class TestExpiry:
    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_the_link_works_until_the_expiry_and_not_afterwards(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock, days: int
    ) -> None:
        clock.freeze()
        invited = invite(api, organization, stranger, expiresInDays=days)
        clock.shift(days=days, seconds=-0.001)
        assert opens(api, invited).json["status"] == "pending"
        clock.shift(seconds=0.001)
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == EXPIRED
        for decision in ("accept", "decline"):
            assert decides(api, invited, stranger, decision).code == EXPIRED
        assert status_of(api, organization, invited) == "expired"

    def test_the_sweep_expires_an_invitation_with_one_entry(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(days=6)
        workers.settle()
        assert status_of(api, organization, invited) == "pending"
        clock.shift(days=1, seconds=1)
        for _ in range(2):
            workers.settle()
            clock.shift(minutes=5)
        assert status_of(api, organization, invited) == "expired"
        assert history(api, organization, invited) == ["created", "expired"]
        assert opens(api, invited).code == EXPIRED

    def test_accepted_and_declined_invitations_do_not_expire(
        self, api: Api, organization: Founded, stranger: Person, operator: Person, clock: Clock, workers: Workers
    ) -> None:
        accepted, declined = create_accepted(api, organization, stranger), create_declined(api, organization, operator)
        clock.shift(days=31)
        workers.settle()
        assert [status_of(api, organization, invited) for invited in (accepted, declined)] == ["accepted", "declined"]
        assert decides(api, accepted, stranger).json["membership"]["userId"] == stranger.id
        assert [history(api, organization, invited)[1:] for invited in (accepted, declined)] == [
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
        invited = invite(api, organization, stranger)
        api.delete(organization.path, as_=ada)
        clock.shift(days=8)
        workers.settle()
        assert opens(api, invited, stranger).code == "404 not_found"
        api.patch(organization.path, as_=ada, json={"status": "active"})
        assert opens(api, invited, stranger).code == EXPIRED
        assert history(api, organization, invited) == ["created", "expired"]

    def test_a_purge_removes_every_item_of_an_invitation(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        pending, accepted = (
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
        for invited in (pending, accepted):
            assert opens(api, invited, stranger).code == "404 not_found"
