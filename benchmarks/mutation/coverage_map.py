"""Which test executes which lines of the code, and how much processor time each test takes.

Recording is a pytest plugin: `pytest -p benchmarks.mutation.coverage_map`, with `COVERAGE_MAP` as the folder of the
files. Each process writes its own.
"""

import json
import os
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

import coverage
import pytest
from coverage.numbits import numbits_to_nums

from benchmarks.mutation.mutants import Placement
from local.paths import ROOT
from local.test_selection.xdist_names import remove_xdist_group

MAX_CASES_PER_FUNCTION: Final = 3
"""How many cases of one test function are chosen before those of other functions."""

_FOLDER: Final = "COVERAGE_MAP"
_DECLARATION_TESTS: Final = (
    "tests/entrypoints/test_openapi.py::test_the_committed_document_equals_the_generated_one",
    "tests/docs/test_table.py::test_the_committed_file_equals_the_generated_one",
    "tests/catalogue/test_feature_layout.py::test_all_other_dataclasses_are_immutable",
    "tests/catalogue/test_revocation_in_flight.py::test_every_operation_that_grants_access_declares_it",
    "tests/catalogue/test_revocation_in_flight.py::test_these_kinds_of_records_grant_access",
)
"""The beginnings of the tests that compare the declarations of all modules with documents and lists."""
_COUNT_FILES: Final = """
SELECT context.context, COUNT(DISTINCT line_bits.file_id)
FROM line_bits JOIN context ON context.id = line_bits.context_id
GROUP BY context.context
"""
_LINES_OF_FILE: Final = """
SELECT context.context, line_bits.numbits
FROM line_bits JOIN context ON context.id = line_bits.context_id JOIN file ON file.id = line_bits.file_id
WHERE file.path = ?
"""
"""The tables are documented: https://coverage.readthedocs.io/en/latest/dbschema.html"""


class FileCoverage:
    """Which tests execute which lines of a file."""

    def __init__(self, tests_by_line: dict[int, list[str]]) -> None:
        self.tests_by_line = tests_by_line
        lines_by_test = defaultdict[str, list[int]](list)
        for line, tests in sorted(tests_by_line.items()):
            for test in tests:
                lines_by_test[test].append(line)
        self.lines_by_test = {test: tuple(lines) for test, lines in lines_by_test.items()}

    def tests_at(self, lines: Iterable[int]) -> set[str]:
        """Return the tests that execute one of the lines."""
        return {test for line in lines for test in self.tests_by_line.get(line, ())}


@dataclass
class _Recorder:
    coverage: coverage.Coverage
    seconds: dict[str, float]


_recorders: list[_Recorder] = []


