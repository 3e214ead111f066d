import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.kernel.core.clock import after
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decline_invitation,
    post_invitation,
    resend_invitation,
    token_from_link,
)
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


def statuses(api: ApiClient, organization: CreatedOrganization) -> list[str]:
    return [i["status"] for i in api.get_items(f"{organization.path}/invitations", caller=organization.owner)]


class TestInviteToOrganization:
    def test_an_email_address_is_enough(self, api, organization, ada, clock):
        timestamp = clock.freeze()
        answer = api.post(f"{organization.path}/invite", caller=ada, json={"email": SOPHIE_EMAIL})
        assert answer.status == 201
        invitation = answer.json
        assert invitation == {
            "id": invitation["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "platformId": None,
            "email": SOPHIE_EMAIL,
            "role": "member",
            "message": None,
            "expiresInDays": 7,
            "status": "pending",
            "sentAt": timestamp,
            "mailWithheld": False,
            "expiresAt": after(timestamp, days=7),
            "invitedBy": ada.id,
            "acceptUrl": invitation["acceptUrl"],
        }

    def test_the_location_header_leads_to_the_invitation(self, api, organization, ada):
        answer = post_invitation(api, organization, SOPHIE_EMAIL)
        assert answer.location == f"{organization.path}/invitations/{answer.json['id']}"
        assert api.get(answer.location, caller=ada).json == {**answer.json, "acceptUrl": None}

    def test_every_documented_field_is_accepted(self, api, organization, clock):
        timestamp = clock.freeze()
        message = "Come and join us.\n\nThe Engines"
        invitation = create_invitation(
            api, organization, SOPHIE_EMAIL, role="editor", message=message, expiresInDays=30
        ).record
        assert (invitation["role"], invitation["message"], invitation["expiresInDays"]) == ("editor", message, 30)
        assert invitation["expiresAt"] == after(timestamp, days=30)

    def test_the_email_address_is_stored_in_lower_case(self, api, organization):
        assert (
            create_invitation(api, organization, " Sophie.Germain@Example.ORG ").record["email"]
            == "sophie.germain@example.org"
        )

    def test_the_link_points_to_the_service_and_is_not_cached(self, api, organization):
        answer = post_invitation(api, organization, SOPHIE_EMAIL)
        link, token = answer.json["acceptUrl"], token_from_link(answer.json["acceptUrl"])
        assert link == f"http://127.0.0.1:8000{ACCEPTANCE_PATH}?token={token}"
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(ACCEPTANCE_PATH, query={"token": token}).status == 200

    def test_the_link_points_to_the_configured_page_of_the_product(self, api, organization, configure):
        for page, separator in (("https://app.example/join", "?"), ("https://app.example/?to=join", "&")):
            configure(invitation_url=page)
            invitation = create_invitation(api, organization, f"{len(page)}@example.org")
            assert invitation.record["acceptUrl"] == f"{page}{separator}token={invitation.token}"
            assert api.get(ACCEPTANCE_PATH, query={"token": invitation.token}).status == 200

    def test_every_link_is_unique(self, api, organization):
        tokens = {create_invitation(api, organization, f"{n}@example.org").token for n in range(20)}
        assert len(tokens) == 20

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("email", ""),
            ("email", "sophie"),
            ("email", "sophie@localhost"),
            ("email", "so phie@example.org"),
            ("email", "a@example.org, b@example.org"),
            ("email", None),
            ("email", 3),
            ("email", [SOPHIE_EMAIL]),
            ("role", "owner"),
            ("role", "superuser"),
            ("role", "Admin"),
            ("role", ""),
            ("message", "x" * 4001),
            ("message", "a\x00b"),
            ("message", 3),
            ("expiresInDays", 0),
            ("expiresInDays", 31),
            ("expiresInDays", -1),
            ("expiresInDays", 1.5),
            ("expiresInDays", "7"),
            ("expiresInDays", True),
            ("status", "accepted"),
            ("acceptUrl", "x"),
            ("expiresAt", "2099-01-01T00:00:00Z"),
            ("invitedBy", UNKNOWN_ID),
        ],
    )
    def test_an_invalid_field_is_rejected(self, api, organization, field, value):
        body = {"email": SOPHIE_EMAIL, field: value}
        answer = api.post(f"{organization.path}/invite", caller=organization.owner, json=body)
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {f"/{field}"}
        assert statuses(api, organization) == []

    def test_null_selects_the_default(self, api, organization):
        invitation = create_invitation(
            api, organization, SOPHIE_EMAIL, role=None, message=None, expiresInDays=None
        ).record
        assert (invitation["role"], invitation["message"], invitation["expiresInDays"]) == ("member", None, 7)

    def test_an_email_address_is_required(self, api, organization, ada):
        bodies: list[Json | None] = [{}, None, {"email": None}]
        for body in bodies:
            answer = api.post(f"{organization.path}/invite", caller=ada, json=body)
            assert answer.errors == {"/email": "required"}

    def test_the_minimum_and_the_maximum_are_accepted(self, api, organization):
        for days in (1, 30):
            invitation = create_invitation(
                api, organization, f"{days}@example.org", expiresInDays=days, message="x" * 4000
            )
            assert invitation.record["expiresInDays"] == days

    def test_a_retry_with_the_idempotency_key_returns_the_same_invitation_and_link(self, api, organization, ada):
        path, once = f"{organization.path}/invite", {"Idempotency-Key": "once"}
        first, repeated = (api.post(path, caller=ada, json={"email": SOPHIE_EMAIL}, headers=once) for _ in range(2))
        assert repeated.comparable_content == first.comparable_content
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert token_from_link(repeated.json["acceptUrl"]) not in json.dumps(memory_aws.all_items(), default=repr)
        assert len(statuses(api, organization)) == 1


