import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    CreatedInvitation,
    accept_invitation,
    create_invitation,
    get_invitation_status,
    open_invitation,
)
from tests.harness.organizations import (
    CreatedOrganization,
    create_api_key,
    create_organization,
    roles_by_username,
)

OTHER_USER_ID = "01939d3c-0000-4000-8000-00000000000a"
MISMATCH, USED = "403 email_mismatch", "410 invitation_used"


class TestWhoCanRespond:
    @pytest.mark.parametrize("email", ["stranger@example.com", "Stranger@Example.COM", "STRANGER@EXAMPLE.COM"])
    def test_the_email_address_is_compared_case_insensitively(self, api, organization, issuer, email):
        invitation = create_invitation(api, organization, "StrangeR@example.com")
        assert (
            accept_invitation(api, invitation, issuer.create_person("stranger", "Sophie", email=email))["status"]
            == "accepted"
        )

    @pytest.mark.parametrize(
        "claims",
        [
            {"email_verified": False},
            {"email_verified": None},
            {"email_verified": "false"},
            {"email_verified": 1},
            {"email": None},
            {"email": ""},
            {"email": ["stranger@example.com"]},
            {"email": "x@example.com", "email_verified": False},
        ],
    )
    def test_a_missing_or_unverified_email_address_is_rejected(self, api, organization, invitation, issuer, claims):
        person = issuer.create_person("stranger", "Sophie", **claims)
        self.assert_rejected(api, organization, invitation, person, "has no verified e-mail address")

    @pytest.mark.parametrize(
        "email",
        ["stranger@example.com.example", "stranger@example.co", " stranger@example.com", "stranger+x@example.com"],
    )
    def test_a_different_email_address_is_rejected(self, api, organization, invitation, issuer, email):
        person = issuer.create_person("stranger", "Sophie", email=email)
        self.assert_rejected(api, organization, invitation, person, "sent to another address")

    def assert_rejected(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        invitation: CreatedInvitation,
        person: Person,
        reason: str,
    ) -> None:
        for decision in ("accept", "decline"):
            body = {"token": invitation.token, "decision": decision}
            for response in (
                open_invitation(api, invitation, person, decision=decision),
                api.post(ACCEPTANCE_PATH, caller=person, json=body),
            ):
                assert response.status_and_code == MISMATCH
                assert reason in response.json["detail"]
        assert get_invitation_status(api, organization, invitation) == "pending"
        assert "stranger" not in roles_by_username(api, organization)

    def test_members_and_the_owner_cannot_respond_for_the_invited_user(
        self, api, organization, invitation, ada, grace, operator
    ):
        for person in (ada, grace, operator):
            for decision in ("accept", "decline"):
                assert open_invitation(api, invitation, person, decision=decision).status_and_code == MISMATCH
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_another_user_with_the_same_address_cannot_respond_after_the_acceptance(
        self, api, organization, invitation, issuer, stranger
    ):
        second_user = issuer.create_person("stranger", "Sophie", sub=OTHER_USER_ID)
        accept_invitation(api, invitation, stranger)
        for decision in ("accept", "decline"):
            assert open_invitation(api, invitation, second_user, decision=decision).status_and_code == USED
        assert (
            api.get(f"{organization.path}/members/{OTHER_USER_ID}", caller=stranger).status_and_code == "404 not_found"
        )

    def test_api_keys_cannot_respond(self, api, organization, invitation, stranger):
        for key in (
            create_api_key(api, organization, "admin"),
            create_api_key(api, create_organization(api, stranger), "admin"),
        ):
            assert open_invitation(api, invitation, key).status_and_code == "403 forbidden"
            assert open_invitation(api, "x", key).status_and_code == "403 forbidden"
            assert api.get(ACCEPTANCE_PATH, caller=key).status_and_code == "403 forbidden"
            response = api.post(ACCEPTANCE_PATH, caller=key, json={"token": invitation.token})
            assert response.status_and_code == "403 forbidden"

    def test_an_invalid_credential_is_unauthenticated(self, api, invitation, stranger):
        for broken in ("x", stranger.credential[:-4], f"atr_{'0' * 38}"):
            assert open_invitation(api, invitation, broken).status_and_code == "401 unauthenticated"
