"""Names with letters that Unicode maps to ASCII letters never identify another person."""

from dataclasses import replace
from typing import Final

import pytest

from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.invitations import accepts, asked_to_invite, decides, invite
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Running
from tests.harness.workers import Workers

LOOKALIKES: Final = ["\u212aevin", "kev\u0131n", "kev\u0130n", "\uff4bevin"]


@pytest.fixture(params=LOOKALIKES)
def lookalike(request: pytest.FixtureRequest, issuer: Issuer) -> Person:
    """A person whose verified email address looks like Kevin's."""
    return issuer.person(request.param, "Another", email=f"{request.param}@example.com")


@pytest.fixture
def kevin(issuer: Issuer) -> Person:
    """The owner of kevin@example.com."""
    return issuer.person("kevin", "Kevin", email="Kevin@Example.com")


def test_a_lookalike_cannot_accept_an_invitation(
    api: Api, organization: Founded, lookalike: Person, kevin: Person
) -> None:
    invited = invite(api, organization, "KEVIN@example.com")
    assert invited.record["email"] == "kevin@example.com"
    assert decides(api, invited, lookalike).code == "403 email_mismatch"
    assert accepts(api, invited, kevin)["status"] == "accepted"


def test_a_lookalike_cannot_join_a_platform_by_invitation(
    api: Api, platform: Running, lookalike: Person, kevin: Person
) -> None:
    invite(api, platform, "kevin@example.com")
    assert api.post(f"{platform.path}/join", as_=lookalike).code == "404 not_found"
    assert api.post(f"{platform.path}/join", as_=kevin).status == 200


@pytest.mark.parametrize("name", [*LOOKALIKES, "KÉVIN", "kevi\u0301n"])
def test_an_address_with_lookalike_letters_is_rejected_everywhere(
    api: Api, organization: Founded, ada: Person, name: str
) -> None:
    email = f"{name}@example.com"
    assert asked_to_invite(api, organization, email).faults == {"/email": "malformed"}
    assert api.post(f"{organization.path}/erasures", as_=ada, json={"email": email}).faults == {"/email": "malformed"}
    response = api.patch(organization.path, as_=ada, json={"supportEmail": email})
    assert response.faults == {"/supportEmail": "malformed"}
    lead_response = api.post("/public/leads", json={"contactName": "Kevin", "contactEmail": email})
    assert lead_response.faults == {"/contactEmail": "malformed"}


def test_a_members_internationalized_domain_is_recognized_in_each_encoding(
    api: Api, organization: Founded, issuer: Issuer, ada: Person, workers: Workers
) -> None:
    grace = issuer.person("grace-hopper", "Grace", email="grace@Bücher.example")
    joins(organization, replace(grace, email="grace@bücher.example"), "member")  # Older items are stored in this form.
    for email in ("grace@bücher.example", "Grace@XN--BCHER-KVA.example"):
        assert asked_to_invite(api, organization, email).code == "409 already_member"
    assert api.post(f"{organization.path}/erasures", as_=ada, json={"email": "grace@bücher.example"}).status == 202
    workers.settle()
    assert "cher" not in api.get(f"{organization.path}/members", as_=ada).text


def test_a_lookalike_username_is_not_found(api: Api, platform: Running, lookalike: Person) -> None:
    path = f"{platform.path}/members/by-username/{lookalike.username}"
    assert api.get(path, as_=platform.owner).code == "404 not_found"
    country_path = "/reference/countries/\u212aE"
    assert api.get(country_path).code == "404 not_found"
