"""Resending, revoking and expiring invitations to an organization."""

from functools import partial

import pytest

from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.audit_logs import get_last_entry
from tests.harness.invitations import (
    REVOKED_PROBLEM,
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
    token_from_link,
)
from tests.harness.organizations import create_api_key
from tests.harness.workers import queued_bodies

ALREADY_EXISTS, EXPIRED, INVALID = "409 already_exists", "410 invitation_expired", "409 invalid_transition"


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

    def test_a_resent_invitation_has_a_new_link_and_its_full_lifetime(
        self, api, organization, stranger, invitation, resend, clock, run_tasks_after
    ):
        clock.shift(days=2)
        timestamp = clock.freeze()
        answer = resend()
        times = {"updatedAt": timestamp, "sentAt": timestamp, "expiresAt": after(timestamp, days=3)}
        new_fields = {"version": 2, "acceptUrl": answer.json["acceptUrl"], **times}
        assert (answer.status, answer.json) == (200, invitation.record | new_fields)
        assert api.get(invitation.path, caller=organization.owner).json == {**answer.json, "acceptUrl": None}
        token = token_from_link(answer.json["acceptUrl"])
        run_tasks_after(days=2)
        assert open_invitation(api, token).json["status"] == "pending"
        assert post_invitation(api, organization, stranger).status_and_code == ALREADY_EXISTS
        run_tasks_after(days=1, seconds=1)
        assert open_invitation(api, token).status_and_code == EXPIRED
        assert invitation_events(api, organization, invitation) == ["created", "resent", "expired"]

    def test_earlier_links_are_rejected_and_the_new_one_works(self, api, organization, stranger, invitation, clock):
        versions = [invitation]
        for _ in range(2):
            clock.shift(minutes=2)
            versions.append(resend_invitation(api, organization, versions[-1]))
        for former_version in versions[:-1]:
            answers = [open_invitation(api, former_version, caller) for caller in (None, stranger)]
            answers += [decide_on_invitation(api, former_version, stranger, each) for each in ("accept", "decline")]
            assert {answer.status_and_code for answer in answers} == {REVOKED_PROBLEM}
        assert accept_invitation(api, versions[-1], stranger)["status"] == "accepted"
        assert decide_on_invitation(api, versions[0], stranger).status_and_code == REVOKED_PROBLEM

    def test_each_invitation_sends_one_email_per_minute_including_the_first(self, api, organization, clock):
        clock.freeze()
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        resend = partial(api.post, f"{invitation.path}/resend", caller=organization.owner)
        for address in ("first@example.org", "second@example.org"):
            before = api.get(invitation.path, caller=organization.owner).json
            assert resend(headers={"If-Match": '"another"'}).status_and_code == "412 precondition_failed"
            for elapsed_seconds, remaining_seconds in ((0, 60), (20.5, 40), (39, 1)):
                clock.shift(seconds=elapsed_seconds)
                answer = resend().expect_problem("429 rate_limited")
                assert answer.headers["Retry-After"] == str(remaining_seconds)
                assert answer.headers["RateLimit"] == f'"resend";r=0;t={remaining_seconds}'
                assert answer.headers["RateLimit-Policy"] == '"resend";q=1;w=60'
            assert api.get(invitation.path, caller=organization.owner).json == before
            clock.shift(seconds=0.5)
            create_invitation(api, organization, address)
            assert resend().status == 200
        assert invitation_events(api, organization, invitation) == ["created", "resent", "resent"]


