"""Runs tests against a mutant, in a process that is forked from a warm one.

If the changed code runs at import, the warm process has imported all libraries, but none of the project's modules. The
fork installs the mutant as the source of its module, and then imports, collects and runs the tests. Otherwise the warm
process has imported all modules, and the fork replaces the code of the function.
"""

import gc
import importlib
import io
import os
import resource
import subprocess
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from types import CodeType, FunctionType
from typing import Any, Final

import coverage
import pytest

from local.paths import ROOT, module_name

MAX_SECONDS: Final = 20
"""How much processor time the tests of a mutant may take."""
BUDGET_SECONDS: Final = 15
"""How much processor time they took when they were recorded."""
WAITING_FACTOR: Final = 10
"""After how many times its processor time a process that hangs is stopped."""

_functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

_OURS: Final = ("app", "benchmarks", "chalicelib", "infrastructure", "local", "tests", "__main__")
_LIST_MODULES: Final = """
import sys, pytest
import tests.conftest, tests.http.conftest, tests.catalogue.conftest, app
print(*sys.modules)
"""


@dataclass(frozen=True)
class Outcome:
    """The result of the tests: killed, survived, outlived (the time was up) or not imported; and the failed tests."""

    verdict: str
    failed_tests: tuple[str, ...] = ()


def warm_up() -> None:
    """Import the libraries that the tests use."""
    listed = subprocess.run(  # noqa: S603 - a fixed program
        [sys.executable, "-c", _LIST_MODULES], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    for name in listed:
        if name.partition(".")[0] not in _OURS:
            with suppress(ImportError):
                importlib.import_module(name)


def lines_run_at_import(tests: Iterable[str]) -> dict[str, frozenset[int]]:
    """Return the lines of each file that run when the modules with tests are imported."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        return pool.submit(_import_with_coverage, list(tests)).result()


def _import_with_coverage(tests: list[str]) -> dict[str, frozenset[int]]:
    recorded = coverage.Coverage(data_file=None, source=[str(ROOT / "chalicelib")], config_file=False)
    with recorded.collect():
        import_modules(tests)
    data = recorded.get_data()
    return {
        Path(file).relative_to(ROOT).as_posix(): frozenset(data.lines(file) or ()) for file in data.measured_files()
    }


def import_modules(tests: Iterable[str]) -> None:
    """Import the project's modules with tests."""
    _enter_project()
    for file in sorted({test.partition("::")[0] for test in tests}):
        importlib.import_module(module_name(ROOT / file))
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(str(ROOT / "chalicelib")):
            _functions[_key(function.__code__)].append(function)
    gc.freeze()  # Frozen objects are not collected, so forks do not copy their pages.


def start(path: str, source: str | None, tests: list[str], max_seconds: int = MAX_SECONDS) -> tuple[int, Any]:
    """Start a process that runs tests until one fails, with a mutant as the source of a file.

    Without a source, it runs all tests with the code as it is. Returns the id of the process and its output file.
    """
    output = TemporaryFile("w+")  # noqa: SIM115 - read after the process has ended
    process_id = os.fork()
    if process_id == 0:
        try:
            if source is not None:
                (_replace_functions if _functions else _replace_source)(path, source)
            outcome = _run(path, tests, max_seconds, stop_at_first_failure=source is not None)
        except BaseException:  # noqa: BLE001 - the end of the process
            outcome = Outcome("not measured", (traceback.format_exc(),))
        output.write("\n".join((outcome.verdict, *outcome.failed_tests)))
        output.flush()
        os._exit(0)
    return process_id, output


def read_outcome(output: Any) -> Outcome:
    """Return the outcome of an ended process. One that was stopped has written nothing."""
    with output:
        output.seek(0)
        verdict, *failed_tests = output.read().split("\n")
    return Outcome(verdict or "outlived", tuple(failed_tests))


def _replace_source(path: str, source: str) -> None:
    original, replaced = SourceFileLoader.get_code, str(ROOT / path)

    def get_code(loader: SourceFileLoader, fullname: str) -> Any:
        if loader.path == replaced:
            return loader.source_to_code(source.encode(), replaced)
        return original(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]


def _replace_functions(path: str, source: str) -> None:
    for code in _iter_codes(compile(source, str(ROOT / path), "exec")):
        for function in _functions[_key(code)]:
            if function.__code__ != code:
                function.__code__ = code


def _iter_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _iter_codes(constant)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


@dataclass(eq=False)  # pytest requires that a plugin can be hashed
class _Observer:
    """Selects the tests, limits their processor time and notes which ones fail."""

    tests: list[str]
    max_seconds: int
    failed_tests: list[str] = field(default_factory=list)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # A mutant can change the names of a test's cases. Those with other names are left out.
        numbers = {test: number for number, test in enumerate(self.tests)}
        items[:] = sorted((item for item in items if item.nodeid in numbers), key=lambda item: numbers[item.nodeid])

    def pytest_runtestloop(self) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(usage.ru_utime + usage.ru_stime) + self.max_seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed_tests.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed_tests.append(report.nodeid)


def _enter_project() -> None:
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)


def _run(path: str, tests: list[str], max_seconds: int, *, stop_at_first_failure: bool) -> Outcome:
    _enter_project()
    observer = _Observer(tests, max_seconds)
    functions = dict.fromkeys(test.partition("[")[0] for test in tests)
    # Pytest warns that it cannot rewrite the assertions of plugins that are imported already, which do not matter.
    options = [
        "--no-cov",
        "-q",
        "-p",
        "no:cacheprovider",
        "--numprocesses=0",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    if stop_at_first_failure:
        options.append("-x")
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            importlib.import_module("tests.conftest")  # sets the environment that modules need
            importlib.import_module(module_name(ROOT / path))
        except (Exception, SystemExit):  # noqa: BLE001 - whatever the mutant causes
            return Outcome("not imported")
        code = pytest.main([*options, *functions], plugins=[observer])
    if observer.failed_tests:
        return Outcome("killed", tuple(observer.failed_tests))
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return Outcome("survived")
    return Outcome("not measured", (printed.getvalue(),))
