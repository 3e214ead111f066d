"""Prints the slowest tests and the time per folder at the end of a run."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import pytest

_MIN_TOTAL_SECONDS: Final = 60
"""Shorter runs print nothing."""
_SLOWEST: Final = 10


def report_times(reporter: pytest.TerminalReporter) -> None:
    """Print the ten slowest tests and the time of each folder, with setup and teardown, summed over all processes."""
    reports = [each for reports in reporter.stats.values() for each in reports if isinstance(each, pytest.TestReport)]
    by_test, by_folder = defaultdict[str, float](float), defaultdict[str, float](float)
    for report in reports:
        by_test[report.nodeid] += report.duration
        by_folder["/".join(report.nodeid.split("/")[:2])] += report.duration
    if sum(by_folder.values()) < _MIN_TOTAL_SECONDS:
        return
    reporter.section(f"slowest {_SLOWEST} tests")
    for name, seconds in _descending(by_test)[:_SLOWEST]:
        reporter.line(f"{seconds:7.1f} s  {name}")
    reporter.section("time per folder")
    for name, seconds in _descending(by_folder):
        reporter.line(f"{seconds:7.1f} s  {name}")


def _descending(times: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(times.items(), key=lambda entry: -entry[1])
