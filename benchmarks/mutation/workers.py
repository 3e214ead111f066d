"""Runs tests against a mutant, in a process that is forked from a warm one.

The warm process has imported all libraries, but none of the project's modules. A fork installs the mutant as the source
of its module and then imports, collects and runs the given tests, so that the mutant also takes effect in code that
runs at import.
"""

import importlib
import io
import os
import resource
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import pytest

from local.paths import ROOT

MAX_SECONDS: Final = 20
"""How much processor time the tests of a mutant may take."""
WAITING_FACTOR: Final = 10
"""After how many times its processor time a process that hangs is stopped."""

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


def start(path: str, source: str | None, tests: list[str], max_seconds: int = MAX_SECONDS) -> tuple[int, Any]:
    """Start a process that runs tests until one fails, with a mutant as the source of a file.

    Without a source, it runs all tests with the code as it is. Returns the id of the process and its output file.
    """
    output = TemporaryFile("w+")  # noqa: SIM115 - read after the process has ended
    process_id = os.fork()
    if process_id == 0:
        try:
            _replace_source(path, source)
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


def _replace_source(path: str, source: str | None) -> None:
    if source is None:
        return
    original, replaced = SourceFileLoader.get_code, str(ROOT / path)

    def get_code(loader: SourceFileLoader, fullname: str) -> Any:
        if loader.path == replaced:
            return loader.source_to_code(source.encode(), replaced)
        return original(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]


@dataclass(eq=False)  # pytest requires that a plugin can be hashed
class _Observer:
    """Notes the failed tests, and limits the processor time of the tests once they have been collected."""

    max_seconds: int
    failed_tests: list[str] = field(default_factory=list)

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


def _run(path: str, tests: list[str], max_seconds: int, *, stop_at_first_failure: bool) -> Outcome:
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    observer = _Observer(max_seconds)
    # Pytest warns that it cannot rewrite the assertions of plugins that are imported already, which do not matter.
    options = [
        "--no-cov",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    if stop_at_first_failure:
        options.append("-x")
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            importlib.import_module("tests.conftest")  # sets the environment that modules need
            importlib.import_module(Path(path).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"))
        except (Exception, SystemExit):  # noqa: BLE001 - whatever the mutant causes
            return Outcome("not imported")
        code = pytest.main([*options, *tests], plugins=[observer])
    if observer.failed_tests:
        return Outcome("killed", tuple(observer.failed_tests))
    # A mutant that removes a case of a parametrized test is not detected by that test.
    if code == pytest.ExitCode.OK or "ERROR: not found:" in printed.getvalue():
        return Outcome("survived")
    return Outcome("not measured", (printed.getvalue(),))