class TestInvitePermissions:
    def test_admins_and_the_owner_may_invite_and_lower_roles_may_not(self, api, organization, grace, edith, mary):
        assert create_invitation(api, organization, SOPHIE_EMAIL, caller=grace).record["invitedBy"] == grace.id
        for person in (edith, mary):
            assert (
                post_invitation(api, organization, "x@example.org", caller=person).status_and_code
                == "403 insufficient_role"
            )

    def test_callers_without_access_to_the_organization_get_not_found(self, api, organization, stranger, operator):
        rival = create_api_key(api, create_organization(api, stranger), "admin")
        for caller in (stranger, operator, rival):
            assert post_invitation(api, organization, SOPHIE_EMAIL, caller=caller).status_and_code == "404 not_found"
        assert (
            api.post(f"{organization.path}/invite", json={"email": SOPHIE_EMAIL}).status_and_code
            == "401 unauthenticated"
        )

    @pytest.mark.parametrize("role", ["member", "editor", "admin"])
    def test_members_grant_roles_up_to_their_own(self, api, organization, ada, grace, role):
        for n, person in enumerate((ada, grace)):
            assert (
                create_invitation(api, organization, f"{n}@example.org", caller=person, role=role).record["role"]
                == role
            )

    def test_a_key_without_admin_grants_no_role_above_editor(self, api, organization):
        limited_key, admin_key = (
            create_api_key(api, organization, "members:write"),
            create_api_key(api, organization, "admin"),
        )
        response = post_invitation(api, organization, SOPHIE_EMAIL, caller=limited_key, role="admin")
        assert (response.status_and_code, response.errors) == ("403 insufficient_role", {"/role": "insufficient_role"})
        assert (
            create_invitation(api, organization, SOPHIE_EMAIL, caller=limited_key, role="editor").record["invitedBy"]
            == limited_key.id
        )
        assert (
            create_invitation(api, organization, "x@example.org", caller=admin_key, role="admin").record["role"]
            == "admin"
        )

    @pytest.mark.parametrize("scope", ["read", "write", "members:read", "api-keys:write"])
    def test_a_key_needs_the_scope_to_write_members(self, api, organization, scope):
        key = create_api_key(api, organization, scope)
        assert post_invitation(api, organization, SOPHIE_EMAIL, caller=key).status_and_code == "403 insufficient_scope"


