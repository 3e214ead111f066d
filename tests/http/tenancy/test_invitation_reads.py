from tests.harness.invitations import (
    SOPHIE_EMAIL,
    create_accepted,
    create_declined,
    create_invitation,
    resend_invitation,
)


def test_all_invitations_are_listed_without_links_in_order_of_creation_whatever_their_status(
    api, organization, ada, stranger, operator, clock
):
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
