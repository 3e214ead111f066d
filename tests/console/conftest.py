"""Fixtures of the console's tests: the seeded service in memory, and tabs of the browser that show the console."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from local.seed.callers import Service
from local.seed.seeding import seed
from local.server.issuer import Issuer
from tests.console.tabs import Tab, console_settings
from tests.harness.api import ApiClient
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.seeded_service import InMemoryTransport

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def seed_issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    return Issuer(tmp_path_factory.mktemp("console") / "issuer")


@pytest.fixture
def seeded_service(
    api: ApiClient, configure: Callable[..., None], seed_issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    """The service with the sample company, in memory."""
    # No worker runs here, so the seed would wait for the library of research records.
    monkeypatch.setattr("local.seed.library.ensure_research_library", lambda *_: None)
    configure(**seed_issuer.settings(), **console_settings(), webhook_allow_private="1")
    service = Service.at_url("http://127.0.0.1:8000", seed_issuer, InMemoryTransport(api))
    with service.http:
        cached_scenario("console", lambda: json.dumps(seed(service), default=str))
        yield service


@pytest.fixture
def open_tab(api: ApiClient, browser: "Browser", seed_issuer: Issuer, seeded_service: Service) -> Iterator[OpenTab]:
    """A function that opens a tab. At the end, no tab may have logged anything, or violated its policy."""
    with ExitStack() as tabs:
        opened: list[Tab] = []

        def open_one(**options: Any) -> Tab:
            opened.append(tabs.enter_context(Tab(browser, api, seed_issuer, **options)))
            return opened[-1]

        yield open_one
        for tab in opened:
            assert tab.read_unexpected_messages() == []