class TestOneInvitationPerAddress:
    def test_an_address_has_one_pending_invitation_in_any_spelling(self, api, organization):
        create_invitation(api, organization, SOPHIE_EMAIL)
        for spelling in (SOPHIE_EMAIL, SOPHIE_EMAIL.upper(), "Sophie@Example.Org"):
            answer = post_invitation(api, organization, spelling, role="admin")
            assert (answer.status_and_code, answer.errors) == ("409 already_exists", {"/email": "already_exists"})
            assert answer.json["detail"].startswith(f"Another invitation has the email '{SOPHIE_EMAIL}'.")
        assert statuses(api, organization) == ["pending"]

    def test_another_organization_may_invite_the_same_address(self, api, organization, grace):
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert create_invitation(api, create_organization(api, grace), SOPHIE_EMAIL).record["status"] == "pending"

    def test_a_revoked_or_declined_invitation_frees_the_address(self, api, organization, ada, stranger):
        api.delete(create_invitation(api, organization, stranger).path, caller=ada)
        decline_invitation(api, create_invitation(api, organization, stranger), stranger)
        create_invitation(api, organization, stranger)
        assert statuses(api, organization) == ["revoked", "declined", "pending"]

    def test_an_expired_invitation_frees_the_address_before_the_sweep(self, api, organization, clock, workers):
        create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(days=7, seconds=1)
        replacement = create_invitation(api, organization, SOPHIE_EMAIL)
        assert statuses(api, organization) == ["expired", "pending"]
        workers.run_until_idle()
        assert statuses(api, organization) == ["expired", "pending"]
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == "409 already_exists"
        assert api.delete(replacement.path, caller=organization.owner).status == 204

    def test_an_invitation_frees_the_address_at_the_instant_it_expires(self, api, organization, clock):
        clock.freeze("2026-11-20T09:30:00.400Z")
        create_invitation(api, organization, SOPHIE_EMAIL)
        clock.freeze("2026-11-27T09:30:00.399Z")
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == "409 already_exists"
        clock.freeze("2026-11-27T09:30:00.400Z")
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert statuses(api, organization) == ["expired", "pending"]

    def test_the_address_of_a_member_is_rejected(self, api, organization, ada, mary):
        for address in (mary.email, mary.email.upper(), ada.email):
            answer = post_invitation(api, organization, address)
            assert (answer.status_and_code, answer.errors) == ("409 already_member", {"/email": "already_member"})
        assert statuses(api, organization) == []

    def test_the_address_of_a_member_who_has_just_accepted_is_rejected(self, api, organization, stranger):
        accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        assert post_invitation(api, organization, stranger).status_and_code == "409 already_member"

    def test_the_address_of_a_member_who_joined_without_an_invitation_is_rejected(self, api, organization, stranger):
        add_organization_member(organization, stranger, "member")
        assert post_invitation(api, organization, stranger).status_and_code == "409 already_member"

    def test_the_address_of_a_former_member_can_be_invited(self, api, organization, ada, mary):
        api.delete(f"{organization.path}/members/{mary.id}", caller=ada)
        assert (
            accept_invitation(api, create_invitation(api, organization, mary), mary)["membership"]["role"] == "member"
        )

    def test_one_of_several_concurrent_requests_succeeds(self, api, organization):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: post_invitation(api, organization, SOPHIE_EMAIL), range(5)))
        assert sorted(a.status for a in answers) == [201, 409, 409, 409, 409]
        assert {a.json["code"] for a in answers if a.status == 409} == {"already_exists"}
        assert statuses(api, organization) == ["pending"]


@pytest.fixture
def limit_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=3))


def invite_up_to_limit(api: ApiClient, organization: CreatedOrganization) -> None:
    for n in range(3):
        create_invitation(api, organization, f"{n}@example.org", expiresInDays=n + 1)
    assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == "409 limit_exceeded"


class TestLimit:
    def test_an_organization_has_at_most_100_pending_invitations(self, api, organization, ada):
        for n in range(100):
            create_invitation(api, organization, f"{n}@example.org")
        assert post_invitation(api, organization, SOPHIE_EMAIL).status_and_code == "409 limit_exceeded"
        assert statuses(api, organization) == ["pending"] * 100
        assert create_invitation(api, create_organization(api, ada), SOPHIE_EMAIL).record["status"] == "pending"

    @pytest.mark.usefixtures("limit_of_three")
    def test_revoking_an_invitation_twice_frees_one_place(self, api, organization, ada):
        invite_up_to_limit(api, organization)
        first, *_ = api.get_items(f"{organization.path}/invitations", caller=ada)
        for _ in range(2):
            assert api.delete(f"{organization.path}/invitations/{first['id']}", caller=ada).status == 204
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert post_invitation(api, organization, "x@example.org").status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_an_accepted_or_declined_invitation_frees_a_place(self, api, organization, stranger, operator):
        first, second = (create_invitation(api, organization, person) for person in (stranger, operator))
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert post_invitation(api, organization, "x@example.org").status_and_code == "409 limit_exceeded"
        accept_invitation(api, first, stranger)
        decline_invitation(api, second, operator)
        for address in ("x@example.org", "y@example.org"):
            create_invitation(api, organization, address)
        assert post_invitation(api, organization, "z@example.org").status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_expired_invitations_do_not_count(self, api, organization, clock, workers):
        invite_up_to_limit(api, organization)
        clock.shift(days=1, seconds=1)
        workers.run_until_idle()
        create_invitation(api, organization, SOPHIE_EMAIL)
        assert post_invitation(api, organization, "x@example.org").status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_resending_needs_no_free_place(self, api, organization, clock):
        for n in range(2):
            create_invitation(api, organization, f"{n}@example.org")
        last = create_invitation(api, organization, SOPHIE_EMAIL)
        clock.shift(minutes=2)
        assert resend_invitation(api, organization, last).id == last.id
        assert post_invitation(api, organization, "x@example.org").status_and_code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_the_limit_holds_for_concurrent_requests(self, api, organization):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: post_invitation(api, organization, f"{n}@example.org"), range(6)))
        assert sorted(a.status for a in answers) == [201, 201, 201, 409, 409, 409]
        assert statuses(api, organization) == ["pending"] * 3
