"""What tests at the HTTP boundary share: of logs, of webhooks and channels, of what platforms have."""

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
    """A draft of Ada's organization."""
    return run_platform(api, organization)


@pytest.fixture
def looms(api: Api, platform: Running) -> Room:
    """An open space of it."""
    return make_space(api, platform)


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site of Ada's organization, published and empty."""
    return make_site(api, organization)


@pytest.fixture
def home(api: Api, site: Published) -> Leaf:
    """Its home, which is published."""
    return page_of(api, site, "Welcome")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the tests doesn't lag: a gap in it is a gap."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.0,))
    monkeypatch.setattr(log_verification, "_RECHECK_SECONDS", (0.0,))


@pytest.fixture
def ten(api: Api, ada: Person, workers: Workers) -> Founded:
    """An organization whose log holds ten entries, appended in several batches."""
    return scene("ten", lambda: _ten(api, ada, workers))


def _ten(api: Api, owner: Person, workers: Workers) -> Founded:
    organization = found(api, owner)
    for n in range(9):
        api.patch(organization.path, as_=owner, json={"name": f"Name {n}"})
        if n % 4 == 0:
            workers.deliver()
    workers.deliver()
    return organization


@pytest.fixture
def private_targets(configure: Configure) -> None:
    """Receivers on this machine are no secret."""
    configure(webhook_allow_private="1")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives no answer is given up soon."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)


@pytest.fixture
def made(api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
    """A webhook that wants to know of every change of its organization."""
    made = hook(api, organization, receiver, events=["organization.updated"])
    workers.deliver()
    return made


@pytest.fixture
def elsewhere(api: Api, organization: Founded) -> Running:
    """Another platform of Ada's organization."""
    return run_platform(api, organization, name="Looms")


@pytest.fixture
def claimed(api: Api, platform: Running) -> Json:
    """The custom domain of the platform as it was claimed."""
    return claim(api, platform)


@pytest.fixture
def verified(api: Api, platform: Running, claimed: Json, nameserver: Nameserver) -> Running:
    """The platform once its domain is verified."""
    holds(nameserver, claimed)
    assert verify(api, platform).json["status"] == "verified"
    return platform


@pytest.fixture
def emmy(issuer: Issuer, platform: Running) -> Person:
    """An admin of the platform, and of nothing else."""
    emmy = issuer.person("emmy", "Emmy Noether")
    takes_part(platform, emmy, "admin")
    return emmy


@pytest.fixture
def invited(api: Api, platform: Running, emmy: Person, stranger: Person) -> Invited:
    """Emmy's invitation of Sophie to become an editor of the platform."""
    return invite(api, platform, stranger, as_=emmy, role="editor")


@pytest.fixture
def world(configure: Configure) -> Iterator[World]:
    """ORCID, OpenAlex and DBLP, as the service reaches them."""
    with sources() as world:
        base = world.receiver.url.rstrip("/")
        configure(
            orcid_base_url=base,
            openalex_base_url=base,
            dblp_base_url=base,
            research_mailto="library@example.org",
            orcid_rate="1000",
            openalex_rate="1000",
            dblp_rate="1000",
        )
        yield world


@pytest.fixture
def library(api: Api, workers: Workers, ada: Person) -> Library:
    """Ada's own library."""
    return Library(api, workers, ada)
