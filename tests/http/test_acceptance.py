import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.invitations import ACCEPTANCE, Invited, accepts, decides, declines, history, invite, opens, status_of
from tests.harness.organizations import Founded, found, joins, make_key

NOBODY = "01939d3c-0000-4000-8000-00000000000a"
MISMATCH, USED = "403 email_mismatch", "410 invitation_used"


@pytest.fixture
def invited(api: Api, organization: Founded, stranger: Person) -> Invited:
    """Sophie's invitation to become an editor."""
    return invite(api, organization, stranger, role="editor")


def roles(api: Api, organization: Founded) -> dict[str, str]:
    return {m["username"]: m["role"] for m in api.items(f"{organization.path}/members", as_=organization.owner)}


class TestDescribing:
    def test_without_a_credential_it_says_who_invites_whom_to_what(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        answer = opens(api, invited)
        assert answer.status == 200
        record = organization.record
        assert answer.json == {
            "organization": {"id": organization.id, "name": record["name"], "slug": record["slug"]},
            "platform": None,
            "role": "editor",
            "email": stranger.email,
            "status": "pending",
            "expiresAt": invited.record["expiresAt"],
            "invitedBy": ada.id,
            "inviterName": "Ada Lovelace",
            "canAccept": None,
            "reason": None,
            "membership": None,
        }

    def test_opening_the_link_changes_nothing_whoever_does(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        before = cloud.stored()
        for caller in (None, ada, stranger, stranger):
            answer = opens(api, invited, caller)
            assert (answer.status, answer.json["status"], answer.json["membership"]) == (200, "pending", None)
            assert set(answer.calls.names) <= {"dynamodb:GetItem", "dynamodb:BatchGetItem"}
        assert cloud.stored() == before
        assert history(api, organization, invited) == ["created"]
        assert api.get(invited.path, as_=ada).json["version"] == 1

    def test_a_decision_without_a_credential_is_asked_for_one(self, api: Api, invited: Invited, ada: Person) -> None:
        for decision in ("accept", "decline"):
            answer = decides(api, invited, None, decision)
            assert answer.code == "401 unauthenticated"
            assert "omit the decision" in answer.json["detail"]
        assert api.get(invited.path, as_=ada).json["version"] == 1

    def test_a_user_is_told_whether_they_can_accept_and_what_they_became(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person, issuer: Issuer
    ) -> None:
        def told(person: Person) -> tuple[object, ...]:
            described = opens(api, invited, person).json
            return described["canAccept"], described["reason"], described["membership"]

        unverified = issuer.person("stranger", "Sophie", email_verified=False)
        assert [told(person) for person in (ada, unverified)] == [(False, "email_mismatch", None)] * 2
        assert told(stranger) == (True, None, None)
        membership = accepts(api, invited, stranger)["membership"]
        assert told(stranger) == (True, None, membership)
        assert told(ada) == (False, "email_mismatch", None)
        assert api.post(f"{organization.path}/leave", as_=stranger).status == 204
        assert told(stranger) == (False, "invitation_used", None)

    def test_a_member_of_a_lower_role_is_told_that_it_changes_none(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        described = opens(api, invited, stranger).json
        assert (described["canAccept"], described["reason"]) == (False, "already_member")

    def test_what_became_of_it_is_seen_but_not_who_answered(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        one, other = invite(api, organization, stranger), invite(api, organization, operator)
        accepts(api, one, stranger)
        declines(api, other, operator)
        for invited, became in ((one, "accepted"), (other, "declined")):
            described = opens(api, invited).json
            assert (described["status"], described["membership"]) == (became, None)

    def test_it_needs_no_more_than_two_reads(self, api: Api, invited: Invited) -> None:
        assert len(opens(api, invited).calls.names) == 2

    def test_it_is_nobody_elses_to_keep(self, api: Api, invited: Invited, ada: Person) -> None:
        assert opens(api, invited).headers["Cache-Control"] == "no-store"
        assert opens(api, invited, ada).headers["Cache-Control"] == "no-store"
        assert opens(api, "x").headers["Cache-Control"] == "no-store"
        assert api.get(ACCEPTANCE).headers["Cache-Control"] == "no-store"

    def test_it_is_described_to_the_callers_of_browsers(self, api: Api, invited: Invited) -> None:
        assert opens(api, invited).headers["Access-Control-Allow-Origin"] == "*"


class TestTokens:
    @pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 70, "A" * 71, "-_" * 35, "=" * 8, "null"])
    def test_what_is_none_is_not_found(self, api: Api, ada: Person, token: str) -> None:
        for caller in (None, ada):
            assert opens(api, token, caller).code == "404 not_found"
        assert api.post(ACCEPTANCE, as_=ada, json={"token": token}).code == "404 not_found"

    def test_one_that_was_altered_anywhere_is_not_found(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        token = invited.token
        for place in range(len(token)):
            letter = "A" if token[place] != "A" else "B"
            assert opens(api, token[:place] + letter + token[place + 1 :], stranger).code == "404 not_found"
        for altered in (token[:-1], token + "A", token + "=", token.swapcase(), token * 2):
            assert opens(api, altered, stranger).code == "404 not_found"
        assert status_of(api, organization, invited) == "pending"

    def test_one_is_not_made_of_what_can_be_known(self, api: Api, organization: Founded, invited: Invited) -> None:
        named = bytes.fromhex((organization.id + invited.id).replace("-", ""))
        key_id = base64.urlsafe_b64decode(f"{invited.token}==")[36:40]
        for tag in (bytes(20), key_id + bytes(16), key_id + bytes(range(16))):
            made = base64.urlsafe_b64encode(named + (1).to_bytes(4) + tag).rstrip(b"=").decode()
            assert len(made) == len(invited.token)
            assert opens(api, made).code == "404 not_found"

    def test_one_has_to_be_sent(self, api: Api, ada: Person) -> None:
        assert api.get(ACCEPTANCE).faults == {"query/token": "required"}
        assert api.post(ACCEPTANCE, as_=ada, json={}).faults == {"/token": "required"}

    @pytest.mark.parametrize("decision", ["", "Accept", "maybe", "revoke"])
    def test_a_decision_is_to_accept_or_to_decline(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person, decision: str
    ) -> None:
        assert set(opens(api, invited, stranger, decision=decision).faults) == {"query/decision"}
        answer = api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token, "decision": decision})
        assert set(answer.faults) == {"/decision"}
        assert status_of(api, organization, invited) == "pending"

    def test_in_a_deleted_organization_it_leads_nowhere_until_that_is_restored(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        api.delete(organization.path, as_=ada)
        for caller in (None, stranger):
            assert opens(api, invited, caller).code == "404 not_found"
        assert api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token}).code == "404 not_found"
        api.patch(organization.path, as_=ada, json={"status": "active"})
        assert accepts(api, invited, stranger)["membership"]["role"] == "editor"


