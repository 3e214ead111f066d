"""Letters that Unicode takes for ASCII ones: whoever is called by them is not who is called by these."""

from dataclasses import replace
from typing import Final

import pytest

from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.invitations import accepts, asked_to_invite, decides, invite
from tests.harness.organizations import Founded, joins
from tests.harness.platforms import Running
from tests.harness.workers import Workers

ALIKE: Final = ["\u212aevin", "kev\u0131n", "kev\u0130n", "\uff4bevin"]


@pytest.fixture(params=ALIKE)
def alike(request: pytest.FixtureRequest, issuer: Issuer) -> Person:
    """Somebody whose verified address looks like Kevin's."""
    return issuer.person(request.param, "Another", email=f"{request.param}@example.com")


@pytest.fixture
def kevin(issuer: Issuer) -> Person:
    """Kevin."""
    return issuer.person("kevin", "Kevin", email="Kevin@Example.com")


def test_nobody_accepts_the_invitation_of_another(
    api: Api, organization: Founded, alike: Person, kevin: Person
) -> None:
    invited = invite(api, organization, "KEVIN@example.com")
    assert invited.record["email"] == "kevin@example.com"
    assert decides(api, invited, alike).code == "403 email_mismatch"
    assert accepts(api, invited, kevin)["status"] == "accepted"


def test_nor_joins_a_platform_by_it(api: Api, platform: Running, alike: Person, kevin: Person) -> None:
    invite(api, platform, "kevin@example.com")
    assert api.post(f"{platform.path}/join", as_=alike).code == "404 not_found"
    assert api.post(f"{platform.path}/join", as_=kevin).status == 200


@pytest.mark.parametrize("name", [*ALIKE, "KÉVIN", "kevi\u0301n"])
def test_an_address_with_such_letters_is_refused_wherever_one_is_given(
    api: Api, organization: Founded, ada: Person, name: str
) -> None:
    email = f"{name}@example.com"
    assert asked_to_invite(api, organization, email).faults == {"/email": "malformed"}
    assert api.post(f"{organization.path}/erasures", as_=ada, json={"email": email}).faults == {"/email": "malformed"}
    support = api.patch(organization.path, as_=ada, json={"supportEmail": email})
    assert support.faults == {"/supportEmail": "malformed"}
    lead = api.post("/public/leads", json={"contactName": "Kevin", "contactEmail": email})
    assert lead.faults == {"/contactEmail": "malformed"}


def test_a_member_with_a_domain_of_other_letters_is_one_already(
    api: Api, organization: Founded, issuer: Issuer, ada: Person, workers: Workers
) -> None:
    grace = issuer.person("grace-hopper", "Grace", email="grace@Bücher.example")
    joins(organization, replace(grace, email="grace@bücher.example"), "member")  # as it was stored once
    for email in ("grace@bücher.example", "Grace@XN--BCHER-KVA.example"):
        assert asked_to_invite(api, organization, email).code == "409 already_member"
    assert api.post(f"{organization.path}/erasures", as_=ada, json={"email": "grace@bücher.example"}).status == 202
    workers.settle()
    assert "cher" not in api.get(f"{organization.path}/members", as_=ada).text


def test_a_username_is_nobody_elses(api: Api, platform: Running, alike: Person) -> None:
    path = f"{platform.path}/members/by-username/{alike.username}"
    assert api.get(path, as_=platform.owner).code == "404 not_found"
    record = "/reference/countries/\u212aE"
    assert api.get(record).code == "404 not_found"
