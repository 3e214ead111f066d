"""Fixtures of all suites: AWS in memory, the service at its HTTP boundary, its workers, people and a clock."""

import base64
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hypothesis
import pytest

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution import attempts
from chalicelib.kernel.identity import userinfo
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.outbound.egress import reset_pool
from chalicelib.kernel.permissions import access_epochs
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.aws_calls import allow_scans
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.conflicts import Conflicts, conflicting_transactions
from tests.harness.data_keys import public_keys_of
from tests.harness.mailbox import SENDER, Mailbox
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.receiver import Receiver
from tests.harness.run_times import report_times
from tests.harness.workers import Workers

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Durations depend on the machine. Budgets of AWS calls are tested instead. Examples are the same in each run, so that
# a failure is due to the change. `make explore` tries random ones.
hypothesis.settings.register_profile("atrium", deadline=None, derandomize="EXPLORE_MINUTES" not in os.environ)
hypothesis.settings.load_profile("atrium")

# Cached scenarios and snapshots stay in memory. With the default thresholds, the garbage collector would take a sixth
# of the time to traverse them.
gc.set_threshold(200_000, 20, 50)

_KEY: Final = base64.b64encode(bytes(range(32))).decode()

# The service reads its settings when it first needs one, which is after this.
os.environ.update(
    STAGE="local",
    SETTINGS_FILE="",
    AUDIT_SIGNING_KEY=_KEY,
    AUDIT_PUBLIC_KEYS=public_keys_of(_KEY),
    SEAL_KEY=_KEY,
    ENTRY_KEY=_KEY,
    DATA_KEY=_KEY,
    TOKEN_KEY=_KEY,
    LOG_LEVEL="INFO",
    PLATFORMS_DOMAIN="atrium.example",
    ORCID_RATE="1000",
    OPENALEX_RATE="1000",
    DBLP_RATE="1000",
    REQUESTS_PER_MINUTE="0",
    NETWORK_REQUESTS_PER_MINUTE="0",
    AWS_REGION="us-east-1",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_ACCESS_KEY_ID="tests",
    AWS_SECRET_ACCESS_KEY="tests",
)

_VARIABLES_OF_LIBRARIES: Final = {"PYTEST_CURRENT_TEST", "AWS_EXECUTION_ENV"}
"""Variables that pytest and Chalice's application set in any test."""

_REPETITIVE_SUITES: Final = ("catalogue", "console", "faults", "model", "property", "security", "stored_forms")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that makes transactions take time: `pytest --conflicts tests/http/test_x.py`."""
    parser.addoption("--conflicts", action="store_true", help="make transactions hold their items for 20 ms")


def pytest_configure(config: pytest.Config) -> None:
    """Leave the measurement of coverage in the processes of xdist to the instance that pytest-cov starts later.

    Before, coverage.py and pytest-cov have each started one as in any other process. These would go on whenever
    pytest-cov pauses its own, and suites without coverage would take half as long again.
    """
    if hasattr(config, "workerinput") and config.pluginmanager.hasplugin("_cov"):
        from coverage import Coverage  # Its import takes a tenth of a second.

        while (measurement := Coverage.current()) is not None:
            measurement.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Exclude suites that run the same lines repeatedly from coverage, which would double their duration."""
    for item in items:
        if config.getoption("--conflicts"):
            item.add_marker(pytest.mark.usefixtures("conflicts"))
        if item.path.relative_to(Path(__file__).parent).parts[0] in _REPETITIVE_SUITES:
            item.add_marker("no_cover")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the time went."""
    report_times(terminalreporter)


@pytest.fixture(autouse=True)
def _unchanged_environment() -> Iterator[None]:
    """Restore the environment after a test that leaves it changed, and fail that test instead of later ones."""
    before = dict(os.environ)
    yield
    changes = {name for name, _ in before.items() ^ os.environ.items()} - _VARIABLES_OF_LIBRARIES
    for name in changes:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    assert not changes, "This test changes environment variables and does not restore them."


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    """The issuer of all tokens."""
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    os.environ.update(issuer.settings())
    return issuer


@pytest.fixture(scope="module")
def _aws_in_memory(issuer: Issuer) -> Iterator[None]:
    assert issuer.jwks.exists()
    with memory_aws.aws_in_memory():
        yield


@pytest.fixture
def _aws(_aws_in_memory: None) -> None:
    memory_aws.reset()


@pytest.fixture
def aws(_aws: None) -> None:
    """An empty AWS and a process with empty caches, for tests below HTTP."""


@pytest.fixture
def conflicts(_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conflicts]:
    """Transactions that hold their items for 20 ms. Other writes of these items conflict.

    The callers of a test share one interpreter, where real callers have a process each. So a request takes many times
    longer here, and the service's time limits are extended. Its limits on attempts stay.
    """
    for module, limit in ((attempts, "_MAX_WAIT_SECONDS"), (access_epochs, "_CLOSING_SECONDS")):
        monkeypatch.setattr(module, limit, getattr(module, limit) * 20)
    with conflicting_transactions() as conflicts:
        yield conflicts


@pytest.fixture
def api(_aws: None) -> ApiClient:
    """The service at its HTTP boundary."""
    from app import app

    return ApiClient(app)


@pytest.fixture
def workers(_aws: None) -> Workers:
    """The service's queue and schedule handlers."""
    from app import app

    return Workers(app)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the service sees."""
    return Clock(monkeypatch)


@pytest.fixture
def scans_allowed() -> Iterator[None]:
    """Allow scans of the table, which only commands of operators do."""
    with allow_scans():
        yield


@pytest.fixture
def configure(_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator["SettingsOverride"]:
    """A function that changes settings for the duration of the test."""
    yield SettingsOverride(monkeypatch)
    settings.cache_clear()


@pytest.fixture
def userinfo_profile(
    configure: "SettingsOverride", monkeypatch: pytest.MonkeyPatch
) -> Callable[[Profile], list[userinfo.TokenOwner]]:
    """A function that lets the userinfo endpoint describe everybody by a profile, and returns who is looked up."""

    def set_profile(profile: Profile) -> list[userinfo.TokenOwner]:
        requested: list[userinfo.TokenOwner] = []

        def respond(owner: userinfo.TokenOwner) -> userinfo.UserinfoResponse:
            requested.append(owner)
            return userinfo.UserinfoResponse(profile)

        monkeypatch.setattr(userinfo, "_request", respond)
        configure(auth_userinfo="1")
        return requested

    return set_profile


@pytest.fixture
def private_targets_allowed(configure: "SettingsOverride") -> None:
    """Allow requests to private IP addresses, such as those of servers on this machine."""
    configure(webhook_allow_private="1")


@pytest.fixture
def nameserver(configure: "SettingsOverride") -> Iterator[Nameserver]:
    """The DNS server that the service queries."""
    with Nameserver() as nameserver:
        configure(dns_nameservers=nameserver.address)
        yield nameserver


@pytest.fixture
def mailbox(configure: "SettingsOverride", monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    """The e-mails that the service sends. It sends none without this fixture."""
    configure(mail_from=SENDER)
    mailbox = Mailbox()
    mailbox.start_recording(monkeypatch)
    return mailbox


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium, without a window. Tests that use it are in the group `browser`, so that one process starts it."""
    from tests.harness.browser import start_chromium  # Few tests need it, and the import is slow.

    with start_chromium() as browser:
        yield browser


