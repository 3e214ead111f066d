"""Names with letters that Unicode maps to ASCII letters never identify another person."""

from dataclasses import replace

import pytest

from tests.harness.invitations import accept_invitation, create_invitation, decide_on_invitation, post_invitation
from tests.harness.organizations import add_organization_member

LOOKALIKES = ["\u212aevin", "kev\u0131n", "kev\u0130n", "\uff4bevin"]
NOT_FOUND = "404 not_found"


@pytest.fixture
def lookalikes(issuer):
    """People whose verified e-mail addresses look like Kevin's."""
    return [issuer.create_person(name, "Another", email=f"{name}@example.com") for name in LOOKALIKES]


@pytest.fixture
def kevin(issuer):
    """The owner of kevin@example.com."""
    return issuer.create_person("kevin", "Kevin", email="Kevin@Example.com")


def test_a_lookalike_cannot_accept_an_invitation(api, organization, platform, lookalikes, kevin):
    invited = create_invitation(api, organization, "KEVIN@example.com")
    assert invited.record["email"] == "kevin@example.com"
    create_invitation(api, platform, "kevin@example.com")
    for person in lookalikes:
        assert decide_on_invitation(api, invited, person).status_and_code == "403 email_mismatch"
        assert api.post(f"{platform.path}/join", caller=person).status_and_code == NOT_FOUND
        path = f"{platform.path}/members/by-username/{person.username}"
        assert api.get(path, caller=platform.owner).status_and_code == NOT_FOUND
    assert accept_invitation(api, invited, kevin)["status"] == "accepted"
    assert api.post(f"{platform.path}/join", caller=kevin).status == 200
    assert api.get("/reference/countries/\u212aE").status_and_code == NOT_FOUND


@pytest.mark.parametrize("name", [*LOOKALIKES, "KÉVIN", "kevi\u0301n"])
def test_an_address_with_lookalike_letters_is_rejected_everywhere(api, organization, ada, name):
    email = f"{name}@example.com"
    assert post_invitation(api, organization, email).errors == {"/email": "malformed"}
    erasure = api.post(f"{organization.path}/erasures", caller=ada, json={"email": email})
    assert erasure.errors == {"/email": "malformed"}
    update = api.patch(organization.path, caller=ada, json={"supportEmail": email})
    assert update.errors == {"/supportEmail": "malformed"}
    lead = api.post("/public/leads", json={"contactName": "Kevin", "contactEmail": email})
    assert lead.errors == {"/contactEmail": "malformed"}


def test_a_members_internationalized_domain_is_recognized_in_each_encoding(api, organization, issuer, ada, workers):
    grace = issuer.create_person("grace-hopper", "Grace", email="grace@Bücher.example")
    # Older items are stored in this form.
    add_organization_member(organization, replace(grace, email="grace@bücher.example"), "member")
    for email in ("grace@bücher.example", "Grace@XN--BCHER-KVA.example"):
        assert post_invitation(api, organization, email).status_and_code == "409 already_member"
    assert api.post(f"{organization.path}/erasures", caller=ada, json={"email": "grace@bücher.example"}).status == 202
    workers.run_until_idle()
    assert "cher" not in api.get(f"{organization.path}/members", caller=ada).text
