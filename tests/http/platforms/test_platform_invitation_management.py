"""Invitations to a platform: who manages them, and how they end."""

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws
from tests.harness.erasures import keys_of_items_containing
from tests.harness.invitations import (
    REVOKED_PROBLEM,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    get_invitation_status,
    invitation_events,
    list_invitation_ids,
    open_invitation,
)
from tests.harness.organizations import create_organization
from tests.harness.platforms import add_platform_member, create_platform, set_member_role


class TestManagement:
    def test_platform_admins_list_only_invitations_to_their_platforms(
        self, api, organization, platform, other_platform, emmy, invitation
    ):
        own_ids = [invitation.id]
        for n in range(3):
            create_invitation(api, organization, f"{n}@example.org")
            own_ids.append(create_invitation(api, platform, f"{n}@example.org").id)
            other = create_invitation(api, other_platform, f"{n}@example.org")
        for limit in (1, 2, 100):
            assert list_invitation_ids(api, organization, emmy, limit) == own_ids
        assert list_invitation_ids(api, organization, emmy, 2, platformId=platform.id.upper()) == own_ids
        for platform_id in (other_platform.id, "x"):
            answer = api.get(f"{organization.path}/invitations", caller=emmy, query={"platformId": platform_id})
            assert answer.status_and_code == "404 not_found"
        add_platform_member(other_platform, emmy, "admin")
        listed_ids = list_invitation_ids(api, organization, emmy, 2)
        assert (len(listed_ids), listed_ids[-1]) == (7, other.id)
        assert listed_ids == sorted(listed_ids)

    def test_organization_admins_list_all_invitations_and_filter_by_platform(
        self, api, organization, platform, grace, stranger, invitation
    ):
        other = create_invitation(api, organization, SOPHIE_EMAIL)
        foreign_platform = create_platform(api, create_organization(api, stranger))
        create_invitation(api, foreign_platform, SOPHIE_EMAIL)
        for limit in (1, 100):
            assert list_invitation_ids(api, organization, grace, limit) == [invitation.id, other.id]
        assert list_invitation_ids(api, organization, grace, platformId=platform.id) == [invitation.id]
        assert list_invitation_ids(api, organization, grace, platformId=foreign_platform.id) == []
        answer = api.get(f"{organization.path}/invitations", caller=grace, query={"platformId": "x"})
        assert answer.errors == {"query/platformId": "malformed"}

    def test_platform_admins_resend_and_revoke_only_invitations_to_their_platforms(
        self, api, organization, other_platform, emmy, invitation, clock
    ):
        others = [create_invitation(api, container, SOPHIE_EMAIL) for container in (organization, other_platform)]
        clock.shift(minutes=2)
        for path in (other.path for other in others):
            for method, requested_path in (("GET", path), ("DELETE", path), ("POST", f"{path}/resend")):
                assert api.request(method, requested_path, caller=emmy).status_and_code == "404 not_found"
        resent = api.post(f"{invitation.path}/resend", caller=emmy)
        # The limit for resend_invitation in tests/catalogue/test_aws_calls.py is 3.
        assert (resent.status, len(resent.calls.read_names)) == (200, 3)
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert api.delete(invitation.path, caller=emmy).status == 204
        events = [f"platform.invitation.{name}" for name in ("created", "resent", "revoked")]
        assert invitation_events(api, organization, invitation) == events

    def test_organization_members_who_are_platform_admins_manage_its_invitations(
        self, api, organization, platform, mary, edith, invitation
    ):
        other = create_invitation(api, organization, SOPHIE_EMAIL)
        add_platform_member(platform, mary, "admin")
        add_platform_member(platform, edith, "editor")
        assert list_invitation_ids(api, organization, mary) == [invitation.id]
        assert api.get(invitation.path, caller=mary).status == 200
        for person, path in ((mary, other.path), (edith, invitation.path), (edith, f"{organization.path}/invitations")):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"

    @pytest.mark.parametrize("reason", ["the admin left", "the organization is deleted"])
    def test_strangers_and_former_admins_get_not_found(
        self, api, organization, platform, emmy, stranger, invitation, reason
    ):
        if reason == "the admin left":
            assert platform.post("/leave", caller=emmy).status == 204
        else:
            assert api.delete(organization.path, caller=organization.owner).status == 204
        for person in (emmy, stranger):
            for path in (invitation.path, f"{organization.path}/invitations"):
                assert api.get(path, caller=person).status_and_code == "404 not_found"

    def test_an_organization_admin_resends_an_invitation_while_its_inviter_is_an_admin(
        self, api, organization, platform, grace, emmy, invitation, clock
    ):
        clock.shift(minutes=2)
        resent = api.post(f"{invitation.path}/resend", caller=grace)
        assert (resent.status, len(resent.calls.read_names)) == (200, 3)
        clock.shift(minutes=2)
        set_member_role(api, platform, emmy, "member")
        assert api.post(f"{invitation.path}/resend", caller=grace).status_and_code == "409 invalid_transition"
        assert get_invitation_status(api, organization, invitation) == "pending"


