"""Lighthouse: ratings of a page for a mid-tier phone, with the Chromium of the other tests in a browser."""

import json
import os
import subprocess
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Final

from local.paths import ROOT
from local.tools.chromium import find_chromium
from local.tools.node import find_node
from tests.harness.browser import CHROMIUM_ARGUMENTS

CATEGORIES: Final = ("performance", "accessibility", "best-practices", "seo")

_CLI: Final = ROOT / "tests" / "rendering" / "node_modules" / "lighthouse" / "cli" / "index.js"
_CPU_SLOWDOWN: Final = 4.0
"""Lighthouse's default factor, by which its phone is slower than this machine."""
_FAST_INDEX: Final = 1500
"""The benchmark index for which the default is meant: that of a fast desktop."""
_SLOW_INDEX: Final = 1000
"""The benchmark index below which Lighthouse warns that the default is too high."""
_MAX_LOAD_MS: Final = 15_000
_TIMEOUT_SECONDS: Final = 120


@dataclass(frozen=True)
class Report:
    """A report: the scores of the categories from 0 to 100, and the audits that cost points, to explain them."""

    scores: dict[str, int]
    shortcomings: list[str]
    benchmark_index: float
    """How fast the machine was. A busy machine is slow."""

    def reaches(self, score: int) -> bool:
        return min(self.scores.values()) >= score

    @property
    def calibrated_cpu_slowdown(self) -> float:
        """The factor for a machine as fast as this one was, in proportion to what Lighthouse's default is meant for."""
        if self.benchmark_index >= _SLOW_INDEX:
            return _CPU_SLOWDOWN
        return max(1.0, round(_CPU_SLOWDOWN * self.benchmark_index / _FAST_INDEX, 1))


def rate_page(url: str, cpu_slowdown: float = _CPU_SLOWDOWN) -> Report:
    """Load a page in a new Chromium, on Lighthouse's simulated phone."""
    # The path of the browser's socket is below this folder, and has at most 107 characters. Those of pytest are longer.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return _parse(_run(url, cpu_slowdown, folder))


def _run(url: str, cpu_slowdown: float, folder: str) -> Any:
    chromium = find_chromium()
    command = [
        *(find_node().program, str(_CLI), url, "--output=json", "--quiet", "--no-enable-error-reporting"),
        f"--only-categories={','.join(CATEGORIES)}",
        f"--throttling.cpuSlowdownMultiplier={cpu_slowdown}",
        f"--max-wait-for-load={_MAX_LOAD_MS}",
        f"--chrome-flags={' '.join(map(_quote, ('--headless', *CHROMIUM_ARGUMENTS)))}",
    ]
    environment = {**os.environ, **chromium.environment, "CHROME_PATH": chromium.program, "TMPDIR": folder}
    completed = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def _quote(argument: str) -> str:
    name, equals, value = argument.partition("=")
    return f'{name}{equals}"{value}"' if equals else name


def _parse(result: Any) -> Report:
    assert "runtimeError" not in result, result["runtimeError"]
    # A category has no score if one of its audits failed.
    scores = {name: round(100 * (result["categories"][name]["score"] or 0)) for name in CATEGORIES}
    weighted = {
        reference["id"]
        for name in CATEGORIES
        for reference in result["categories"][name]["auditRefs"]
        if reference["weight"]
    }
    audits = [each for each in result["audits"].values() if each["id"] in weighted]
    shortcomings = [
        f"{each['id']}: {each.get('errorMessage') or each.get('displayValue') or each['title']}"
        for each in audits
        if each["scoreDisplayMode"] == "error" or (each["score"] is not None and each["score"] < 1)
    ]
    return Report(scores, shortcomings, result["environment"]["benchmarkIndex"])
