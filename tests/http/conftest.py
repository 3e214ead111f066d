"""Fixtures of the tests at the HTTP boundary."""

from collections.abc import Iterator

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.outbound import webhook_client
from tests.conftest import Configure
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.domains import claim, holds, verify
from tests.harness.invitations import Invited, invite
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Room, Running, make_space, run_platform, takes_part
from tests.harness.receiver import Receiver
from tests.harness.scenes import scene
from tests.harness.sites import Leaf, Published, make_site, page_of
from tests.harness.sources import Library, World, sources
from tests.harness.webhooks import Hook, hook
from tests.harness.workers import Workers


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A draft platform of Ada's organization."""
    return run_platform(api, organization)


@pytest.fixture
def looms(api: Api, platform: Running) -> Room:
    """An open space of the platform."""
    return make_space(api, platform)


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site of Ada's organization, published and empty."""
    return make_site(api, organization)


@pytest.fixture
def home(api: Api, site: Published) -> Leaf:
    """The published home page of the site."""
    return page_of(api, site, "Welcome")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the retries for lagging indexes, because indexes in memory do not lag."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.0,))
    monkeypatch.setattr(log_verification, "_RECHECK_SECONDS", (0.0,))


@pytest.fixture
def ten(api: Api, ada: Person, workers: Workers) -> Founded:
    """An organization whose log holds ten entries, appended in several batches."""
    return scene("ten", lambda: _create_organization_with_ten_entries(api, ada, workers))


def _create_organization_with_ten_entries(api: Api, owner: Person, workers: Workers) -> Founded:
    organization = found(api, owner)
    for n in range(9):
        api.patch(organization.path, as_=owner, json={"name": f"Name {n}"})
        if n % 4 == 0:
            workers.deliver()
    workers.deliver()
    return organization


@pytest.fixture
def private_targets(configure: Configure) -> None:
    """Allow webhooks to private IP addresses."""
    configure(webhook_allow_private="1")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the timeout of webhooks."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)


@pytest.fixture
def made(api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
    """A webhook that subscribes to changes of its organization."""
    webhook = hook(api, organization, receiver, events=["organization.updated"])
    workers.deliver()
    return webhook


@pytest.fixture
def elsewhere(api: Api, organization: Founded) -> Running:
    """Another platform of Ada's organization."""
    return run_platform(api, organization, name="Looms")


@pytest.fixture
def claimed(api: Api, platform: Running) -> Json:
    """The response to the claim of a custom domain for the platform."""
    return claim(api, platform)


@pytest.fixture
def verified(api: Api, platform: Running, claimed: Json, nameserver: Nameserver) -> Running:
    """The platform with a verified custom domain."""
    holds(nameserver, claimed)
    assert verify(api, platform).json["status"] == "verified"
    return platform


@pytest.fixture
def emmy(issuer: Issuer, platform: Running) -> Person:
    """An admin of the platform, who is not a member of the organization."""
    emmy = issuer.person("emmy", "Emmy Noether")
    takes_part(platform, emmy, "admin")
    return emmy


@pytest.fixture
def invited(api: Api, platform: Running, emmy: Person, stranger: Person) -> Invited:
    """An invitation from Emmy to Sophie, with the role of an editor of the platform."""
    return invite(api, platform, stranger, as_=emmy, role="editor")


@pytest.fixture
def world(configure: Configure) -> Iterator[World]:
    """Stand-ins for ORCID, OpenAlex and DBLP, which the service is configured to use."""
    with sources() as fake_sources:
        base_url = fake_sources.receiver.url.rstrip("/")
        configure(
            orcid_base_url=base_url,
            openalex_base_url=base_url,
            dblp_base_url=base_url,
            research_mailto="library@example.org",
            orcid_rate="1000",
            openalex_rate="1000",
            dblp_rate="1000",
        )
        yield fake_sources


@pytest.fixture
def library(api: Api, workers: Workers, ada: Person) -> Library:
    """A client of the research operations, for Ada's own library."""
    return Library(api, workers, ada)
