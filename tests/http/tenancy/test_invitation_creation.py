from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
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
        answer = post_invitation(api, organization, SOPHIE_EMAIL, **nulls)
        invitation = answer.json
        assert (answer.status, answer.location) == (201, f"{organization.path}/invitations/{invitation['id']}")
        times = dict.fromkeys(("createdAt", "updatedAt", "sentAt"), timestamp)
        lifetime = {"status": "pending", "expiresInDays": 7, "expiresAt": after(timestamp, days=7), **times}
        content = {"email": SOPHIE_EMAIL, "role": "member", "message": None, "platformId": None, "invitedBy": ada.id}
        generated = {"id": invitation["id"], "version": 1, "acceptUrl": invitation["acceptUrl"], "mailWithheld": False}
        assert invitation == {**generated, **content, **lifetime}
        assert api.get(answer.location, caller=ada).json == {**invitation, "acceptUrl": None}

    @pytest.mark.parametrize(
        ("days", "message"), [(1, "x" * 4000), (30, "Come and join us.\n\nThe Engines")], ids=["minimum", "maximum"]
    )
    def test_every_field_is_accepted_and_stored(self, api, organization, clock, days, message):
        timestamp = clock.freeze()
        fields = {"role": "editor", "message": message, "expiresInDays": days}
        record = post_invitation(api, organization, " Sophie.Germain@Example.ORG ", **fields).json
        expected = {**fields, "email": "sophie.germain@example.org", "expiresAt": after(timestamp, days=days)}
        assert {name: record[name] for name in expected} == expected

    @pytest.mark.parametrize(
        ("page", "expected_url"),
        [
            ("", f"http://127.0.0.1:8000{ACCEPTANCE_PATH}?token="),
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
            assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", [f"/{field}"]), value
        assert statuses(api, organization) == []

    def test_an_email_address_is_required(self, api, organization, ada):
        for body in ({}, None, {"email": None}):
            answer = api.post(f"{organization.path}/invite", caller=ada, json=body)
            assert answer.errors == {"/email": "required"}

    def test_members_grant_roles_up_to_their_own(self, api, organization, ada, grace):
        for person in (ada, grace):
            for role in ("member", "editor", "admin"):
                address = f"{role}-of-{person.username}@example.org"
                record = create_invitation(api, organization, address, caller=person, role=role).record
                assert (record["role"], record["invitedBy"]) == (role, person.id)

    def test_a_key_without_admin_grants_no_role_above_editor(self, api, organization):
        limited_key, admin_key = (create_api_key(api, organization, scope) for scope in ("members:write", "admin"))
        answer = post_invitation(api, organization, SOPHIE_EMAIL, caller=limited_key, role="admin")
        assert (answer.status_and_code, answer.errors) == ("403 insufficient_role", {"/role": "insufficient_role"})
        for key, role in ((limited_key, "editor"), (admin_key, "admin")):
            record = create_invitation(api, organization, f"{role}@example.org", caller=key, role=role).record
            assert (record["role"], record["invitedBy"]) == (role, key.id)


class TestOneInvitationPerAddress:
    def test_an_address_has_one_pending_invitation_of_an_organization_in_any_spelling(self, api, organization, grace):
        create_invitation(api, organization, SOPHIE_EMAIL)
        for spelling in (SOPHIE_EMAIL, SOPHIE_EMAIL.upper(), "Sophie@Example.Org"):
            answer = post_invitation(api, organization, spelling, role="admin")
            assert (answer.status_and_code, answer.errors) == (ALREADY_EXISTS, {"/email": "already_exists"})
            assert answer.json["detail"].startswith(f"Another invitation has the email '{SOPHIE_EMAIL}'.")
        assert statuses(api, organization) == ["pending"]
        assert create_invitation(api, create_organization(api, grace), SOPHIE_EMAIL).record["status"] == "pending"

    def test_a_revoked_or_declined_invitation_frees_the_address(self, api, organization, ada, stranger):
        api.delete(create_invitation(api, organization, stranger).path, caller=ada)
        create_declined(api, organization, stranger)
        create_invitation(api, organization, stranger)
        assert statuses(api, organization) == ["revoked", "declined", "pending"]

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
            assert (answer.status_and_code, answer.errors) == (ALREADY_MEMBER, {"/email": "already_member"})
        assert statuses(api, organization) == ["accepted"]
        remove_member(api, organization, mary)
        assert post_invitation(api, organization, mary).status == 201

    def test_one_of_several_concurrent_requests_succeeds(self, api, organization):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: post_invitation(api, organization, SOPHIE_EMAIL), range(5)))
        assert sorted(a.status for a in answers) == [201, 409, 409, 409, 409]
        assert {a.json["code"] for a in answers if a.status == 409} == {"already_exists"}
        assert statuses(api, organization) == ["pending"]


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
    def test_expired_invitations_do_not_count(self, clock, workers, invite):
        assert [invite(expiresInDays=days).status for days in (1, 2, 3, 4)] == [201, 201, 201, 409]
        clock.shift(days=1, seconds=1)
        workers.run_until_idle()
        assert [invite().status for _ in range(2)] == [201, 409]

    @pytest.mark.usefixtures("limit_of_three")
    def test_the_limit_holds_for_concurrent_requests(self, api, organization):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: post_invitation(api, organization, f"{n}@example.org"), range(6)))
        assert sorted(a.status for a in answers) == [201, 201, 201, 409, 409, 409]
        assert statuses(api, organization) == ["pending"] * 3
