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
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import coverage
import pytest
from coverage.numbits import numbits_to_nums

from benchmarks.mutation.mutants import Placement
from local.paths import ROOT

MAX_CASES_PER_FUNCTION: Final = 3
"""How many cases of one test function are chosen before those of other functions."""

_FOLDER: Final = "COVERAGE_MAP"
_XDIST_GROUP: Final = re.compile(r"@\w+$")
"""What pytest-xdist appends to the name of a test in a group."""

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

TestsByLine = dict[int, list[str]]


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
                _XDIST_GROUP.sub("", test): seconds for test, seconds in recorded.items() if seconds < float("inf")
            }
            self._breadth.update(dict(_query(file, _COUNT_FILES)))
        self._tests_by_file: dict[Path, list[str]] = defaultdict(list)
        for test in self.seconds:
            self._tests_by_file[ROOT / test.partition("::")[0]].append(test)
        self._declaration_tests = sorted(test for test in self.seconds if test.startswith(_DECLARATION_TESTS))

    def nearest_tests(
        self, tests_by_line: TestsByLine, placement: Placement, budget_seconds: float, excluded: frozenset[str]
    ) -> list[str]:
        """Return the tests that execute the changed statement, the most specific ones, within a budget of time.

        Tests whose name contains that of the function are the most specific ones, then those that execute few files.

        If the statement runs only when its module is imported, these are the tests that execute related lines or
        mention the constant, and those that compare the declarations of all modules.
        """
        if executing := _at(tests_by_line, placement.lines):
            return self._within_budget(executing - excluded, placement.function, budget_seconds)
        related = _at(tests_by_line, placement.related_lines) | self._tests_mentioning(placement.constant)
        related |= {test for test in self.seconds if placement.function and f"[{placement.function}" in test}
        related = related or _at(tests_by_line, tests_by_line)
        declaration_tests = [test for test in self._declaration_tests if test not in excluded]
        budget_seconds -= sum(self.seconds[test] for test in declaration_tests)
        return [*declaration_tests, *self._within_budget(related - excluded, placement.function, budget_seconds)]

    def _tests_mentioning(self, constant: str) -> set[str]:
        word = re.compile(rf"\b{constant}\b")
        return {
            test
            for file, tests in self._tests_by_file.items()
            if constant and word.search(file.read_text())
            for test in tests
        }

    def tests_by_line(self, path: str) -> TestsByLine:
        """Return the tests that execute each line of a file. A test that did not pass is left out."""
        tests: dict[int, list[str]] = defaultdict(list)
        for file in self._databases:
            for test, lines in _query(file, _LINES_OF_FILE, str(ROOT / path)):
                if test in self.seconds:
                    for line in numbits_to_nums(lines):
                        tests[line].append(test)
        return tests

    def _within_budget(self, tests: Iterable[str], function: str, budget_seconds: float) -> list[str]:
        total, within = 0.0, list[str]()
        for test in self._in_order_of_choice(tests, function):
            if not within or total + self.seconds[test] <= budget_seconds:
                total += self.seconds[test]
                within.append(test)
        return sorted(within, key=lambda test: self.seconds[test])  # The cheapest one may already fail.

    def _in_order_of_choice(self, tests: Iterable[str], function: str) -> list[str]:
        """Return tests with the most specific ones first, alternating with the most specific ones of each file."""

        def distance(test: str) -> tuple[bool, int, float, str]:
            return not function or function not in test, self._breadth[test], self.seconds[test], test

        cases, tests_of_file = Counter[str](), Counter[str]()
        chosen, later, round_by_test = list[str](), list[str](), dict[str, int]()
        for test in sorted(tests, key=distance):
            test_function, file = test.partition("[")[0], test.partition("::")[0]
            cases[test_function] += 1
            if cases[test_function] <= MAX_CASES_PER_FUNCTION:
                chosen.append(test)
                tests_of_file[file] += 1
                round_by_test[test] = tests_of_file[file]
            else:
                later.append(test)
        named = [test for test in chosen if not distance(test)[0]]
        from_each_file = sorted(chosen, key=lambda test: round_by_test[test])
        alternating = chain.from_iterable(zip(chosen, from_each_file, strict=True))
        return [*dict.fromkeys((*named, *alternating, *later))]


def _at(tests_by_line: TestsByLine, lines: Iterable[int]) -> set[str]:
    return {test for line in lines for test in tests_by_line.get(line, ())}


def _query(file: Path, statement: str, *parameters: str) -> list[tuple[str, Any]]:
    # `coverage.CoverageData` would erase the file if a forked process used it.
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return [(_XDIST_GROUP.sub("", test), value) for test, value in database.execute(statement, parameters)]
