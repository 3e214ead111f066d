"""Headless Chromium: logs, screenshots and accessibility of pages."""

import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from selenium import webdriver

from local.paths import ROOT

SCREENSHOTS_FOLDER: Final = ROOT / "build" / "screenshots"
"""The folder of screenshots, for review by people."""

_AXE: Final = ROOT / "tests" / "rendering" / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def start_chromium(profile_folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a browser that records console messages and requests. `profile`: an empty folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium is not installed"
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={profile_folder}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(10)
    driver.get("about:blank")  # The start page of Chromium sends requests.
    try:
        yield driver
    finally:
        driver.quit()


def emulate_display(browser: webdriver.Chrome, *, color_scheme: str, width: int) -> None:
    """Emulate a colour scheme and a window width. Widths below 600 emulate a phone."""
    features = [{"name": "prefers-color-scheme", "value": color_scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def read_log(browser: webdriver.Chrome, log_type: str) -> list[dict[str, Any]]:
    """Return the entries of a log (`browser` or `performance`) since the last call."""
    entries: list[dict[str, Any]] = browser.get_log(log_type)
    return entries


def content_width(browser: webdriver.Chrome) -> int:
    """Return the width of the page, including the part outside of the window."""
    return int(browser.execute_script("return document.documentElement.scrollWidth"))


def save_screenshot(browser: webdriver.Chrome, name: str) -> Path:
    """Save a screenshot of the whole page, and return its file."""
    size = browser.execute_script("const page = document.documentElement; return [page.clientWidth, page.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    SCREENSHOTS_FOLDER.mkdir(parents=True, exist_ok=True)
    file = SCREENSHOTS_FOLDER / f"{name}.png"
    file.write_bytes(b64decode(shot["data"]))
    return file


def accessibility_violations(browser: webdriver.Chrome) -> list[str]:
    """Return the accessibility violations that axe finds in the page."""
    browser.execute_script(_AXE.read_text(encoding="utf-8"))
    result = browser.execute_async_script("axe.run().then(arguments[0])")
    assert result["passes"], "axe checked nothing"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]