class TestAccepting:
    def test_whoever_was_invited_becomes_a_member_with_that_role(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person, clock: Clock
    ) -> None:
        moment = clock.freeze()
        answer = accepts(api, invited, stranger)
        assert (answer["status"], answer["role"], answer["email"]) == ("accepted", "editor", stranger.email)
        assert answer["membership"] == {
            "id": answer["membership"]["id"],
            "createdAt": moment,
            "updatedAt": moment,
            "version": 1,
            "userId": stranger.id,
            "username": "stranger",
            "name": "Sophie Germain",
            "email": stranger.email,
            "role": "editor",
            "joinedAt": moment,
            "revokedKeys": None,
        }
        assert api.get(f"{organization.path}/members/{stranger.id}", as_=stranger).json == answer["membership"]
        assert [o["id"] for o in api.items("/organizations", as_=stranger)] == [organization.id]
        assert list(roles(api, organization).items())[-1] == ("stranger", "editor")

    def test_the_invitation_says_so(self, api: Api, invited: Invited, stranger: Person, ada: Person) -> None:
        accepts(api, invited, stranger)
        shown = api.get(invited.path, as_=ada).json
        assert (shown["status"], shown["version"], shown["acceptUrl"]) == ("accepted", 2, None)

    def test_again_it_is_answered_as_before_and_nothing_happens(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        first = accepts(api, invited, stranger)
        before = cloud.stored()
        assert [accepts(api, invited, stranger) for _ in range(2)] == [first, first]
        assert cloud.stored() == before
        assert history(api, organization, invited) == ["created", "accepted"]

    def test_again_it_shows_the_membership_as_it_is_by_then(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        accepts(api, invited, stranger)
        api.patch(f"{organization.path}/members/{stranger.id}", as_=ada, json={"role": "admin"})
        again = accepts(api, invited, stranger)
        assert (again["role"], again["membership"]["role"]) == ("editor", "admin")

    def test_once_the_time_is_over_it_can_still_be_repeated(
        self, api: Api, invited: Invited, stranger: Person, clock: Clock
    ) -> None:
        first = accepts(api, invited, stranger)
        clock.shift(days=40)
        assert accepts(api, invited, stranger) == first

    @pytest.mark.parametrize("way", ["removed", "left"])
    def test_once_the_membership_has_ended_it_is_used_up(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person, way: str
    ) -> None:
        accepts(api, invited, stranger)
        if way == "removed":
            api.delete(f"{organization.path}/members/{stranger.id}", as_=ada)
        else:
            api.post(f"{organization.path}/leave", as_=stranger)
        assert decides(api, invited, stranger).code == USED
        assert "stranger" not in roles(api, organization)
        assert accepts(api, invite(api, organization, stranger), stranger)["membership"]["role"] == "member"

    def test_used_up_it_stays_though_they_came_back_by_another(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, stranger: Person
    ) -> None:
        accepts(api, invited, stranger)
        api.delete(f"{organization.path}/members/{stranger.id}", as_=ada)
        accepts(api, invite(api, organization, stranger), stranger)
        assert decides(api, invited, stranger).code == USED

    def test_an_admin_by_invitation_is_one_at_once(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        accepts(api, invite(api, organization, stranger, role="admin"), stranger)
        theirs = invite(api, organization, operator, as_=stranger, role="admin")
        assert accepts(api, theirs, operator)["inviterName"] == "Sophie Germain"

    def test_several_browsers_at_once_make_one_member(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: decides(api, invited, stranger), range(5)))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert history(api, organization, invited) == ["created", "accepted"]


class TestWhoMayAnswer:
    @pytest.mark.parametrize("spelt", ["stranger@example.com", "Stranger@Example.COM", "STRANGER@EXAMPLE.COM"])
    def test_the_address_is_compared_without_regard_to_case(
        self, api: Api, organization: Founded, issuer: Issuer, spelt: str
    ) -> None:
        invited = invite(api, organization, "StrangeR@example.com")
        assert accepts(api, invited, issuer.person("stranger", "Sophie", email=spelt))["status"] == "accepted"

    @pytest.mark.parametrize(
        "claims",
        [
            {"email_verified": False},
            {"email_verified": None},
            {"email_verified": "false"},
            {"email_verified": 1},
            {"email": None},
            {"email": ""},
            {"email": ["stranger@example.com"]},
            {"email": "x@example.com", "email_verified": False},
        ],
    )
    def test_an_address_that_is_not_verified_or_none_is_refused(
        self, api: Api, organization: Founded, invited: Invited, issuer: Issuer, claims: dict[str, object]
    ) -> None:
        person = issuer.person("stranger", "Sophie", **claims)
        self.refused(api, organization, invited, person, "has no verified e-mail address")

    @pytest.mark.parametrize(
        "email",
        ["stranger@example.com.example", "stranger@example.co", " stranger@example.com", "stranger+x@example.com"],
    )
    def test_another_address_is_refused(
        self, api: Api, organization: Founded, invited: Invited, issuer: Issuer, email: str
    ) -> None:
        person = issuer.person("stranger", "Sophie", email=email)
        self.refused(api, organization, invited, person, "sent to another address")

    def refused(self, api: Api, organization: Founded, invited: Invited, person: Person, because: str) -> None:
        for decision in ("accept", "decline"):
            body = {"token": invited.token, "decision": decision}
            for answer in (opens(api, invited, person, decision=decision), api.post(ACCEPTANCE, as_=person, json=body)):
                assert answer.code == MISMATCH
                assert because in answer.json["detail"]
        assert status_of(api, organization, invited) == "pending"
        assert "stranger" not in roles(api, organization)

    def test_nobody_else_may_not_even_the_owner(
        self, api: Api, organization: Founded, invited: Invited, ada: Person, grace: Person, operator: Person
    ) -> None:
        for person in (ada, grace, operator):
            for decision in ("accept", "decline"):
                assert opens(api, invited, person, decision=decision).code == MISMATCH
        assert status_of(api, organization, invited) == "pending"

    def test_another_user_with_the_same_address_comes_too_late(
        self, api: Api, organization: Founded, invited: Invited, issuer: Issuer, stranger: Person
    ) -> None:
        other = issuer.person("stranger", "Sophie", sub=NOBODY)
        accepts(api, invited, stranger)
        for decision in ("accept", "decline"):
            assert opens(api, invited, other, decision=decision).code == USED
        assert api.get(f"{organization.path}/members/{NOBODY}", as_=stranger).code == "404 not_found"

    def test_keys_may_not(self, api: Api, organization: Founded, invited: Invited, stranger: Person) -> None:
        for key in (make_key(api, organization, "admin"), make_key(api, found(api, stranger), "admin")):
            assert opens(api, invited, key).code == "403 forbidden"
            assert opens(api, "x", key).code == "403 forbidden"
            assert api.get(ACCEPTANCE, as_=key).code == "403 forbidden"
            answer = api.post(ACCEPTANCE, as_=key, json={"token": invited.token})
            assert answer.code == "403 forbidden"

    def test_a_broken_credential_is_told_so(self, api: Api, invited: Invited, stranger: Person) -> None:
        for broken in ("x", stranger.credential[:-4], f"atr_{'0' * 38}"):
            assert opens(api, invited, broken).code == "401 unauthenticated"


class TestDeclining:
    def test_the_invited_person_declines(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        answer = declines(api, invited, stranger)
        assert (answer["status"], answer["membership"]) == ("declined", None)
        assert status_of(api, organization, invited) == "declined"
        assert "stranger" not in roles(api, organization)
        assert history(api, organization, invited) == ["created", "declined"]

    def test_again_it_is_answered_as_before_and_nothing_happens(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        first = declines(api, invited, stranger)
        assert declines(api, invited, stranger) == first
        assert history(api, organization, invited) == ["created", "declined"]

    def test_what_was_declined_is_not_accepted_and_what_was_accepted_not_declined(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        one, other = invite(api, organization, stranger), invite(api, organization, operator)
        declines(api, one, stranger)
        accepts(api, other, operator)
        assert decides(api, one, stranger).code == USED
        late = opens(api, other, operator, decision="decline")
        assert late.code == USED
        assert (
            f"You accepted it and are a member. To leave, send POST {organization.path}/leave." in late.json["detail"]
        )
        assert [status_of(api, organization, i) for i in (one, other)] == ["declined", "accepted"]
        assert set(roles(api, organization)) == {"ada", "grace", "edith", "mary", "operator"}


class TestRespondToInvitation:
    def respond(self, api: Api, invited: Invited, person: Person | None, **body: str) -> str:
        answer = api.post(ACCEPTANCE, as_=person, json={"token": invited.token, **body})
        return answer.code if answer.status >= 400 else str(answer.json["status"])

    def test_it_does_the_same_and_answers_the_same(
        self, api: Api, organization: Founded, invited: Invited, stranger: Person
    ) -> None:
        answer = api.post(ACCEPTANCE, as_=stranger, json={"token": invited.token})
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
        assert answer.json == accepts(api, invited, stranger)
        assert self.respond(api, invited, stranger, decision="accept") == "accepted"
        assert self.respond(api, invited, stranger, decision="decline") == USED
        assert history(api, organization, invited) == ["created", "accepted"]

    def test_it_declines(self, api: Api, organization: Founded, invited: Invited, stranger: Person) -> None:
        for _ in range(2):
            assert self.respond(api, invited, stranger, decision="decline") == "declined"
        assert self.respond(api, invited, stranger) == USED
        assert history(api, organization, invited) == ["created", "declined"]

    def test_it_describes_nothing_without_a_credential(self, api: Api, invited: Invited) -> None:
        assert self.respond(api, invited, None) == "401 unauthenticated"

    def test_others_are_refused_as_they_are_there(self, api: Api, invited: Invited, ada: Person) -> None:
        assert self.respond(api, invited, ada) == MISMATCH

    def test_repeated_with_its_key_it_is_answered_from_what_was_stored(
        self, api: Api, invited: Invited, stranger: Person
    ) -> None:
        once, body = {"Idempotency-Key": "once"}, {"token": invited.token}
        first, again = (api.post(ACCEPTANCE, as_=stranger, json=body, headers=once) for _ in range(2))
        assert again.said == first.said
        assert again.headers["Idempotency-Replayed"] == "true"

    @pytest.mark.parametrize(
        "body",
        [{"token": 3}, {"token": None}, {"token": ["x"]}, {"token": "x", "role": "owner"}, {"decision": "accept"}],
    )
    def test_what_makes_no_sense_is_refused(self, api: Api, ada: Person, body: dict[str, object]) -> None:
        assert api.post(ACCEPTANCE, as_=ada, json=body).code == "422 validation_failed"
