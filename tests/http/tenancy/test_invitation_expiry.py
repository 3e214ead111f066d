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


@pytest.mark.parametrize("days", [1, 7, 30])
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


def test_closed_invitations_do_not_expire_and_have_no_scheduled_task(
    api, organization, ada, stranger, operator, clock, workers
):
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
