"""How fast the sign-in page and the hosted pages are on the local stage, and how Lighthouse rates the hosted pages."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from local.seed.callers import Caller, Service
from local.seed.content.company import ORGANIZATION
from local.server.issuer import Issuer
from tests.console.tabs import person
from tests.emulator.local_stage import LocalStage
from tests.harness.browser import LoggedPage
from tests.harness.lighthouse import rate_page
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.exhaustive, pytest.mark.xdist_group("browser")]

MIN_SCORE: Final = 95
MAX_FIRST_PAINT_MS: Final = 600
ATTEMPTS: Final = 5
"""Attempts, of which one has to succeed, because the machine has other work, too."""

READ_FIRST_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


@pytest.fixture(scope="module")
def seeded_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """The local stage with the sample company."""
    stage = LocalStage(tmp_path_factory.mktemp("speed")).start_with_make("SEED=1")
    try:
        wait_until(lambda: f"{ORGANIZATION['name']} is ready." in stage.output, 180)
        yield stage
    finally:
        stage.interrupt()


@pytest.fixture(scope="module")
def maud(seeded_stage: LocalStage) -> Iterator[Caller]:
    service = Service.at_url(seeded_stage.url, Issuer(seeded_stage.state / "issuer"))
    with service.http:
        yield service.caller_for(person("maud"))


def invitation_link(maud: Caller, organization: str) -> str:
    return maud.post(f"{organization}/invite", {"email": "guest@example.com", "role": "member"})["acceptUrl"]


def domain_link(maud: Caller, organization: str) -> str:
    domains = maud.list_all(f"{organization}/domains/inventory")
    (pending,) = [each for each in domains if each["verificationStatus"] == "pending"]
    return maud.post(f"/platforms/{pending['platformId']}/custom-domain/links", {})["url"]


def webhook_link(maud: Caller, organization: str) -> str:
    webhook = maud.list_all(f"{organization}/webhooks")[0]
    return maud.post(f"{organization}/webhooks/{webhook['id']}/links", {})["url"]


LINKS: Final[dict[str, Callable[[Caller, str], str]]] = {
    "invitation": invitation_link,
    "domain-setup": domain_link,
    "webhook-portal": webhook_link,
}


@pytest.fixture(scope="module")
def links(maud: Caller) -> dict[str, str]:
    """A valid link to each hosted page."""
    organization = f"/organizations/{maud.list_all('/organizations')[0]['id']}"
    return {page: create(maud, organization) for page, create in LINKS.items()}


@pytest.mark.parametrize("page", LINKS)
def test_lighthouse_rates_a_hosted_page_highly(links, page, record_property):
    """Attempts after the first are calibrated, as Lighthouse asks, if the machine was too slow for its defaults.

    Other tests can keep the processors busy in a way that no calibration follows. A shared processor is about as slow
    as that of a phone, so the last attempts do not slow it down further. They still simulate the network of a phone.
    """
    reports = [rate_page(links[page])]
    while len(reports) < ATTEMPTS and not reports[-1].reaches(MIN_SCORE):
        is_early = len(reports) < ATTEMPTS - 2
        reports.append(rate_page(links[page], reports[-1].calibrated_cpu_slowdown if is_early else 1.0))
    record_property("scores", [each.scores for each in reports])
    assert reports[-1].reaches(MIN_SCORE), reports


def test_pages_show_something_soon(seeded_stage, links, browser, record_property):
    for name, url in {"sign-in": f"{seeded_stage.url}/console", **links}.items():
        times: list[float] = []
        while len(times) < ATTEMPTS and not (times and times[-1] <= MAX_FIRST_PAINT_MS):
            times.append(measure_first_paint(browser, url))
        record_property(f"first paint of {name}", times)
        assert times[-1] <= MAX_FIRST_PAINT_MS, (name, times)


def measure_first_paint(browser, url):
    """Return the milliseconds until a page in a new context shows its first text."""
    with LoggedPage(browser) as opened:
        opened.page.goto(url)
        opened.page.get_by_role("heading", level=1).wait_for()
        # The browser records a paint a moment after it.
        wait_until(lambda: opened.page.evaluate(READ_FIRST_PAINT) is not None, 10)
        return opened.page.evaluate(READ_FIRST_PAINT)
