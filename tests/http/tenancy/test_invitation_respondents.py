import pytest

from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    accept_invitation,
    create_invitation,
    get_invitation_status,
    open_invitation,
)
from tests.harness.organizations import create_api_key, create_organization, roles_by_username

OTHER_USER_ID = "01939d3c-0000-4000-8000-00000000000a"
MISMATCH, USED, FORBIDDEN = "403 email_mismatch", "410 invitation_used", "403 forbidden"
EMAIL, UNVERIFIED, OTHER = "stranger@example.com", "has no verified e-mail address", "sent to another address"


@pytest.fixture
def respond(api, invitation):
    """A function that accepts and declines the invitation, by its link and by POST, and returns the responses."""
    return lambda person: [
        answer
        for decision in ("accept", "decline")
        for answer in (
            open_invitation(api, invitation, person, decision=decision),
            api.post(ACCEPTANCE_PATH, caller=person, json={"token": invitation.token, "decision": decision}),
        )
    ]


def test_the_email_address_is_compared_case_insensitively(api, organization, issuer):
    for email in ("stranger@example.com", "Stranger@Example.COM", "STRANGER@EXAMPLE.COM"):
        organization = create_organization(api, organization.owner)
        invitation = create_invitation(api, organization, "StrangeR@example.com")
        person = issuer.create_person("stranger", "Sophie", email=email)
        assert accept_invitation(api, invitation, person)["status"] == "accepted"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"email_verified": False}, UNVERIFIED),
        ({"email_verified": None}, UNVERIFIED),
        ({"email_verified": "false"}, UNVERIFIED),
        ({"email_verified": 1}, UNVERIFIED),
        ({"email": None}, UNVERIFIED),
        ({"email": ""}, UNVERIFIED),
        ({"email": [EMAIL]}, UNVERIFIED),
        ({"email": "x@example.com", "email_verified": False}, UNVERIFIED),
        ({"email": f"{EMAIL}.example"}, OTHER),
        ({"email": EMAIL[:-1]}, OTHER),
        ({"email": f" {EMAIL}"}, OTHER),
        ({"email": "stranger+x@example.com"}, OTHER),
    ],
)
def test_another_email_address_is_rejected(api, organization, invitation, issuer, respond, claims, reason):
    for answer in respond(issuer.create_person("stranger", "Sophie", **claims)):
        assert answer.status_and_code == MISMATCH
        assert reason in answer.json["detail"]
    assert get_invitation_status(api, organization, invitation) == "pending"
    assert "stranger" not in roles_by_username(api, organization)


def test_nobody_responds_for_the_invited_user(api, organization, invitation, ada, grace, operator, respond):
    for person in (ada, grace, operator):
        assert {answer.status_and_code for answer in respond(person)} == {MISMATCH}
    assert get_invitation_status(api, organization, invitation) == "pending"


def test_another_user_with_the_address_cannot_respond(api, organization, invitation, issuer, stranger, respond):
    second_user = issuer.create_person("stranger", "Sophie", sub=OTHER_USER_ID)
    accept_invitation(api, invitation, stranger)
    assert {answer.status_and_code for answer in respond(second_user)} == {USED}
    path = f"{organization.path}/members/{OTHER_USER_ID}"
    assert api.get(path, caller=stranger).status_and_code == "404 not_found"


def test_api_keys_cannot_respond(api, organization, invitation, stranger, respond):
    for container in (organization, create_organization(api, stranger)):
        key = create_api_key(api, container, "admin")
        answers = [open_invitation(api, token, key) for token in (invitation, "x")]
        answers += [api.get(ACCEPTANCE_PATH, caller=key), *respond(key)]
        assert {answer.status_and_code for answer in answers} == {FORBIDDEN}
