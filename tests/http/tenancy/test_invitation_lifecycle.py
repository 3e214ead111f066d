"""Reading, revoking and resending invitations, and their expiry."""

from functools import partial

import pytest

from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
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
from tests.harness.workers import queued_bodies

REVOKED, EXPIRED, INVALID = "410 invitation_revoked", "410 invitation_expired", "409 invalid_transition"


def test_all_invitations_are_listed_without_links(api, organization, ada, stranger, operator, clock):
    expired = create_invitation(api, organization, "late@example.org", expiresInDays=1)
    clock.shift(days=2)
    invitations = [expired, create_accepted(api, organization, stranger), create_declined(api, organization, operator)]
    invitations += [create_invitation(api, organization, address) for address in ("gone@example.org", SOPHIE_EMAIL)]
    api.delete(invitations[3].path, caller=ada)
    path = f"{organization.path}/invitations"
    listed = api.get_items(path, caller=ada)
    assert [i["id"] for i in listed] == [invitation.id for invitation in invitations]
    assert [i["status"] for i in listed] == ["expired", "accepted", "declined", "revoked", "pending"]
    assert listed[-1] == {**invitations[-1].record, "acceptUrl": None}
    assert {i["acceptUrl"] for i in listed} == {None}
    pages = api.get_pages(path, caller=ada, query={"limit": 2})
    assert [page["items"] for page in pages if page["items"]] == [listed[:2], listed[2:4], listed[4:]]


def test_the_etag_of_an_invitation_changes_when_it_is_sent_again_and_when_it_expires(api, organization, grace, clock):
    invitation = create_invitation(api, organization, SOPHIE_EMAIL)
    before = api.get(invitation.path, caller=grace)
    assert before.json == {**invitation.record, "acceptUrl": None}
    clock.shift(minutes=2)
    resend_invitation(api, organization, invitation)
    resent = api.get(invitation.path, caller=grace, headers={"If-None-Match": before.etag})
    assert resent.status == 200
    assert api.get(invitation.path, caller=grace, headers={"If-None-Match": resent.etag}).status == 304
    clock.shift(days=8)
    expired = api.get(invitation.path, caller=grace, headers={"If-None-Match": resent.etag})
    assert (expired.status, expired.json["status"]) == (200, "expired")


def test_the_link_is_rejected_at_once_for_everyone(api, organization, grace, stranger):
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

    def test_a_rate_limited_request_changes_nothing(self, api, organization, ada, invitation, resend):
        assert resend(headers={"If-Match": '"another"'}).status_and_code == "412 precondition_failed"
        assert resend().status_and_code == "429 rate_limited"
        assert open_invitation(api, invitation).status == 200
        assert api.get(invitation.path, caller=ada).json["version"] == 1
        assert invitation_events(api, organization, invitation) == ["created"]

    def test_only_a_pending_invitation_is_revoked_or_resent(
        self, api, organization, ada, stranger, operator, clock, workers
    ):
        expired = create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=1)
        clock.shift(days=2)
        revoked = create_invitation(api, organization, SOPHIE_EMAIL)
        api.delete(revoked.path, caller=ada)
        accepted, declined = create_accepted(api, organization, stranger), create_declined(api, organization, operator)
        by_status = {"expired": expired, "revoked": revoked, "accepted": accepted, "declined": declined}
        for _ in range(2):
            for status, invitation in by_status.items():
                before = api.get(invitation.path, caller=ada).json
                assert before["status"] == status
                assert api.post(f"{invitation.path}/resend", caller=ada).status_and_code == INVALID
                if status != "revoked":
                    assert api.delete(invitation.path, caller=ada).status_and_code == INVALID
                assert api.get(invitation.path, caller=ada).json == before
            clock.shift(minutes=2)
            workers.run_until_idle()


@pytest.mark.parametrize("days", [1, 30])
def test_the_link_works_until_the_expiry_and_not_afterwards(api, organization, stranger, clock, workers, days):
    clock.freeze()
    invitation = create_invitation(api, organization, stranger, expiresInDays=days)
    clock.shift(days=days, seconds=-0.001)
    workers.run_until_idle()
    assert open_invitation(api, invitation).json["status"] == "pending"
    clock.shift(seconds=0.001)
    for _ in range(2):
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == EXPIRED
        for decision in ("accept", "decline"):
            assert decide_on_invitation(api, invitation, stranger, decision).status_and_code == EXPIRED
        assert get_invitation_status(api, organization, invitation) == "expired"
        workers.run_until_idle()
        clock.shift(minutes=5)
    assert invitation_events(api, organization, invitation) == ["created", "expired"]


def test_closed_invitations_do_not_expire(api, organization, ada, stranger, operator, clock, workers):
    accepted, declined = create_accepted(api, organization, stranger), create_declined(api, organization, operator)
    api.delete(create_invitation(api, organization, SOPHIE_EMAIL).path, caller=ada)
    create_invitation(api, organization, "late@example.org")
    clock.shift(days=31)
    workers.run_until_idle()
    clock.shift(minutes=2)
    workers.run_sweep()
    assert queued_bodies("jobs") == []
    for invitation, status in ((accepted, "accepted"), (declined, "declined")):
        assert get_invitation_status(api, organization, invitation) == status
        assert invitation_events(api, organization, invitation) == ["created", status]
    assert decide_on_invitation(api, accepted, stranger).json["membership"]["userId"] == stranger.id


def test_invitations_expire_in_a_deleted_organization(api, organization, ada, stranger, clock, workers):
    invitation = create_invitation(api, organization, stranger)
    api.delete(organization.path, caller=ada)
    clock.shift(days=8)
    workers.run_until_idle()
    assert open_invitation(api, invitation, stranger).status_and_code == "404 not_found"
    api.patch(organization.path, caller=ada, json={"status": "active"})
    assert open_invitation(api, invitation, stranger).status_and_code == EXPIRED
    assert invitation_events(api, organization, invitation) == ["created", "expired"]


def test_a_purge_removes_every_item_of_an_invitation(api, organization, ada, stranger, clock, workers):
    pending = create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=30)
    accepted = create_accepted(api, organization, stranger)
    clock.shift(days=5)
    api.delete(organization.path, caller=ada)
    clock.shift(days=31)
    for _ in range(2):
        workers.run_until_idle()
    items = [item for item in memory_aws.all_items() if item["pk"].startswith(("O#", "U#"))]
    assert [item for item in items if not table.is_expired(item)] == []
    for invitation in (pending, accepted):
        assert open_invitation(api, invitation, stranger).status_and_code == "404 not_found"
