import pytest

from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.invitations import (
    SOPHIE_EMAIL,
    create_accepted,
    create_declined,
    create_invitation,
    decide_on_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
)
from tests.harness.workers import queued_bodies

EXPIRED = "410 invitation_expired"


class TestExpiry:
    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_the_link_works_until_the_expiry_and_not_afterwards(self, api, organization, stranger, clock, days):
        clock.freeze()
        invitation = create_invitation(api, organization, stranger, expiresInDays=days)
        clock.shift(days=days, seconds=-0.001)
        assert open_invitation(api, invitation).json["status"] == "pending"
        clock.shift(seconds=0.001)
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == EXPIRED
        for decision in ("accept", "decline"):
            assert decide_on_invitation(api, invitation, stranger, decision).status_and_code == EXPIRED
        assert get_invitation_status(api, organization, invitation) == "expired"

    def test_the_sweep_expires_an_invitation_with_one_entry(self, api, organization, clock, workers):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(days=6)
        workers.run_until_idle()
        assert get_invitation_status(api, organization, invitation) == "pending"
        clock.shift(days=1, seconds=1)
        for _ in range(2):
            workers.run_until_idle()
            clock.shift(minutes=5)
        assert get_invitation_status(api, organization, invitation) == "expired"
        assert invitation_events(api, organization, invitation) == ["created", "expired"]
        assert open_invitation(api, invitation).status_and_code == EXPIRED

    def test_accepted_and_declined_invitations_do_not_expire(
        self, api, organization, stranger, operator, clock, workers
    ):
        accepted_invitation, declined_invitation = (
            create_accepted(api, organization, stranger),
            create_declined(api, organization, operator),
        )
        clock.shift(days=31)
        workers.run_until_idle()
        assert [
            get_invitation_status(api, organization, invitation)
            for invitation in (accepted_invitation, declined_invitation)
        ] == ["accepted", "declined"]
        assert decide_on_invitation(api, accepted_invitation, stranger).json["membership"]["userId"] == stranger.id
        assert [
            invitation_events(api, organization, invitation)[1:]
            for invitation in (accepted_invitation, declined_invitation)
        ] == [
            ["accepted"],
            ["declined"],
        ]

    def test_closed_invitations_have_no_scheduled_task(
        self, api, organization, ada, stranger, operator, clock, workers
    ):
        create_accepted(api, organization, stranger)
        create_declined(api, organization, operator)
        api.delete(create_invitation(api, organization, SOPHIE_EMAIL).path, caller=ada)
        create_invitation(api, organization, "late@example.org")
        clock.shift(days=8)
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_sweep()
        assert queued_bodies("jobs") == []

    def test_invitations_expire_in_a_deleted_organization(self, api, organization, ada, stranger, clock, workers):
        invitation = create_invitation(api, organization, stranger)
        api.delete(organization.path, caller=ada)
        clock.shift(days=8)
        workers.run_until_idle()
        assert open_invitation(api, invitation, stranger).status_and_code == "404 not_found"
        api.patch(organization.path, caller=ada, json={"status": "active"})
        assert open_invitation(api, invitation, stranger).status_and_code == EXPIRED
        assert invitation_events(api, organization, invitation) == ["created", "expired"]

    def test_a_purge_removes_every_item_of_an_invitation(self, api, organization, ada, stranger, clock, workers):
        pending_invitation, accepted_invitation = (
            create_invitation(api, organization, SOPHIE_EMAIL, expiresInDays=30),
            create_accepted(api, organization, stranger),
        )
        clock.shift(days=5)
        api.delete(organization.path, caller=ada)
        clock.shift(days=31)
        workers.run_until_idle()
        workers.run_until_idle()
        remaining = [
            item
            for item in memory_aws.all_items()
            if item["pk"].startswith(("O#", "U#")) and not table.is_expired(item)
        ]
        assert remaining == []
        for invitation in (pending_invitation, accepted_invitation):
            assert open_invitation(api, invitation, stranger).status_and_code == "404 not_found"
