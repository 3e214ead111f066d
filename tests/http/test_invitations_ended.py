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


def accepted(api: Api, organization: Founded, person: Person) -> Invited:
    invited = invite(api, organization, person)
    accepts(api, invited, person)
    return invited


def declined(api: Api, organization: Founded, person: Person) -> Invited:
    invited = invite(api, organization, person)
    declines(api, invited, person)
    return invited


class TestRevokeInvitation:
    def test_its_link_is_dead_at_once_for_everyone(
        self, api: Api, organization: Founded, grace: Person, stranger: Person
    ) -> None:
        invited = invite(api, organization, stranger)
        answer = api.delete(invited.path, as_=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == REVOKED
        assert api.get(organization.path, as_=stranger).code == "404 not_found"
        assert status_of(api, organization, invited) == "revoked"

    def test_again_it_changes_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invited = invite(api, organization, SOPHIE)
        api.delete(invited.path, as_=ada)
        before = api.get(invited.path, as_=ada).json
        assert api.delete(invited.path, as_=ada).status == 204
        assert api.get(invited.path, as_=ada).json == before
        assert history(api, organization, invited) == ["created", "revoked"]

    def test_what_was_answered_can_not_be_revoked(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person
    ) -> None:
        for invited, became in (
            (accepted(api, organization, stranger), "accepted"),
            (declined(api, organization, operator), "declined"),
        ):
            assert api.delete(invited.path, as_=ada).code == "409 invalid_transition"
            assert status_of(api, organization, invited) == became

    def test_nor_can_what_has_expired(
        self, api: Api, organization: Founded, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(days=8)
        for _ in range(2):
            assert api.delete(invited.path, as_=ada).code == "409 invalid_transition"
            workers.settle()

    def test_only_as_it_was_seen_if_that_is_said(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        seen = {"If-Match": api.get(invited.path, as_=ada).etag}
        clock.shift(minutes=2)
        later = resend(api, organization, invited)
        assert api.delete(invited.path, as_=ada, headers=seen).code == "412 precondition_failed"
        assert opens(api, later).status == 200
        seen = {"If-Match": api.get(invited.path, as_=ada).etag}
        assert api.delete(invited.path, as_=ada, headers=seen).status == 204

    def test_who_may(self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person) -> None:
        invited = invite(api, organization, stranger)
        for person in (edith, mary):
            assert api.delete(invited.path, as_=person).code == "403 insufficient_role"
        assert api.delete(invited.path, as_=make_key(api, organization, "members:read")).status == 403
        assert api.delete(invited.path, as_=stranger).code == "404 not_found"
        assert api.delete(invited.path).code == "401 unauthenticated"
        assert api.delete(invited.path, as_=make_key(api, organization, "members:write")).status == 204


class TestResendInvitation:
    def asked(self, api: Api, invited: Invited, as_: Caller, **headers: str) -> Answer:
        return api.post(f"{invited.path}/resend", as_=as_, headers={n.replace("_", "-"): v for n, v in headers.items()})

    def test_only_by_who_could_invite_so(self, api: Api, organization: Founded, grace: Person, clock: Clock) -> None:
        invited = invite(api, organization, SOPHIE, role="admin")
        clock.shift(minutes=2)
        answer = self.asked(api, invited, make_key(api, organization, "members:write"))
        assert answer.code == "403 insufficient_role"
        assert answer.json["detail"] == "It offers 'admin'. You can grant roles up to 'editor'."
        assert self.asked(api, invited, grace).status == 200

    def test_that_somebody_else_changed_it_is_said_before_that_it_is_too_early(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        assert self.asked(api, invited, ada, If_Match='"another"').code == "412 precondition_failed"
        assert self.asked(api, invited, ada).code == "429 rate_limited"

    def test_it_is_the_same_with_a_new_link_and_its_full_time(
        self, api: Api, organization: Founded, grace: Person, clock: Clock
    ) -> None:
        clock.freeze()
        first = invite(api, organization, SOPHIE, role="editor", message="Come.", expiresInDays=3)
        clock.shift(days=2)
        moment = clock.freeze()
        answer = self.asked(api, first, grace)
        assert answer.status == 200
        assert answer.json == {
            **first.record,
            "version": 2,
            "updatedAt": moment,
            "sentAt": moment,
            "expiresAt": after(moment, days=3),
            "acceptUrl": answer.json["acceptUrl"],
        }
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(first.path, as_=grace).json == {**answer.json, "acceptUrl": None}

    def test_the_former_links_are_dead_and_the_new_one_works(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock
    ) -> None:
        sent = [invite(api, organization, stranger)]
        for _ in range(2):
            clock.shift(minutes=2)
            sent.append(resend(api, organization, sent[-1]))
        for former in sent[:-1]:
            for caller in (None, stranger):
                assert opens(api, former, caller).code == REVOKED
            for decision in ("accept", "decline"):
                assert decides(api, former, stranger, decision).code == REVOKED
        assert accepts(api, sent[-1], stranger)["status"] == "accepted"
        assert decides(api, sent[0], stranger).code == REVOKED

    def test_its_former_end_is_no_end_any_more(
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

    def test_at_most_once_a_minute_the_first_time_counted(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        clock.freeze()
        invited = invite(api, organization, SOPHIE)
        for _ in range(2):
            for passed, left in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=passed)
                answer = self.asked(api, invited, ada)
                assert answer.code == "429 rate_limited"
                assert answer.headers["Retry-After"] == str(left)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={left}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            clock.shift(seconds=0.5)
            assert self.asked(api, invited, ada).status == 200

    def test_what_was_refused_so_has_changed_nothing(self, api: Api, organization: Founded, ada: Person) -> None:
        invited = invite(api, organization, SOPHIE)
        assert self.asked(api, invited, ada).status == 429
        assert opens(api, invited).status == 200
        assert api.get(invited.path, as_=ada).json["version"] == 1
        assert history(api, organization, invited) == ["created"]

    def test_of_another_invitation_that_says_nothing(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        one = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        invite(api, organization, "x@example.org")
        assert self.asked(api, one, ada).status == 200

    def test_only_a_pending_one_is_sent_again(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person, clock: Clock
    ) -> None:
        expired = invite(api, organization, SOPHIE, expiresInDays=1)
        clock.shift(days=2)
        revoked = invite(api, organization, SOPHIE)
        api.delete(revoked.path, as_=ada)
        for invited in (expired, revoked, accepted(api, organization, stranger), declined(api, organization, operator)):
            before = api.get(invited.path, as_=ada).json
            assert self.asked(api, invited, ada).code == "409 invalid_transition"
            clock.shift(minutes=2)
            assert self.asked(api, invited, ada).code == "409 invalid_transition"
            assert api.get(invited.path, as_=ada).json == before

    def test_repeated_with_its_key_it_is_sent_once(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        first, again = (self.asked(api, invited, ada, Idempotency_Key="once") for _ in range(2))
        assert first.status == 200
        assert again.said == first.said
        assert again.headers["Idempotency-Replayed"] == "true"

    def test_only_as_it_was_seen_if_that_is_said(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        seen = api.get(invited.path, as_=ada).etag
        clock.shift(minutes=2)
        assert self.asked(api, invited, ada, If_Match=seen).status == 200
        clock.shift(minutes=2)
        assert self.asked(api, invited, ada, If_Match=seen).code == "412 precondition_failed"

    def test_a_body_it_does_not_need_is_refused_unless_empty(
        self, api: Api, organization: Founded, ada: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        path = f"{invited.path}/resend"
        assert api.post(path, as_=ada, json={"role": "admin"}).faults == {"/role": "unknown_field"}
        assert api.post(path, as_=ada, json={}).status == 200

    def test_who_may(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person, clock: Clock
    ) -> None:
        invited = invite(api, organization, stranger)
        clock.shift(minutes=2)
        for person in (edith, mary):
            assert self.asked(api, invited, person).code == "403 insufficient_role"
        assert self.asked(api, invited, stranger).code == "404 not_found"
        assert self.asked(api, invited, make_key(api, organization, "members:read")).code == "403 insufficient_scope"
        assert self.asked(api, invited, make_key(api, organization, "members:write")).status == 200


class TestExpiry:
    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_its_link_lives_until_its_time_and_no_longer(
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

    def test_the_sweep_finds_it_and_there_is_one_entry(
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

    def test_what_was_answered_in_time_does_not_expire(
        self, api: Api, organization: Founded, stranger: Person, operator: Person, clock: Clock, workers: Workers
    ) -> None:
        yes, no = accepted(api, organization, stranger), declined(api, organization, operator)
        clock.shift(days=31)
        workers.settle()
        assert [status_of(api, organization, invited) for invited in (yes, no)] == ["accepted", "declined"]
        assert decides(api, yes, stranger).json["membership"]["userId"] == stranger.id
        assert [history(api, organization, invited)[1:] for invited in (yes, no)] == [["accepted"], ["declined"]]

    def test_what_has_ended_is_not_due_any_more(
        self,
        api: Api,
        organization: Founded,
        ada: Person,
        stranger: Person,
        operator: Person,
        clock: Clock,
        workers: Workers,
    ) -> None:
        accepted(api, organization, stranger)
        declined(api, organization, operator)
        api.delete(invite(api, organization, SOPHIE).path, as_=ada)
        invite(api, organization, "late@example.org")
        clock.shift(days=8)
        workers.settle()
        clock.shift(minutes=2)
        workers.sweep()
        assert bodies("jobs") == []

    def test_in_a_deleted_organization_time_goes_on(
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

    def test_a_purge_leaves_nothing_of_it(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, clock: Clock, workers: Workers
    ) -> None:
        pending, answered = invite(api, organization, SOPHIE, expiresInDays=30), accepted(api, organization, stranger)
        clock.shift(days=5)
        api.delete(organization.path, as_=ada)
        clock.shift(days=31)
        workers.settle()
        workers.settle()
        left = [item for item in cloud.stored() if item["pk"].startswith(("O#", "U#")) and not table.is_expired(item)]
        assert left == []
        for invited in (pending, answered):
            assert opens(api, invited, stranger).code == "404 not_found"