class TestDepartureOfTheInviter:
    @pytest.mark.parametrize("index_lags", [False, True])
    def test_the_invitation_is_rejected_at_once_and_stays_revoked_when_the_inviter_returns(
        self, api, organization, platform, invitation, emmy, await_cleanup, monkeypatch, *, index_lags
    ):
        if index_lags:
            monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        assert platform.delete(f"/members/{emmy.id}").status == 204
        add_platform_member(platform, emmy, "admin")
        for _ in range(2):
            assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
            await_cleanup()
        assert get_invitation_status(api, organization, invitation) == "revoked"
        later_events = ["platform.invitation.revoked"] if index_lags else []
        assert invitation_events(api, organization, invitation)[1:] == later_events

    def test_leaving_the_organization_revokes_invitations_to_its_platforms(
        self, api, organization, platform, grace, await_cleanup
    ):
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=grace)
        assert api.post(f"{organization.path}/leave", caller=grace).status == 204
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert get_invitation_status(api, organization, invitation) == "revoked"
        await_cleanup()
        assert invitation_events(api, organization, invitation) == ["platform.invitation.created"]

    def test_leaving_the_platform_keeps_invitations_sent_as_an_organization_admin(
        self, api, organization, platform, grace, await_cleanup
    ):
        add_platform_member(platform, grace, "admin")
        invitation = create_invitation(api, platform, SOPHIE_EMAIL, caller=grace)
        assert platform.post("/leave", caller=grace).status == 204
        await_cleanup()
        assert open_invitation(api, invitation).json["status"] == "pending"
        assert get_invitation_status(api, organization, invitation) == "pending"


def test_deleting_the_platform_removes_its_invitations_from_the_list_and_the_count(
    api, organization, platform, other_platform, emmy, stranger, workers, clock
):
    accept_invitation(api, create_invitation(api, platform, stranger), stranger)
    for n in range(27):
        create_invitation(api, platform, f"{n}@example.org", caller=emmy)
    others = [create_invitation(api, container, SOPHIE_EMAIL).id for container in (organization, other_platform)]
    workers.run_until_idle()
    assert platform.delete().status == 204
    workers.deliver()
    assert list_invitation_ids(api, organization, organization.owner) == others
    (counter,) = [item for item in memory_aws.all_items() if item["sk"] == "COUNT#pending invitations"]
    assert counter["n"] == 2
    clock.shift(minutes=2)
    workers.run_until_idle()
    assert [key for key in keys_of_items_containing(platform.id) if key[0].startswith(("O#", "P#", "U#"))] == []


def test_the_expiry_of_an_invitation_to_a_platform_has_its_own_event(api, organization, invitation, workers, clock):
    clock.shift(days=7, seconds=1)
    assert open_invitation(api, invitation).status_and_code == "410 invitation_expired"
    workers.run_until_idle()
    assert invitation_events(api, organization, invitation)[-1] == "platform.invitation.expired"
