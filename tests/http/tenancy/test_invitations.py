"""Inviting to an organization, and reading invitations."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.logic import invitation_lists
from chalicelib.kernel.core.clock import after
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    SOPHIE_EMAIL,
    create_accepted,
    create_declined,
    create_invitation,
    post_invitation,
    resend_invitation,
)
from tests.harness.organizations import add_organization_member, create_api_key, create_organization, remove_member
from tests.harness.platforms import create_platform
from tests.harness.stored_records import set_quota_count

ALREADY_EXISTS, ALREADY_MEMBER, LIMIT_EXCEEDED = "409 already_exists", "409 already_member", "409 limit_exceeded"
INVALID_VALUES = {
    "email": ["", "sophie", "sophie@localhost", "so phie@x.org", "a@x.org, b@x.org", None, 3, [SOPHIE_EMAIL]],
    "role": ["owner", "superuser", "Admin", ""],
    "message": ["x" * 4001, "a\x00b", 3],
    "expiresInDays": [0, 31, -1, 1.5, "7", True],
}


def statuses(api, organization):
    return [i["status"] for i in api.get_items(f"{organization.path}/invitations", caller=organization.owner)]


class TestInviteToOrganization:
    @pytest.mark.parametrize("nulls", [{}, {"role": None, "message": None, "expiresInDays": None}])
    def test_an_email_address_is_enough_and_null_selects_the_default(self, api, organization, ada, clock, nulls):
        timestamp = clock.freeze()
        record = post_invitation(api, organization, SOPHIE_EMAIL, **nulls).expect(201).json
        defaults = {"role": "member", "message": None, "expiresInDays": 7, "expiresAt": after(timestamp, days=7)}
        assert record | defaults | {"sentAt": timestamp, "invitedBy": ada.id} == record
        assert api.post(f"{organization.path}/invite", caller=ada, json=nulls).errors == {"/email": "required"}

    @pytest.mark.parametrize(
        ("days", "message"), [(1, "x" * 4000), (30, "Come and join us.\n\nThe Engines")], ids=["minimum", "maximum"]
    )
    def test_every_field_is_accepted_and_stored(self, api, organization, clock, days, message):
        timestamp = clock.freeze()
        fields = {"role": "editor", "message": message, "expiresInDays": days}
        record = post_invitation(api, organization, " Sophie.Germain@Example.ORG ", **fields).json
        expected = {**fields, "email": "sophie.germain@example.org", "expiresAt": after(timestamp, days=days)}
        assert record | expected == record

    @pytest.mark.parametrize(
        ("page", "expected_url"),
        [
            ("", "http://127.0.0.1:8000/invitation?token="),
            ("https://app.example/join", "https://app.example/join?token="),
            ("https://app.example/?to=join", "https://app.example/?to=join&token="),
        ],
    )
    def test_the_link_points_to_the_configured_page(self, api, organization, configure, page, expected_url):
        configure(invitation_url=page)
        answer = post_invitation(api, organization, SOPHIE_EMAIL)
        assert answer.headers["Cache-Control"] == "no-store"
        url, token = answer.json["acceptUrl"].split("token=")
        assert f"{url}token=" == expected_url
        assert api.get(ACCEPTANCE_PATH, query={"token": token}).status == 200

    @pytest.mark.parametrize(("field", "values"), INVALID_VALUES.items())
    def test_an_invalid_field_is_rejected(self, api, organization, field, values):
        for value in values:
            body = {"email": SOPHIE_EMAIL, field: value}
            answer = api.post(f"{organization.path}/invite", caller=organization.owner, json=body)
            assert [*answer.validation_errors] == [f"/{field}"], value
        assert statuses(api, organization) == []

    def test_members_grant_roles_up_to_their_own_and_a_key_without_admin_up_to_editor(
        self, api, organization, ada, grace
    ):
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        answer = post_invitation(api, organization, SOPHIE_EMAIL, caller=limited_key, role="admin")
        assert answer.problem_and_errors == ("403 insufficient_role", {"/role": "insufficient_role"})
        grantable = {limited_key: ["editor"], admin_key: ["admin"]}
        grantable |= {person: ["member", "editor", "admin"] for person in (ada, grace)}
        for number, (caller, roles) in enumerate(grantable.items()):
            for role in roles:
                address = f"{role}-of-{number}@example.org"
                record = create_invitation(api, organization, address, caller=caller, role=role).record
                assert (record["role"], record["invitedBy"]) == (role, caller.id)


class TestOneInvitationPerAddress:
    def test_an_address_has_one_pending_invitation_of_an_organization_in_any_spelling(
        self, api, organization, grace, clock
    ):
        pending = create_invitation(api, organization, SOPHIE_EMAIL)
        for spelling in (SOPHIE_EMAIL, SOPHIE_EMAIL.upper(), "Sophie@Example.Org"):
            answer = post_invitation(api, organization, spelling, role="admin")
            assert answer.problem_and_errors == (ALREADY_EXISTS, {"/email": "already_exists"})
            assert answer.json["detail"].startswith(f"The invitation {pending.id} has the email '{SOPHIE_EMAIL}'.")
            assert answer.json["existingId"] == pending.id
        clock.shift(minutes=2)
        advised = re.findall(r"(POST|DELETE) (/[^ ]+[a-z0-9])", answer.json["detail"])
        assert [api.request(method, path, caller=organization.owner).status for method, path in advised] == [200, 204]
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert statuses(api, organization) == ["revoked", "pending"]
        assert create_invitation(api, create_organization(api, grace), SOPHIE_EMAIL).record["status"] == "pending"

    def test_one_of_several_concurrent_requests_succeeds(self, api, organization):
        with ThreadPoolExecutor(5) as threads:
            answers = [*threads.map(lambda _: post_invitation(api, organization, SOPHIE_EMAIL), range(5))]
        rejections = [answer.status_and_code for answer in answers if answer.status != 201]
        assert (rejections, statuses(api, organization)) == ([ALREADY_EXISTS] * 4, ["pending"])

    def test_an_invitation_frees_the_address_at_the_instant_it_expires(self, api, organization, clock, workers):
        clock.freeze("2026-11-20T09:30:00.400Z")
        create_invitation(api, organization, SOPHIE_EMAIL)
        clock.freeze("2026-11-27T09:30:00.399Z")
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == ALREADY_EXISTS
        clock.freeze("2026-11-27T09:30:00.400Z")
        replacement = create_invitation(api, organization, SOPHIE_EMAIL)
        for _ in range(2):
            assert statuses(api, organization) == ["expired", "pending"]
            workers.run_until_idle()
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == ALREADY_EXISTS
        assert api.delete(replacement.path, caller=organization.owner).status == 204

    def test_only_the_address_of_a_current_member_is_rejected(self, api, organization, ada, mary, stranger, operator):
        create_accepted(api, organization, stranger)
        add_organization_member(organization, operator, "member")
        for address in (mary.email, mary.email.upper(), ada.email, stranger.email, operator.email):
            answer = post_invitation(api, organization, address)
            assert answer.problem_and_errors == (ALREADY_MEMBER, {"/email": "already_member"})
        assert statuses(api, organization) == ["accepted"]
        remove_member(api, organization, mary)
        assert post_invitation(api, organization, mary).status == 201


class TestLimit:
    @pytest.fixture
    def limit_of_three(self, monkeypatch):
        monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=3))

    @pytest.fixture
    def invite(self, api, organization):
        """A function that requests an invitation of another address each time."""
        numbers = iter(range(100))
        return lambda **fields: post_invitation(api, organization, f"{next(numbers)}@example.org", **fields)

    def test_an_organization_has_at_most_100_pending_invitations(self, api, organization, ada, invite):
        invite()
        set_quota_count(Invitation, f"O#{organization.id}", 99)
        assert [invite().status for _ in range(2)] == [201, 409]
        assert invite().status_and_code == LIMIT_EXCEEDED
        assert create_invitation(api, create_organization(api, ada), SOPHIE_EMAIL).record["status"] == "pending"

    @pytest.mark.usefixtures("limit_of_three")
    def test_the_limit_holds_for_concurrent_requests(self, api, organization, invite):
        with ThreadPoolExecutor(6) as threads:
            answers = [*threads.map(lambda _: invite(), range(6))]
        assert sorted(answer.status for answer in answers) == [201] * 3 + [409] * 3
        assert statuses(api, organization) == ["pending"] * 3

    @pytest.mark.usefixtures("limit_of_three")
    def test_an_ended_invitation_frees_its_place_once(self, api, organization, ada, stranger, operator, clock, invite):
        first = create_invitation(api, organization, SOPHIE_EMAIL)
        assert [invite().status for _ in range(3)] == [201, 201, 409]
        clock.shift(minutes=2)
        assert resend_invitation(api, organization, first).id == first.id
        assert invite().status_and_code == LIMIT_EXCEEDED
        for _ in range(2):
            assert api.delete(first.path, caller=ada).status == 204
        create_accepted(api, organization, stranger)
        create_declined(api, organization, operator)
        assert [invite().status for _ in range(2)] == [201, 409]

    @pytest.mark.usefixtures("limit_of_three")
    def test_expired_invitations_do_not_count(self, run_tasks_after, invite):
        assert [invite(expiresInDays=days).status for days in (1, 2, 3, 4)] == [201, 201, 201, 409]
        run_tasks_after(days=1, seconds=1)
        assert [invite().status for _ in range(2)] == [201, 409]


class TestListAndGetInvitations:
    def test_all_invitations_are_listed_without_links(self, api, organization, ada, stranger, operator, clock):
        invitations = [create_invitation(api, organization, "late@example.org", expiresInDays=1)]
        clock.shift(days=2)
        invitations += [create_accepted(api, organization, stranger), create_declined(api, organization, operator)]
        for _ in range(2):  # A revoked invitation frees the address.
            invitations.append(create_invitation(api, organization, SOPHIE_EMAIL))
            if len(invitations) == 4:
                api.delete(invitations[3].path, caller=ada)
        path = f"{organization.path}/invitations"
        listed = api.get_items(path, caller=ada)
        assert [i["id"] for i in listed] == [invitation.id for invitation in invitations]
        assert [i["status"] for i in listed] == ["expired", "accepted", "declined", "revoked", "pending"]
        assert listed[-1] == {**invitations[-1].record, "acceptUrl": None}
        assert {i["acceptUrl"] for i in listed} == {None}
        pages = api.get_pages(path, caller=ada, query={"limit": 2})
        assert [page["items"] for page in pages if page["items"]] == [listed[:2], listed[2:4], listed[4:]]
        assert create_invitation(api, organization, operator).record["status"] == "pending"

    def test_the_list_can_be_filtered_by_address_and_status(
        self, api, organization, ada, grace, stranger, clock, monkeypatch
    ):
        monkeypatch.setattr(invitation_lists, "_FILTERED_PAGE_SIZE", 1)

        def ids(limit: int = 25, **query: str) -> list[str]:
            path = f"{organization.path}/invitations"
            return [item["id"] for item in api.get_items(path, caller=grace, query={"limit": limit, **query})]

        declined = create_declined(api, organization, stranger)
        expired = create_invitation(api, organization, stranger, expiresInDays=1)
        clock.shift(days=2)
        pending = create_invitation(api, organization, stranger, caller=ada)
        other = create_invitation(api, create_platform(api, organization), SOPHIE_EMAIL)
        for limit in (1, 2, 100):
            expected = [declined.id, expired.id, pending.id]
            assert ids(limit, email=stranger.email.upper()) == expected
            assert ids(limit, status="pending") == [pending.id, other.id]
            assert ids(limit, status="expired", email=stranger.email) == [expired.id]
            assert ids(limit, status="pending", platformId=other.record["platformId"]) == [other.id]
        assert ids(1, status="pending", email="nobody@example.org") == ids(1, status="revoked") == []
        path, query = f"{organization.path}/invitations", {"status": "pending", "limit": 1}
        cursor = api.get(path, caller=grace, query=query).json["nextCursor"]
        changed = {**query, "status": "expired", "cursor": cursor}
        assert api.get(path, caller=grace, query=changed).status_and_code == "400 invalid_cursor"
        invalid = api.get(path, caller=grace, query={"status": "gone", "email": "x"})
        assert invalid.errors == {"query/status": "not_one_of", "query/email": "malformed"}

    def test_the_etag_changes_when_an_invitation_is_sent_again_or_expires(self, api, organization, grace, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        before = api.get(invitation.path, caller=grace)
        assert before.json == {**invitation.record, "acceptUrl": None}
        clock.shift(minutes=2)
        resend_invitation(api, organization, invitation)
        resent = api.get(invitation.path, caller=grace, headers={"If-None-Match": before.etag}).expect(200)
        assert api.get(invitation.path, caller=grace, headers={"If-None-Match": resent.etag}).status == 304
        clock.shift(days=8)
        expired = api.get(invitation.path, caller=grace, headers={"If-None-Match": resent.etag})
        assert (expired.status, expired.json["status"]) == (200, "expired")