class TestEnd:
    def test_the_link_of_a_revoked_invitation_is_rejected_at_once(self, api, organization, grace, stranger):
        invitation = create_invitation(api, organization, stranger)
        answer = api.delete(invitation.path, caller=grace)
        assert (answer.status, answer.text) == (204, "")
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        before = api.get(invitation.path, caller=grace).json
        assert before["status"] == "revoked"
        assert api.delete(invitation.path, caller=grace).status == 204
        assert api.get(invitation.path, caller=grace).json == before
        assert invitation_events(api, organization, invitation) == ["created", "revoked"]

    def test_only_a_pending_invitation_is_revoked_resent_or_expires(
        self, api, organization, ada, stranger, operator, clock, run_tasks_after, workers
    ):
        invitations = {"expired": create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=1)}
        clock.shift(days=2)
        invitations["revoked"] = create_invitation(api, organization, SOPHIE_EMAIL)
        api.delete(invitations["revoked"].path, caller=ada)
        invitations["accepted"] = create_accepted(api, organization, stranger)
        invitations["declined"] = create_declined(api, organization, operator)
        for _ in range(2):
            for status, invitation in invitations.items():
                before = api.get(invitation.path, caller=ada).json
                assert before["status"] == status
                assert api.post(f"{invitation.path}/resend", caller=ada).status_and_code == INVALID
                if status != "revoked":
                    assert api.delete(invitation.path, caller=ada).status_and_code == INVALID
                assert api.get(invitation.path, caller=ada).json == before
            run_tasks_after(days=31)
            clock.shift(minutes=2)
            workers.run_sweep()
            assert queued_bodies("jobs") == []
        for status, invitation in invitations.items():
            assert invitation_events(api, organization, invitation) == ["created", status]
        accepted = decide_on_invitation(api, invitations["accepted"], stranger)
        assert accepted.json["membership"]["userId"] == stranger.id

    @pytest.mark.parametrize("days", [1, 30])
    def test_the_link_works_until_the_expiry_and_not_later(self, api, organization, stranger, clock, workers, days):
        clock.freeze()
        invitation = create_invitation(api, organization, stranger, expiresInDays=days)
        clock.shift(days=days, seconds=-0.001)
        workers.run_until_idle()
        assert open_invitation(api, invitation).json["status"] == "pending"
        clock.shift(seconds=0.001)
        for _ in range(2):
            answers = [open_invitation(api, invitation, caller) for caller in (None, stranger)]
            answers += [decide_on_invitation(api, invitation, stranger, each) for each in ("accept", "decline")]
            assert {answer.status_and_code for answer in answers} == {EXPIRED}
            assert get_invitation_status(api, organization, invitation) == "expired"
            workers.run_until_idle()
            clock.shift(minutes=5)
        assert invitation_events(api, organization, invitation) == ["created", "expired"]
        entry, no_request = get_last_entry(api, organization), dict.fromkeys(("requestId", "ipAddress", "userAgent"))
        assert entry["changes"] == [{"field": "status", "from": "pending", "to": "expired"}]
        assert entry["actor"] == {"type": "system", "id": None, "name": None}
        assert entry["context"] == {"operationId": "invitations.expire", **no_request}
        assert entry["data"] == api.get(invitation.path, caller=organization.owner).json

    def test_invitations_expire_in_a_deleted_organization_and_are_purged_with_it(
        self, api, organization, ada, stranger, operator, run_tasks_after, workers
    ):
        pending = create_invitation(api, organization, stranger)
        accepted = create_accepted(api, organization, operator)
        api.delete(organization.path, caller=ada)
        run_tasks_after(days=8)
        assert open_invitation(api, pending, stranger).status_and_code == "404 not_found"
        api.patch(organization.path, caller=ada, json={"status": "active"})
        assert open_invitation(api, pending, stranger).status_and_code == EXPIRED
        assert invitation_events(api, organization, pending) == ["created", "expired"]
        create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=30)
        api.delete(organization.path, caller=ada)
        run_tasks_after(days=31)
        workers.run_until_idle()
        items = [item for item in memory_aws.all_items() if item["pk"].startswith(("O#", "U#"))]
        assert [item for item in items if not table.is_expired(item)] == []
        for invitation in (pending, accepted):
            assert open_invitation(api, invitation, stranger).status_and_code == "404 not_found"
