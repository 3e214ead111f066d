from chalicelib.kernel.core.clock import after
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller
from tests.harness.invitations import (
    SOPHIE_EMAIL,
    CreatedInvitation,
    accept_invitation,
    create_accepted,
    create_declined,
    create_invitation,
    decide_on_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    post_invitation,
    resend_invitation,
)
from tests.harness.organizations import create_api_key

REVOKED, EXPIRED = "410 invitation_revoked", "410 invitation_expired"


class TestRevokeInvitation:
    def test_the_link_is_rejected_at_once_for_everyone(self, api, organization, grace, stranger):
        invitation = create_invitation(api, organization, stranger)
        answer = api.delete(invitation.path, caller=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == REVOKED
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, invitation) == "revoked"

    def test_repeating_it_changes_nothing(self, api, organization, ada):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        api.delete(invitation.path, caller=ada)
        before = api.get(invitation.path, caller=ada).json
        assert api.delete(invitation.path, caller=ada).status == 204
        assert api.get(invitation.path, caller=ada).json == before
        assert invitation_events(api, organization, invitation) == ["created", "revoked"]

    def test_an_accepted_or_declined_invitation_cannot_be_revoked(self, api, organization, ada, stranger, operator):
        for invitation, status in (
            (create_accepted(api, organization, stranger), "accepted"),
            (create_declined(api, organization, operator), "declined"),
        ):
            assert api.delete(invitation.path, caller=ada).status_and_code == "409 invalid_transition"
            assert get_invitation_status(api, organization, invitation) == status

    def test_an_expired_invitation_cannot_be_revoked(self, api, organization, ada, clock, workers):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(days=8)
        for _ in range(2):
            assert api.delete(invitation.path, caller=ada).status_and_code == "409 invalid_transition"
            workers.run_until_idle()

    def test_if_match_rejects_a_changed_invitation(self, api, organization, ada, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        conditions = {"If-Match": api.get(invitation.path, caller=ada).etag}
        clock.shift(minutes=2)
        resent = resend_invitation(api, organization, invitation)
        assert api.delete(invitation.path, caller=ada, headers=conditions).status_and_code == "412 precondition_failed"
        assert open_invitation(api, resent).status == 200
        conditions = {"If-Match": api.get(invitation.path, caller=ada).etag}
        assert api.delete(invitation.path, caller=ada, headers=conditions).status == 204

    def test_only_callers_who_may_write_members_revoke_an_invitation(self, api, organization, edith, mary, stranger):
        invitation = create_invitation(api, organization, stranger)
        for person in (edith, mary):
            assert api.delete(invitation.path, caller=person).status_and_code == "403 insufficient_role"
        assert api.delete(invitation.path, caller=create_api_key(api, organization, "members:read")).status == 403
        assert api.delete(invitation.path, caller=stranger).status_and_code == "404 not_found"
        assert api.delete(invitation.path).status_and_code == "401 unauthenticated"
        assert api.delete(invitation.path, caller=create_api_key(api, organization, "members:write")).status == 204


class TestResendInvitation:
    def post_resend(self, api: ApiClient, invitation: CreatedInvitation, caller: Caller, **headers: str) -> ApiResponse:
        return api.post(
            f"{invitation.path}/resend", caller=caller, headers={n.replace("_", "-"): v for n, v in headers.items()}
        )

    def test_resending_needs_the_right_to_grant_the_role(self, api, organization, grace, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL, role="admin")
        clock.shift(minutes=2)
        answer = self.post_resend(api, invitation, create_api_key(api, organization, "members:write"))
        assert answer.status_and_code == "403 insufficient_role"
        assert answer.json["detail"] == "It offers 'admin'. You can grant roles up to 'editor'."
        assert self.post_resend(api, invitation, grace).status == 200

    def test_a_failed_precondition_takes_precedence_over_the_rate_limit(self, api, organization, ada):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        assert self.post_resend(api, invitation, ada, If_Match='"another"').status_and_code == "412 precondition_failed"
        assert self.post_resend(api, invitation, ada).status_and_code == "429 rate_limited"

    def test_a_resent_invitation_has_a_new_link_and_its_full_lifetime(self, api, organization, grace, clock):
        clock.freeze()
        first = create_invitation(api, organization, SOPHIE_EMAIL, role="editor", message="Come.", expiresInDays=3)
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
        assert api.get(first.path, caller=grace).json == {**answer.json, "acceptUrl": None}

    def test_earlier_links_are_rejected_and_the_new_one_works(self, api, organization, stranger, clock):
        versions = [create_invitation(api, organization, stranger)]
        for _ in range(2):
            clock.shift(minutes=2)
            versions.append(resend_invitation(api, organization, versions[-1]))
        for former_version in versions[:-1]:
            for caller in (None, stranger):
                assert open_invitation(api, former_version, caller).status_and_code == REVOKED
            for decision in ("accept", "decline"):
                assert decide_on_invitation(api, former_version, stranger, decision).status_and_code == REVOKED
        assert accept_invitation(api, versions[-1], stranger)["status"] == "accepted"
        assert decide_on_invitation(api, versions[0], stranger).status_and_code == REVOKED

    def test_the_earlier_expiry_no_longer_applies(self, api, organization, clock, workers):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(days=6)
        resent = resend_invitation(api, organization, invitation)
        clock.shift(days=6)
        workers.run_until_idle()
        assert open_invitation(api, resent).json["status"] == "pending"
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == "409 already_exists"
        clock.shift(days=1, seconds=1)
        workers.run_until_idle()
        assert open_invitation(api, resent).status_and_code == EXPIRED
        assert invitation_events(api, organization, resent) == ["created", "resent", "expired"]

    def test_one_email_per_minute_including_the_first(self, api, organization, ada, clock):
        clock.freeze()
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        for _ in range(2):
            for elapsed_seconds, remaining_seconds in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=elapsed_seconds)
                answer = self.post_resend(api, invitation, ada)
                assert answer.status_and_code == "429 rate_limited"
                assert answer.headers["Retry-After"] == str(remaining_seconds)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={remaining_seconds}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            clock.shift(seconds=0.5)
            assert self.post_resend(api, invitation, ada).status == 200

    def test_a_rate_limited_request_changes_nothing(self, api, organization, ada):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        assert self.post_resend(api, invitation, ada).status == 429
        assert open_invitation(api, invitation).status == 200
        assert api.get(invitation.path, caller=ada).json["version"] == 1
        assert invitation_events(api, organization, invitation) == ["created"]

    def test_the_rate_limit_is_separate_for_each_invitation(self, api, organization, ada, clock):
        first = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(minutes=2)
        create_invitation(api, organization, "x@example.org")
        assert self.post_resend(api, first, ada).status == 200

    def test_only_a_pending_invitation_is_resent(self, api, organization, ada, stranger, operator, clock):
        expired_invitation = create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=1)
        clock.shift(days=2)
        revoked_invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        api.delete(revoked_invitation.path, caller=ada)
        for invitation in (
            expired_invitation,
            revoked_invitation,
            create_accepted(api, organization, stranger),
            create_declined(api, organization, operator),
        ):
            before = api.get(invitation.path, caller=ada).json
            assert self.post_resend(api, invitation, ada).status_and_code == "409 invalid_transition"
            clock.shift(minutes=2)
            assert self.post_resend(api, invitation, ada).status_and_code == "409 invalid_transition"
            assert api.get(invitation.path, caller=ada).json == before

    def test_a_retry_with_the_idempotency_key_sends_once(self, api, organization, ada, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(minutes=2)
        first, repeated = (self.post_resend(api, invitation, ada, Idempotency_Key="once") for _ in range(2))
        assert first.status == 200
        assert repeated.comparable_content == first.comparable_content
        assert repeated.headers["Idempotency-Replayed"] == "true"

    def test_if_match_rejects_a_changed_invitation(self, api, organization, ada, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        etag = api.get(invitation.path, caller=ada).etag
        clock.shift(minutes=2)
        assert self.post_resend(api, invitation, ada, If_Match=etag).status == 200
        clock.shift(minutes=2)
        assert self.post_resend(api, invitation, ada, If_Match=etag).status_and_code == "412 precondition_failed"

    def test_a_nonempty_body_is_rejected(self, api, organization, ada, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(minutes=2)
        path = f"{invitation.path}/resend"
        assert api.post(path, caller=ada, json={"role": "admin"}).errors == {"/role": "unknown_field"}
        assert api.post(path, caller=ada, json={}).status == 200

    def test_only_callers_who_may_write_members_resend_an_invitation(
        self, api, organization, edith, mary, stranger, clock
    ):
        invitation = create_invitation(api, organization, stranger)
        clock.shift(minutes=2)
        for person in (edith, mary):
            assert self.post_resend(api, invitation, person).status_and_code == "403 insufficient_role"
        assert self.post_resend(api, invitation, stranger).status_and_code == "404 not_found"
        assert (
            self.post_resend(api, invitation, create_api_key(api, organization, "members:read")).status_and_code
            == "403 insufficient_scope"
        )
        assert self.post_resend(api, invitation, create_api_key(api, organization, "members:write")).status == 200