@pytest.fixture(scope="session", autouse=True)
def _close_pooled_connections() -> Iterator[None]:
    """Close the service's pooled connections after the last test. A process of the service has them until it ends."""
    yield
    reset_pool()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An external HTTP server on the loopback interface, such as a receiver of webhooks."""
    with Receiver() as receiver:
        yield receiver


class SettingsOverride:
    """Overrides settings through environment variables."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, **values: str) -> None:
        """Set settings. Signing keys also set the public keys, because `bootstrap` writes both."""
        if "audit_signing_key" in values and "audit_public_keys" not in values:
            values["audit_public_keys"] = public_keys_of(values["audit_signing_key"])
        for name, value in values.items():
            self._monkeypatch.setenv(name.upper(), value)
        settings.cache_clear()


@pytest.fixture(scope="session")
def ada(issuer: Issuer) -> Person:
    """The owner of `organization`."""
    return issuer.create_person("ada", "Ada Lovelace")


@pytest.fixture(scope="session")
def grace(issuer: Issuer) -> Person:
    """An admin of `organization`."""
    return issuer.create_person("grace", "Grace Hopper")


@pytest.fixture(scope="session")
def edith(issuer: Issuer) -> Person:
    """An editor of `organization`."""
    return issuer.create_person("edith", "Edith Clarke")


@pytest.fixture(scope="session")
def mary(issuer: Issuer) -> Person:
    """A member of `organization` with the lowest role."""
    return issuer.create_person("mary", "Mary Somerville")


@pytest.fixture(scope="session")
def stranger(issuer: Issuer) -> Person:
    """A user who is not a member of `organization`."""
    return issuer.create_person("stranger", "Sophie Germain")


@pytest.fixture(scope="session")
def operator(issuer: Issuer) -> Person:
    """An operator of the service."""
    return issuer.create_person("operator", "Olga Ladyzhenskaya", groups=["operators"])


@pytest.fixture
def organization(api: ApiClient, ada: Person, grace: Person, edith: Person, mary: Person) -> CreatedOrganization:
    """The organization that Ada owns, with a member of each role."""
    return cached_scenario(
        "organization", lambda: _create_organization(api, ada, {grace: "admin", edith: "editor", mary: "member"})
    )


def _create_organization(api: ApiClient, owner: Person, members: dict[Person, str]) -> CreatedOrganization:
    created = create_organization(api, owner)
    for person, role in members.items():
        add_organization_member(created, person, role)
    return created