def pytest_configure(config: pytest.Config) -> None:
    """Start recording in a process that runs tests."""
    worker = getattr(config, "workerinput", {}).get("workerid", "")
    if worker or not config.getoption("numprocesses", None):
        recorded = coverage.Coverage(
            data_file=Path(os.environ[_FOLDER]) / f"coverage.{worker}", source=["chalicelib"], config_file=False
        )
        recorded.start()
        _recorders.append(_Recorder(recorded, defaultdict(float)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attribute the executed lines and the processor time to the test."""
    started_at = time.process_time()
    for recorder in _recorders:
        recorder.coverage.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        for recorder in _recorders:
            recorder.coverage.switch_context("")
            recorder.seconds[item.nodeid] += time.process_time() - started_at


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Exclude a test that did not pass."""
    if not report.passed:
        for recorder in _recorders:
            recorder.seconds[report.nodeid] = float("inf")


def pytest_unconfigure() -> None:
    """Write the files."""
    for recorder in _recorders:
        recorder.coverage.stop()
        recorder.coverage.save()
        Path(f"{recorder.coverage.get_option('run:data_file')}.json").write_text(json.dumps(recorder.seconds))


class CoverageMap:
    """The recorded map. `seconds`: the processor time of each test that passed."""

    def __init__(self, folder: Path) -> None:
        self.seconds: dict[str, float] = {}
        self._databases = sorted(folder.glob("coverage.*[0-9]"))
        self._breadth = Counter[str]()
        for file in self._databases:
            recorded = json.loads(file.with_name(f"{file.name}.json").read_text())
            self.seconds |= {
                remove_xdist_group(test): seconds for test, seconds in recorded.items() if seconds < float("inf")
            }
            self._breadth |= Counter(dict(_query(file, _COUNT_FILES)))
        self._tests_by_file: dict[Path, list[str]] = defaultdict(list)
        for test in self.seconds:
            self._tests_by_file[ROOT / test.partition("::")[0]].append(test)
        self._declaration_tests = sorted(test for test in self.seconds if test.startswith(_DECLARATION_TESTS))

    def nearest_tests(
        self, file: FileCoverage, placement: Placement, budget_seconds: float, excluded: frozenset[str]
    ) -> list[str]:
        """Return the tests that execute the changed statement, the most specific ones, within a budget of time.

        If the statement runs only when its module is imported, these are the tests that execute related lines or
        mention the constant, and those that compare the declarations of all modules.
        """
        if executing := file.tests_at(placement.lines):
            return self._within_budget(executing - excluded, file, placement.function, budget_seconds)
        related = file.tests_at(placement.related_lines) | self._tests_mentioning(placement.constant)
        related |= {test for test in self.seconds if placement.function and f"[{placement.function}" in test}
        related = related or set(file.lines_by_test)
        declaration_tests = [test for test in self._declaration_tests if test not in excluded]
        budget_seconds -= sum(self.seconds[test] for test in declaration_tests)
        return [
            *declaration_tests,
            *self._within_budget(related - excluded, file, placement.function, budget_seconds),
        ]

    def _tests_mentioning(self, constant: str) -> set[str]:
        word = re.compile(rf"\b{constant}\b")
        return {
            test
            for file, tests in self._tests_by_file.items()
            if constant and word.search(file.read_text())
            for test in tests
        }

    def load_file_coverage(self, path: str) -> FileCoverage:
        """Return which tests execute which lines of a file. Tests that did not pass are left out."""
        tests: dict[int, list[str]] = defaultdict(list)
        for database in self._databases:
            for test, lines in _query(database, _LINES_OF_FILE, str(ROOT / path)):
                if test in self.seconds:
                    for line in numbits_to_nums(lines):
                        tests[line].append(test)
        return FileCoverage(tests)

    def _within_budget(
        self, tests: Iterable[str], file: FileCoverage, function: str, budget_seconds: float
    ) -> list[str]:
        total, within = 0.0, list[str]()
        for test in self._in_order_of_choice(tests, file, function):
            if not within or total + self.seconds[test] <= budget_seconds:
                total += self.seconds[test]
                within.append(test)
        return sorted(within, key=lambda test: self.seconds[test])  # The cheapest one may already fail.

    def _in_order_of_choice(self, tests: Iterable[str], file: FileCoverage, function: str) -> list[str]:
        """Return tests in the order in which they are chosen.

        The tests whose names contain that of the function come first. Of the others, those that execute the fewest
        files are the most specific ones. They alternate with the most specific ones of each file with tests, with the
        most specific ones for each set of executed lines of the changed file, and with the cheapest ones.
        """

        def is_named(test: str) -> bool:
            return bool(function) and function in test

        def distance(test: str) -> tuple[bool, int, float, str]:
            return not is_named(test), self._breadth[test], self.seconds[test], test

        nearest = sorted(tests, key=distance)
        few_cases = _in_rounds(nearest, lambda test: test.partition("[")[0])
        chosen = [test for round_number, test in few_cases if round_number < MAX_CASES_PER_FUNCTION]
        by_test_file = [test for _, test in _in_rounds(chosen, lambda test: test.partition("::")[0])]
        by_lines = [test for _, test in _in_rounds(nearest, lambda test: file.lines_by_test.get(test, ()))]
        cheapest = sorted(chosen, key=lambda test: self.seconds[test])
        alternating = chain.from_iterable(zip_longest(chosen, by_test_file, by_lines, cheapest))
        return [*dict.fromkeys((*filter(is_named, chosen), *filter(None, alternating)))]


def _in_rounds(tests: Iterable[str], group: Callable[[str], Hashable]) -> list[tuple[int, str]]:
    """Return the first test of each group, then the second of each, and so on, with the numbers of the rounds."""
    sizes, numbered = Counter[Hashable](), list[tuple[int, str]]()
    for test in tests:
        numbered.append((sizes[group(test)], test))
        sizes[group(test)] += 1
    return sorted(numbered, key=lambda pair: pair[0])


def _query(file: Path, statement: str, *parameters: str) -> list[tuple[str, Any]]:
    # `coverage.CoverageData` would erase the file if a forked process used it.
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return [(remove_xdist_group(test), value) for test, value in database.execute(statement, parameters)]
