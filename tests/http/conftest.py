"""Fixtures of the tests at the HTTP boundary."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.outbound import webhook_client
from tests.conftest import SettingsOverride
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.application_events import commit_application_event
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Issuer, Person
from tests.harness.channels import CreatedChannel, create_channel
from tests.harness.clock import Clock
from tests.harness.domains import claim_domain, publish_dns_records, verify_domain
from tests.harness.index_lag import LAGS, IndexLag, lag_indexes
from tests.harness.invitations import CreatedInvitation, create_invitation, run_before_next_transaction
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.platforms import CreatedPlatform, CreatedSpace, add_platform_member, create_platform, create_space
from tests.harness.receiver import Receiver
from tests.harness.research_sources import FakeSources, ResearchClient, serve_fake_sources
from tests.harness.sites import CreatedPage, CreatedSite, create_published_page, create_site
from tests.harness.webhooks import CreatedWebhook, create_webhook
from tests.harness.workers import AwaitCleanup, Workers


@pytest.fixture
def report(organization: CreatedOrganization) -> Callable[..., str]:
    """A function that commits an application event to the log of Ada's organization, and returns the entry's id."""
    return partial(commit_application_event, organization.id)


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A draft platform of Ada's organization."""
    return create_platform(api, organization)


@pytest.fixture
def space(api: ApiClient, platform: CreatedPlatform) -> CreatedSpace:
    """An open space of the platform."""
    return create_space(api, platform)


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
    """A site of Ada's organization, published and empty."""
    return create_site(api, organization)


@pytest.fixture
def home_page(api: ApiClient, site: CreatedSite) -> CreatedPage:
    """The published home page of the site."""
    return create_published_page(api, site, "Welcome")


@pytest.fixture
def no_index_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the retries for lagging indexes, because indexes in memory do not lag."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.0,))
    monkeypatch.setattr(log_verification, "_RECHECK_SECONDS", (0.0,))


@pytest.fixture
def organization_with_ten_entries(api: ApiClient, ada: Person, workers: Workers) -> CreatedOrganization:
    """An organization whose log holds ten entries, appended in several batches."""
    return cached_scenario("ten", lambda: _create_organization_with_ten_entries(api, ada, workers))


def _create_organization_with_ten_entries(api: ApiClient, owner: Person, workers: Workers) -> CreatedOrganization:
    organization = create_organization(api, owner)
    for n in range(9):
        api.patch(organization.path, caller=owner, json={"name": f"Name {n}"})
        if n % 4 == 0:
            workers.deliver()
    workers.deliver()
    return organization


@pytest.fixture
def short_webhook_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the timeout of webhooks."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)


@pytest.fixture
def webhook(api: ApiClient, organization: CreatedOrganization, workers: Workers, receiver: Receiver) -> CreatedWebhook:
    """A webhook that subscribes to changes of its organization."""
    webhook = create_webhook(api, organization, receiver, events=["organization.updated"])
    workers.deliver()
    return webhook


@pytest.fixture
def channel(api: ApiClient, organization: CreatedOrganization, receiver: Receiver) -> CreatedChannel:
    """A Slack channel that receives every update of the organization."""
    return create_channel(api, organization, receiver, events=["organization.updated"])


@pytest.fixture(params=LAGS)
def lag(request: pytest.FixtureRequest, organization: CreatedOrganization) -> Iterator[IndexLag]:
    """Indexes that lag behind every change after the organization's creation."""
    assert organization.id
    with lag_indexes(request.param) as lag:
        yield lag


@pytest.fixture
def run_before_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], ApiResponse]], None]:
    """A function that lets a request, which must succeed, run before the next write."""

    def send_successfully(send: Callable[[], ApiResponse]) -> None:
        response = send()
        assert response.status < 300, response.text

    return lambda send: run_before_next_transaction(monkeypatch, lambda: send_successfully(send))


@pytest.fixture
def run_tasks_after(workers: Workers, clock: Clock) -> Callable[..., None]:
    """A function that shifts the clock, and then runs the workers until they are idle."""

    def run_tasks_after(**amounts: float) -> None:
        clock.shift(**amounts)
        workers.run_until_idle()

    return run_tasks_after


@pytest.fixture
def await_cleanup(run_tasks_after: Callable[..., None]) -> AwaitCleanup:
    """A function that runs the workers until the memberships below a departed member's have been removed."""

    def await_cleanup() -> None:
        for _ in range(2):
            run_tasks_after(minutes=1, seconds=10)

    return await_cleanup


@pytest.fixture
def other_platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """Another platform of Ada's organization."""
    return create_platform(api, organization, name="Looms")


@pytest.fixture
def claimed_domain(api: ApiClient, platform: CreatedPlatform) -> Json:
    """The response to the claim of a custom domain for the platform."""
    return claim_domain(api, platform)


@pytest.fixture
def verified_platform(
    api: ApiClient, platform: CreatedPlatform, claimed_domain: Json, nameserver: Nameserver
) -> CreatedPlatform:
    """The platform with a verified custom domain."""
    publish_dns_records(nameserver, claimed_domain)
    assert verify_domain(api, platform).json["status"] == "verified"
    return platform


@pytest.fixture
def emmy(issuer: Issuer, platform: CreatedPlatform) -> Person:
    """An admin of the platform, who is not a member of the organization."""
    emmy = issuer.create_person("emmy", "Emmy Noether")
    add_platform_member(platform, emmy, "admin")
    return emmy


@pytest.fixture
def invitation(api: ApiClient, platform: CreatedPlatform, emmy: Person, stranger: Person) -> CreatedInvitation:
    """An invitation from Emmy to Sophie, with the role of an editor of the platform."""
    return create_invitation(api, platform, stranger, caller=emmy, role="editor")


@pytest.fixture
def research_sources(configure: SettingsOverride) -> Iterator[FakeSources]:
    """Stand-ins for ORCID, OpenAlex and DBLP, which the service is configured to use."""
    with serve_fake_sources() as fake_sources:
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
def research_client(api: ApiClient, workers: Workers, ada: Person) -> ResearchClient:
    """A client of the research operations, for Ada's own library."""
    return ResearchClient(api, workers, ada)
