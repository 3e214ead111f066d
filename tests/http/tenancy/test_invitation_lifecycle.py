from functools import partial

import pytest

from chalicelib.kernel.core.clock import after
from tests.harness.invitations import (
    SOPHIE_EMAIL,
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

REVOKED, EXPIRED, INVALID = "410 invitation_revoked", "410 invitation_expired", "409 invalid_transition"


@pytest.fixture
def closed_invitations(api, organization, ada, stranger, operator, clock):
    """An expired, a revoked, an accepted and a declined invitation, by status."""
    expired = create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=1)
    clock.shift(days=2)
    revoked = create_invitation(api, organization, SOPHIE_EMAIL)
    api.delete(revoked.path, caller=ada)
    accepted, declined = create_accepted(api, organization, stranger), create_declined(api, organization, operator)
    return {"expired": expired, "revoked": revoked, "accepted": accepted, "declined": declined}


class TestRevokeInvitation:
    def test_the_link_is_rejected_at_once_for_everyone_and_a_repetition_changes_nothing(
        self, api, organization, grace, stranger
    ):
        invitation = create_invitation(api, organization, stranger)
        answer = api.delete(invitation.path, caller=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == REVOKED
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        before = api.get(invitation.path, caller=grace).json
        assert before["status"] == "revoked"
        assert api.delete(invitation.path, caller=grace).status == 204
        assert api.get(invitation.path, caller=grace).json == before
        assert invitation_events(api, organization, invitation) == ["created", "revoked"]

    def test_an_accepted_declined_or_expired_invitation_cannot_be_revoked(
        self, api, organization, ada, closed_invitations, workers
    ):
        for status in ("accepted", "declined", "expired"):
            for _ in range(2):
                assert api.delete(closed_invitations[status].path, caller=ada).status_and_code == INVALID
                assert get_invitation_status(api, organization, closed_invitations[status]) == status
                workers.run_until_idle()


class TestResendInvitation:
    @pytest.fixture
    def invitation(self, api, organization, stranger):
        """An invitation with the role of an admin, which is valid for three days."""
        return create_invitation(api, organization, stranger, role="admin", message="Come.", expiresInDays=3)

    @pytest.fixture
    def resend(self, api, organization, invitation):
        """A function that requests to send the invitation again, by default as the owner."""
        return partial(api.post, f"{invitation.path}/resend", caller=organization.owner)

    def test_resending_needs_the_right_to_grant_the_role(self, api, organization, grace, resend, clock):
        clock.shift(minutes=2)
        answer = resend(caller=create_api_key(api, organization, "members:write"))
        assert answer.status_and_code == "403 insufficient_role"
        assert answer.json["detail"] == "It offers 'admin'. You can grant roles up to 'editor'."
        assert resend(caller=grace).status == 200

    def test_a_resent_invitation_has_a_new_link_and_its_full_lifetime(self, api, grace, invitation, resend, clock):
        clock.shift(days=2)
        timestamp = clock.freeze()
        answer = resend()
        times = {"updatedAt": timestamp, "sentAt": timestamp, "expiresAt": after(timestamp, days=3)}
        new_fields = {"version": 2, "acceptUrl": answer.json["acceptUrl"], **times}
        assert (answer.status, answer.json) == (200, invitation.record | new_fields)
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(invitation.path, caller=grace).json == {**answer.json, "acceptUrl": None}

    def test_earlier_links_are_rejected_and_the_new_one_works(self, api, organization, stranger, invitation, clock):
        versions = [invitation]
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

    def test_the_earlier_expiry_no_longer_applies(self, api, organization, stranger, invitation, clock, workers):
        clock.shift(days=2)
        resent = resend_invitation(api, organization, invitation)
        clock.shift(days=2)
        workers.run_until_idle()
        assert open_invitation(api, resent).json["status"] == "pending"
        assert post_invitation(api, organization, stranger).status_and_code == "409 already_exists"
        clock.shift(days=1, seconds=1)
        workers.run_until_idle()
        assert open_invitation(api, resent).status_and_code == EXPIRED
        assert invitation_events(api, organization, resent) == ["created", "resent", "expired"]

    def test_each_invitation_sends_one_email_per_minute_including_the_first(self, api, organization, clock):
        clock.freeze()
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        resend = partial(api.post, f"{invitation.path}/resend", caller=organization.owner)
        for address in ("first@example.org", "second@example.org"):
            for elapsed_seconds, remaining_seconds in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=elapsed_seconds)
                answer = resend()
                assert answer.status_and_code == "429 rate_limited"
                assert answer.headers["Retry-After"] == str(remaining_seconds)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={remaining_seconds}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            clock.shift(seconds=0.5)
            create_invitation(api, organization, address)
            assert resend().status == 200

    def test_a_rate_limited_request_changes_nothing_and_a_precondition_takes_precedence(
        self, api, organization, ada, invitation, resend
    ):
        assert resend(headers={"If-Match": '"another"'}).status_and_code == "412 precondition_failed"
        assert resend().status_and_code == "429 rate_limited"
        assert open_invitation(api, invitation).status == 200
        assert api.get(invitation.path, caller=ada).json["version"] == 1
        assert invitation_events(api, organization, invitation) == ["created"]

    def test_only_a_pending_invitation_is_resent(self, api, ada, closed_invitations, clock):
        for _ in range(2):
            for invitation in closed_invitations.values():
                before = api.get(invitation.path, caller=ada).json
                assert api.post(f"{invitation.path}/resend", caller=ada).status_and_code == INVALID
                assert api.get(invitation.path, caller=ada).json == before
            clock.shift(minutes=2)
