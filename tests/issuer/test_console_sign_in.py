"""The console signs in at a certified OpenID Connect provider (npm's oidc-provider), in a browser."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from chalicelib.kernel.identity.jwks import get_issuer_keys
from local.server.issuer import Issuer
from local.tools.node import find_node
from tests.console.tabs import CONSOLE_URL, Tab, console_settings

pytestmark = pytest.mark.xdist_group("browser")

HERE: Final = Path(__file__).parent
AUDIENCE: Final = "https://api.atrium.example"


@pytest.fixture
def provider_url():
    command = [find_node().program, str(HERE / "provider.mjs"), "RS256", CONSOLE_URL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture
def tab(api, browser, configure, provider_url, tmp_path):
    configure(
        auth_issuer=provider_url,
        auth_jwks=f"{provider_url}/jwks",
        auth_audience=AUDIENCE,
        **console_settings(provider_url, client_id="single-page", audience=AUDIENCE),
        webhook_allow_private="1",
    )
    get_issuer_keys.cache_clear()
    with Tab(browser, api, Issuer(tmp_path / "unused"), issuer_url=provider_url) as opened:
        yield opened
    get_issuer_keys.cache_clear()


def test_somebody_signs_in_works_and_signs_out(tab, provider_url):
    page = tab.open("/")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{provider_url}/interaction/**")
    page.locator("input[name=login]").fill("ada")
    page.locator("input[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{CONSOLE_URL}#/")
    page.get_by_role("button", name="Create organization").first.click()
    page.get_by_label("Name").fill("Analytical Engines")
    page.get_by_role("dialog").get_by_role("button", name="Create organization").click()
    page.get_by_role("heading", name="Analytical Engines").wait_for()
    page.get_by_text("ada@example.com").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{provider_url}/session/end**")
    assert page.evaluate("sessionStorage.length") == 0
