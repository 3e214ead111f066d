"""Runs the tests that can be affected by what has changed since the last run: `make test-changed`."""

import subprocess
import sys
from typing import Final

from local.paths import ROOT
from local.test_selection.dependency_map import DependencyMap
from local.test_selection.source_files import bounded_context_of, read_files

_TESTS: Final = "not exhaustive and not emulator"
_MIN_SECONDS_FOR_PROCESSES: Final = 30
"""Starting a process for each core takes several seconds."""
_MAX_LISTED_FILES: Final = 10
_NO_TESTS: Final = 5
"""The exit code of pytest if no test was selected."""


def main() -> int:
    """Say what is affected, and run it. Return the exit code."""
    recorded = DependencyMap.load()
    recorded_tests = recorded.recording.tests
    if not recorded_tests:
        print("Nothing is recorded yet. All tests run, and what they depend on is recorded.")
        return _run_tests(in_processes=True)
    selection = recorded.select_tests(read_files(recorded.files))
    changed = selection.changed_files
    listed = ", ".join(changed) if len(changed) <= _MAX_LISTED_FILES else f"{len(changed):,}"
    print(f"Changed files since the last run: {listed or 'none'}.")
    print(f"{len(selection.tests):,} of {len(recorded_tests):,} tests depend on them or failed in the last run.")
    if any(map(bounded_context_of, changed)):
        left_out = sum(test.covers_most_features for test in recorded_tests.values())
        print(f"{left_out:,} tests that cover most features are left to `make test`.")
    if not changed and not selection.tests:
        return 0
    seconds = sum(recorded_tests[name].seconds for name in selection.tests)
    return _run_tests(in_processes=seconds > _MIN_SECONDS_FOR_PROCESSES)


def _run_tests(*, in_processes: bool) -> int:
    command = [sys.executable, "-m", "pytest", "-p", "local.test_selection.plugin", "-m", _TESTS]
    processes = ["--numprocesses", "auto", "--dist", "loadgroup"] if in_processes else []
    exit_code = subprocess.run([*command, *processes], cwd=ROOT, check=False).returncode
    return 0 if exit_code == _NO_TESTS else exit_code


if __name__ == "__main__":
    sys.exit(main())
