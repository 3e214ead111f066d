import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.kernel.core.clock import after
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import ACCEPTANCE, SOPHIE, accepts, asked_to_invite, declines, invite, resend, token_of
from tests.harness.organizations import Founded, found, joins, make_key
from tests.harness.workers import Workers

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


def statuses(api: Api, organization: Founded) -> list[str]:
    return [i["status"] for i in api.items(f"{organization.path}/invitations", as_=organization.owner)]


class TestInviteToOrganization:
    def test_an_email_address_is_enough(self, api: Api, organization: Founded, ada: Person, clock: Clock) -> None:
        timestamp = clock.freeze()
        answer = api.post(f"{organization.path}/invite", as_=ada, json={"email": SOPHIE})
        assert answer.status == 201
        invitation = answer.json
        assert invitation == {
            "id": invitation["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "platformId": None,
            "email": SOPHIE,
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

    def test_the_location_header_leads_to_the_invitation(self, api: Api, organization: Founded, ada: Person) -> None:
        answer = asked_to_invite(api, organization, SOPHIE)
        assert answer.location == f"{organization.path}/invitations/{answer.json['id']}"
        assert api.get(answer.location, as_=ada).json == {**answer.json, "acceptUrl": None}

    def test_every_documented_field_is_accepted(self, api: Api, organization: Founded, clock: Clock) -> None:
        timestamp = clock.freeze()
        message = "Come and join us.\n\nThe Engines"
        invitation = invite(api, organization, SOPHIE, role="editor", message=message, expiresInDays=30).record
        assert (invitation["role"], invitation["message"], invitation["expiresInDays"]) == ("editor", message, 30)
        assert invitation["expiresAt"] == after(timestamp, days=30)

    def test_the_email_address_is_stored_in_lower_case(self, api: Api, organization: Founded) -> None:
        assert invite(api, organization, " Sophie.Germain@Example.ORG ").record["email"] == "sophie.germain@example.org"

    def test_the_link_points_to_the_service_and_is_not_cached(self, api: Api, organization: Founded) -> None:
        answer = asked_to_invite(api, organization, SOPHIE)
        link, token = answer.json["acceptUrl"], token_of(answer.json["acceptUrl"])
        assert link == f"http://127.0.0.1:8000{ACCEPTANCE}?token={token}"
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(ACCEPTANCE, query={"token": token}).status == 200

    def test_the_link_points_to_the_configured_page_of_the_product(
        self, api: Api, organization: Founded, configure: Configure
    ) -> None:
        for page, separator in (("https://app.example/join", "?"), ("https://app.example/?to=join", "&")):
            configure(invitation_url=page)
            invitation = invite(api, organization, f"{len(page)}@example.org")
            assert invitation.record["acceptUrl"] == f"{page}{separator}token={invitation.token}"
            assert api.get(ACCEPTANCE, query={"token": invitation.token}).status == 200

    def test_every_link_is_unique(self, api: Api, organization: Founded) -> None:
        tokens = {invite(api, organization, f"{n}@example.org").token for n in range(20)}
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
            ("email", [SOPHIE]),
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
    def test_an_invalid_field_is_rejected(self, api: Api, organization: Founded, field: str, value: object) -> None:
        body = {"email": SOPHIE, field: value}
        answer = api.post(f"{organization.path}/invite", as_=organization.owner, json=body)
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {f"/{field}"}
        assert statuses(api, organization) == []

    def test_null_selects_the_default(self, api: Api, organization: Founded) -> None:
        invitation = invite(api, organization, SOPHIE, role=None, message=None, expiresInDays=None).record
        assert (invitation["role"], invitation["message"], invitation["expiresInDays"]) == ("member", None, 7)

    def test_an_email_address_is_required(self, api: Api, organization: Founded, ada: Person) -> None:
        bodies: list[Json | None] = [{}, None, {"email": None}]
        for body in bodies:
            answer = api.post(f"{organization.path}/invite", as_=ada, json=body)
            assert answer.faults == {"/email": "required"}

    def test_the_minimum_and_the_maximum_are_accepted(self, api: Api, organization: Founded) -> None:
        for days in (1, 30):
            invitation = invite(api, organization, f"{days}@example.org", expiresInDays=days, message="x" * 4000)
            assert invitation.record["expiresInDays"] == days

    def test_a_retry_with_the_idempotency_key_returns_the_same_invitation_and_link(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        path, once = f"{organization.path}/invite", {"Idempotency-Key": "once"}
        first, repeated = (api.post(path, as_=ada, json={"email": SOPHIE}, headers=once) for _ in range(2))
        assert repeated.said == first.said
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert token_of(repeated.json["acceptUrl"]) not in json.dumps(cloud.stored(), default=repr)
        assert len(statuses(api, organization)) == 1


class TestInvitePermissions:
    def test_admins_and_the_owner_may_invite_and_lower_roles_may_not(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person
    ) -> None:
        assert invite(api, organization, SOPHIE, as_=grace).record["invitedBy"] == grace.id
        for person in (edith, mary):
            assert asked_to_invite(api, organization, "x@example.org", as_=person).code == "403 insufficient_role"

    def test_callers_without_access_to_the_organization_get_not_found(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        rival = make_key(api, found(api, stranger), "admin")
        for caller in (stranger, operator, rival):
            assert asked_to_invite(api, organization, SOPHIE, as_=caller).code == "404 not_found"
        assert api.post(f"{organization.path}/invite", json={"email": SOPHIE}).code == "401 unauthenticated"

    @pytest.mark.parametrize("role", ["member", "editor", "admin"])
    def test_members_grant_roles_up_to_their_own(
        self, api: Api, organization: Founded, ada: Person, grace: Person, role: str
    ) -> None:
        for n, person in enumerate((ada, grace)):
            assert invite(api, organization, f"{n}@example.org", as_=person, role=role).record["role"] == role

    def test_a_key_without_admin_grants_no_role_above_editor(self, api: Api, organization: Founded) -> None:
        limited_key, admin_key = make_key(api, organization, "members:write"), make_key(api, organization, "admin")
        response = asked_to_invite(api, organization, SOPHIE, as_=limited_key, role="admin")
        assert (response.code, response.faults) == ("403 insufficient_role", {"/role": "insufficient_role"})
        assert invite(api, organization, SOPHIE, as_=limited_key, role="editor").record["invitedBy"] == limited_key.id
        assert invite(api, organization, "x@example.org", as_=admin_key, role="admin").record["role"] == "admin"

    @pytest.mark.parametrize("scope", ["read", "write", "members:read", "api-keys:write"])
    def test_a_key_needs_the_scope_to_write_members(self, api: Api, organization: Founded, scope: str) -> None:
        key = make_key(api, organization, scope)
        assert asked_to_invite(api, organization, SOPHIE, as_=key).code == "403 insufficient_scope"


class TestOneInvitationPerAddress:
    def test_an_address_has_one_pending_invitation_in_any_spelling(self, api: Api, organization: Founded) -> None:
        invite(api, organization, SOPHIE)
        for spelling in (SOPHIE, SOPHIE.upper(), "Sophie@Example.Org"):
            answer = asked_to_invite(api, organization, spelling, role="admin")
            assert (answer.code, answer.faults) == ("409 already_exists", {"/email": "already_exists"})
            assert answer.json["detail"].startswith(f"Another invitation has the email '{SOPHIE}'.")
        assert statuses(api, organization) == ["pending"]

    def test_another_organization_may_invite_the_same_address(
        self, api: Api, organization: Founded, grace: Person
    ) -> None:
        invite(api, organization, SOPHIE)
        assert invite(api, found(api, grace), SOPHIE).record["status"] == "pending"

    def test_a_revoked_or_declined_invitation_frees_the_address(
        self, api: Api, organization: Founded, ada: Person, stranger: Person
    ) -> None:
        api.delete(invite(api, organization, stranger).path, as_=ada)
        declines(api, invite(api, organization, stranger), stranger)
        invite(api, organization, stranger)
        assert statuses(api, organization) == ["revoked", "declined", "pending"]

    def test_an_expired_invitation_frees_the_address_before_the_sweep(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invite(api, organization, SOPHIE)
        clock.shift(days=7, seconds=1)
        replacement = invite(api, organization, SOPHIE)
        assert statuses(api, organization) == ["expired", "pending"]
        workers.settle()
        assert statuses(api, organization) == ["expired", "pending"]
        assert asked_to_invite(api, organization, SOPHIE).code == "409 already_exists"
        assert api.delete(replacement.path, as_=organization.owner).status == 204

    def test_an_invitation_frees_the_address_at_the_instant_it_expires(
        self, api: Api, organization: Founded, clock: Clock
    ) -> None:
        clock.freeze("2026-11-20T09:30:00.400Z")
        invite(api, organization, SOPHIE)
        clock.freeze("2026-11-27T09:30:00.399Z")
        assert asked_to_invite(api, organization, SOPHIE).code == "409 already_exists"
        clock.freeze("2026-11-27T09:30:00.400Z")
        invite(api, organization, SOPHIE)
        assert statuses(api, organization) == ["expired", "pending"]

    def test_the_address_of_a_member_is_rejected(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        for address in (mary.email, mary.email.upper(), ada.email):
            answer = asked_to_invite(api, organization, address)
            assert (answer.code, answer.faults) == ("409 already_member", {"/email": "already_member"})
        assert statuses(api, organization) == []

    def test_the_address_of_a_member_who_has_just_accepted_is_rejected(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        accepts(api, invite(api, organization, stranger), stranger)
        assert asked_to_invite(api, organization, stranger).code == "409 already_member"

    def test_the_address_of_a_member_who_joined_without_an_invitation_is_rejected(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        assert asked_to_invite(api, organization, stranger).code == "409 already_member"

    def test_the_address_of_a_former_member_can_be_invited(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        api.delete(f"{organization.path}/members/{mary.id}", as_=ada)
        assert accepts(api, invite(api, organization, mary), mary)["membership"]["role"] == "member"

    def test_one_of_several_concurrent_requests_succeeds(self, api: Api, organization: Founded) -> None:
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: asked_to_invite(api, organization, SOPHIE), range(5)))
        assert sorted(a.status for a in answers) == [201, 409, 409, 409, 409]
        assert {a.json["code"] for a in answers if a.status == 409} == {"already_exists"}
        assert statuses(api, organization) == ["pending"]


@pytest.fixture
def limit_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Invitation, "quota", replace(Invitation.quota, limit=3))


def invite_up_to_limit(api: Api, organization: Founded) -> None:
    for n in range(3):
        invite(api, organization, f"{n}@example.org", expiresInDays=n + 1)
    assert asked_to_invite(api, organization, SOPHIE).code == "409 limit_exceeded"


class TestLimit:
    def test_an_organization_has_at_most_100_pending_invitations(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        for n in range(100):
            invite(api, organization, f"{n}@example.org")
        assert asked_to_invite(api, organization, SOPHIE).code == "409 limit_exceeded"
        assert statuses(api, organization) == ["pending"] * 100
        assert invite(api, found(api, ada), SOPHIE).record["status"] == "pending"

    @pytest.mark.usefixtures("limit_of_three")
    def test_revoking_an_invitation_twice_frees_one_place(self, api: Api, organization: Founded, ada: Person) -> None:
        invite_up_to_limit(api, organization)
        first, *_ = api.items(f"{organization.path}/invitations", as_=ada)
        for _ in range(2):
            assert api.delete(f"{organization.path}/invitations/{first['id']}", as_=ada).status == 204
        invite(api, organization, SOPHIE)
        assert asked_to_invite(api, organization, "x@example.org").code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_an_accepted_or_declined_invitation_frees_a_place(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        first, second = (invite(api, organization, person) for person in (stranger, operator))
        invite(api, organization, SOPHIE)
        assert asked_to_invite(api, organization, "x@example.org").code == "409 limit_exceeded"
        accepts(api, first, stranger)
        declines(api, second, operator)
        for address in ("x@example.org", "y@example.org"):
            invite(api, organization, address)
        assert asked_to_invite(api, organization, "z@example.org").code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_expired_invitations_do_not_count(
        self, api: Api, organization: Founded, clock: Clock, workers: Workers
    ) -> None:
        invite_up_to_limit(api, organization)
        clock.shift(days=1, seconds=1)
        workers.settle()
        invite(api, organization, SOPHIE)
        assert asked_to_invite(api, organization, "x@example.org").code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_resending_needs_no_free_place(self, api: Api, organization: Founded, clock: Clock) -> None:
        for n in range(2):
            invite(api, organization, f"{n}@example.org")
        last = invite(api, organization, SOPHIE)
        clock.shift(minutes=2)
        assert resend(api, organization, last).id == last.id
        assert asked_to_invite(api, organization, "x@example.org").code == "409 limit_exceeded"

    @pytest.mark.usefixtures("limit_of_three")
    def test_the_limit_holds_for_concurrent_requests(self, api: Api, organization: Founded) -> None:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: asked_to_invite(api, organization, f"{n}@example.org"), range(6)))
        assert sorted(a.status for a in answers) == [201, 201, 201, 409, 409, 409]
        assert statuses(api, organization) == ["pending"] * 3
