"""Chromium without a window: what pages log in it, what they look like, and what keeps people from them."""

import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from selenium import webdriver

from local.paths import ROOT

PICTURES: Final = ROOT / "build" / "screenshots"
"""Where pictures of pages are kept, to be looked at."""

_AXE: Final = ROOT / "tests" / "rendering" / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """Start a browser that keeps what pages log and ask for; `profile` is an empty folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium is not installed"
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(10)
    driver.get("about:blank")  # What Chromium begins with asks for things of its own.
    try:
        yield driver
    finally:
        driver.quit()


def show(browser: webdriver.Chrome, *, scheme: str, width: int) -> None:
    """Let the browser prefer light or dark colours, in a window of this width; a narrow one is that of a phone."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def logged(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """Return what the browser logged since the last call: `browser` or `performance`."""
    entries: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def width_needed(browser: webdriver.Chrome) -> int:
    """Return how wide the page is, with what lies outside of the window."""
    return int(browser.execute_script("return document.documentElement.scrollWidth"))


def picture(browser: webdriver.Chrome, name: str) -> Path:
    """Keep a picture of the whole page, and return where."""
    size = browser.execute_script("const page = document.documentElement; return [page.clientWidth, page.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    PICTURES.mkdir(parents=True, exist_ok=True)
    file = PICTURES / f"{name}.png"
    file.write_bytes(b64decode(shot["data"]))
    return file


def obstacles(browser: webdriver.Chrome) -> list[str]:
    """Return what axe finds in the page that keeps people from it, and where."""
    browser.execute_script(_AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert found["passes"], "axe has looked at nothing"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
