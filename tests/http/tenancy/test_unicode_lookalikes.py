"""Names with letters that Unicode maps to ASCII letters never identify another person."""

from dataclasses import replace
from typing import Final

import pytest

from tests.harness.callers import Issuer, Person
from tests.harness.invitations import accept_invitation, create_invitation, decide_on_invitation, post_invitation
from tests.harness.organizations import add_organization_member

LOOKALIKES: Final = ["\u212aevin", "kev\u0131n", "kev\u0130n", "\uff4bevin"]


@pytest.fixture(params=LOOKALIKES)
def lookalike(request: pytest.FixtureRequest, issuer: Issuer) -> Person:
    """A person whose verified email address looks like Kevin's."""
    return issuer.create_person(request.param, "Another", email=f"{request.param}@example.com")


@pytest.fixture
def kevin(issuer: Issuer) -> Person:
    """The owner of kevin@example.com."""
    return issuer.create_person("kevin", "Kevin", email="Kevin@Example.com")


def test_a_lookalike_cannot_accept_an_invitation(api, organization, lookalike, kevin):
    invited = create_invitation(api, organization, "KEVIN@example.com")
    assert invited.record["email"] == "kevin@example.com"
    assert decide_on_invitation(api, invited, lookalike).status_and_code == "403 email_mismatch"
    assert accept_invitation(api, invited, kevin)["status"] == "accepted"


def test_a_lookalike_cannot_join_a_platform_by_invitation(api, platform, lookalike, kevin):
    create_invitation(api, platform, "kevin@example.com")
    assert api.post(f"{platform.path}/join", caller=lookalike).status_and_code == "404 not_found"
    assert api.post(f"{platform.path}/join", caller=kevin).status == 200


@pytest.mark.parametrize("name", [*LOOKALIKES, "KÉVIN", "kevi\u0301n"])
def test_an_address_with_lookalike_letters_is_rejected_everywhere(api, organization, ada, name):
    email = f"{name}@example.com"
    assert post_invitation(api, organization, email).errors == {"/email": "malformed"}
    assert api.post(f"{organization.path}/erasures", caller=ada, json={"email": email}).errors == {
        "/email": "malformed"
    }
    response = api.patch(organization.path, caller=ada, json={"supportEmail": email})
    assert response.errors == {"/supportEmail": "malformed"}
    lead_response = api.post("/public/leads", json={"contactName": "Kevin", "contactEmail": email})
    assert lead_response.errors == {"/contactEmail": "malformed"}


def test_a_members_internationalized_domain_is_recognized_in_each_encoding(api, organization, issuer, ada, workers):
    grace = issuer.create_person("grace-hopper", "Grace", email="grace@Bücher.example")
    add_organization_member(
        organization, replace(grace, email="grace@bücher.example"), "member"
    )  # Older items are stored in this form.
    for email in ("grace@bücher.example", "Grace@XN--BCHER-KVA.example"):
        assert post_invitation(api, organization, email).status_and_code == "409 already_member"
    assert api.post(f"{organization.path}/erasures", caller=ada, json={"email": "grace@bücher.example"}).status == 202
    workers.run_until_idle()
    assert "cher" not in api.get(f"{organization.path}/members", caller=ada).text


def test_a_lookalike_username_is_not_found(api, platform, lookalike):
    path = f"{platform.path}/members/by-username/{lookalike.username}"
    assert api.get(path, caller=platform.owner).status_and_code == "404 not_found"
    country_path = "/reference/countries/\u212aE"
    assert api.get(country_path).status_and_code == "404 not_found"
