"""Headless Chromium: pages in contexts of their own, and their logs, screenshots and accessibility."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self
from unittest.mock import patch

from playwright.sync_api import Browser, Page, sync_playwright

from local.paths import ROOT
from local.tools.chromium import find_chromium
from local.tools.node import find_node

SCREENSHOTS_FOLDER: Final = ROOT / "build" / "screenshots"
"""The folder of screenshots, for review by people."""

_AXE: Final = ROOT / "tests" / "rendering" / "node_modules" / "axe-core" / "axe.min.js"
_TIMEOUT_MS: Final = 300_000  # The documentation page takes a minute on a machine with other work.
CHROMIUM_ARGUMENTS: Final = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    # Requests to other machines fail at once.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
]


@contextmanager
def start_chromium() -> Iterator[Browser]:
    chromium = find_chromium()
    # The Node in Playwright's package needs libraries that a machine may not have.
    with patch.dict(os.environ, PLAYWRIGHT_NODEJS_PATH=find_node().program):
        playwright = sync_playwright().start()
    try:
        environment: dict[str, str | float | bool] = {**os.environ, **chromium.environment}
        with playwright.chromium.launch(
            executable_path=chromium.program, args=CHROMIUM_ARGUMENTS, env=environment, chromium_sandbox=False
        ) as browser:
            yield browser
    finally:
        playwright.stop()


class LoggedPage:
    """A page in a context of its own, with its console messages, uncaught errors and the URLs that it requested.

    A width below 600 emulates a phone. `options` are those of a context.
    """

    def __init__(
        self,
        browser: Browser,
        *,
        color_scheme: Any = "light",
        width: int = 1280,
        height: int = 844,
        **options: Any,
    ) -> None:
        context = browser.new_context(
            viewport={"width": width, "height": height}, is_mobile=width < 600, color_scheme=color_scheme, **options
        )
        context.set_default_timeout(_TIMEOUT_MS)
        self._messages: list[str] = []
        self.requested_urls: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self._messages.append(message.text))
        self.page.on("pageerror", lambda error: self._messages.append(str(error)))
        self.page.on("request", lambda request: self.requested_urls.append(request.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.context.close()

    def read_messages(self) -> list[str]:
        """Return the console messages and uncaught errors since the last call."""
        self.page.evaluate("0")  # The browser has sent earlier messages when it answers.
        messages, self._messages = self._messages, []
        return messages


def content_width(page: Page) -> int:
    """Return the width of the page, including the part outside of the window."""
    return int(page.evaluate("document.documentElement.scrollWidth"))


def save_screenshot(page: Page, name: str) -> Path:
    """Save a screenshot of the whole page, and return its file."""
    file = SCREENSHOTS_FOLDER / f"{name}.png"
    page.screenshot(path=file, full_page=True)
    return file


def accessibility_violations(page: Page, *rules: str) -> list[str]:
    """Return the accessibility violations that axe finds in the page. `rules`: the rules to check, or none for all."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    result = page.evaluate("options => axe.run(options)", options)
    assert result["passes"], "axe checked nothing"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]
