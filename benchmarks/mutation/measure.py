"""Measure which mutants the tests kill: `make mutation`.

First the in-process tests of `make test` run once and record which lines each of them executes. Then each mutant gets
the tests that execute its statement, the most specific ones. Finally the tests that killed mutants run against the
unchanged code. A test that fails then was no proof: its mutants are measured again without it.

A measurement that was stopped continues where it was. The results are written to `benchmarks/results/mutation.json`
and `docs/reference/mutation-testing.md`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from benchmarks.log_scale.results import describe_environment
from benchmarks.mutation import report, workers
from benchmarks.mutation.coverage_map import CoverageMap
from benchmarks.mutation.mutants import Mutant, Placement, load_mutants, place_or_none
from local.paths import ROOT

FOLDER: Final = ROOT / "build" / "mutation"
OUTCOMES_FILE: Final = FOLDER / "outcomes.jsonl"
SUITES: Final = (
    "http",
    "kernel",
    "features",
    "property",
    "catalogue",
    "security",
    "faults",
    "model",
    "stored_forms",
    "rendering",
    "entrypoints",
    "docs",
    "local",
)
"""The suites whose tests run in one process, without an emulator."""

_TESTS_PER_CONTROL: Final = 40
_MAX_CONTROL_SECONDS: Final = 900


@dataclass(frozen=True)
class Job:
    """Tests to run against a mutant. `source`: the mutant's code, or None for the unchanged code."""

    number: int
    path: str
    source: str | None
    tests: list[str]
    max_seconds: int = workers.MAX_SECONDS


def main() -> None:
    """Record the map unless it exists, measure, and write the results."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (FOLDER / "map").exists():
        _record_map(FOLDER / "map")
    coverage_map = CoverageMap(FOLDER / "map")
    workers.warm_up()
    mutants = load_mutants()
    outcomes = _measure(mutants, coverage_map, unreliable=frozenset())
    if unreliable := _failing_without_mutant(outcomes.values()):
        repeated = {number for number, outcome in outcomes.items() if unreliable.intersection(outcome.failed_tests)}
        print(f"{len(unreliable)} tests fail without a mutant; measuring {len(repeated)} mutants again")
        reliable = {number: outcome for number, outcome in outcomes.items() if number not in repeated}
        OUTCOMES_FILE.write_text("".join(_to_line(number, outcome) for number, outcome in reliable.items()))
        outcomes = _measure(mutants, coverage_map, unreliable)
    environment = {**describe_environment(), "commit": _commit(), "tests": len(coverage_map.seconds)}
    report.save(environment, mutants, outcomes)


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()  # noqa: S603 - a fixed program


def _record_map(folder: Path) -> None:
    unfinished = folder.with_name("unfinished-map")
    unfinished.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "benchmarks.mutation.coverage_map", "-q", "-m", "not exhaustive"]
    subprocess.run(  # noqa: S603 - a fixed program
        [*command, "--numprocesses", "auto", "--dist", "loadgroup", *(f"tests/{name}" for name in SUITES)],
        env={**os.environ, "COVERAGE_MAP": str(unfinished)},
        cwd=ROOT,
        check=False,  # Tests that fail are left out of the map.
    )
    unfinished.rename(folder)


def _measure(
    mutants: list[Mutant], coverage_map: CoverageMap, unreliable: frozenset[str]
) -> dict[int, workers.Outcome]:
    """Measure the mutants that have no outcome: first those of code that runs at import, then the others.

    Each part runs in a process of its own, because only the second one imports the project's modules.
    """
    lines_run_at_import = workers.lines_run_at_import(coverage_map.seconds)
    for runs_at_import in (True, False):
        measured = dict(_load_outcomes())
        # Every third mutant comes first, so that the results of a stopped measurement are a sample of all.
        order = sorted(set(range(len(mutants))) - measured.keys(), key=lambda number: (number % 3, number))
        placements = (
            (number, mutants[number].path, placement)
            for number in order
            if (placement := place_or_none(mutants[number]))
            and placement.runs_at_import(lines_run_at_import.get(mutants[number].path, frozenset())) is runs_at_import
        )
        jobs = _plan_jobs(placements, coverage_map, unreliable)
        tests = () if runs_at_import else coverage_map.seconds
        part = get_context("fork").Process(target=_run_and_save_jobs, args=(jobs, tests))
        part.start()
        part.join()
        if part.exitcode:
            raise SystemExit(part.exitcode)
    return dict(_load_outcomes())


def _run_and_save_jobs(jobs: Iterable[Job], imported_tests: Iterable[str]) -> None:
    if imported_tests:
        workers.import_modules(imported_tests)
    with OUTCOMES_FILE.open("a") as output:
        for done, (number, outcome) in enumerate(_run_jobs(jobs), start=1):
            output.write(_to_line(number, outcome))
            output.flush()
            if done % 50 == 0:
                print(f"{done} mutants measured", flush=True)


def _plan_jobs(
    placements: Iterable[tuple[int, str, Placement]], coverage_map: CoverageMap, unreliable: frozenset[str]
) -> Iterator[Job]:
    """Yield the jobs of mutants, which are given by number, path and placement."""
    for path, placements_in_file in groupby(placements, lambda placed: placed[1]):
        file = coverage_map.load_file_coverage(path)
        for number, _, placement in placements_in_file:
            tests = coverage_map.nearest_tests(file, placement, workers.BUDGET_SECONDS, unreliable)
            yield Job(number, path, placement.source, tests)


def _run_jobs(jobs: Iterable[Job]) -> Iterator[tuple[int, workers.Outcome]]:
    """Run jobs, as many at once as there are processors. Yields the number and the outcome of each.

    Raises SystemExit if the tests of a job could not be run.
    """
    waiting, running = iter(jobs), dict[int, tuple[Job, Any, float]]()
    while True:
        while len(running) < (os.cpu_count() or 1) and (job := next(waiting, None)):
            if job.tests:
                process_id, output = workers.start(job.path, job.source, job.tests, job.max_seconds)
                running[process_id] = job, output, time.monotonic()
            else:
                yield job.number, workers.Outcome("survived")
        if not running:
            return
        process_id, _ = os.waitpid(-1, os.WNOHANG)
        if process_id:
            job, output, _ = running.pop(process_id)
            outcome = workers.read_outcome(output)
            if outcome.verdict == "not measured" or (outcome.verdict == "outlived" and job.source is None):
                details = "\n".join(outcome.failed_tests) or outcome.verdict
                raise SystemExit(f"The tests of {job.path} could not be run:\n{details}")
            yield job.number, outcome
        else:
            _stop_hanging(running)
            time.sleep(0.02)


def _stop_hanging(running: dict[int, tuple[Job, Any, float]]) -> None:
    for process_id, (job, _, started_at) in running.items():
        if time.monotonic() - started_at > job.max_seconds * workers.WAITING_FACTOR:
            os.kill(process_id, signal.SIGKILL)


def _failing_without_mutant(outcomes: Iterable[workers.Outcome]) -> frozenset[str]:
    killers = sorted({test for outcome in outcomes for test in outcome.failed_tests})
    parts = [killers[start : start + _TESTS_PER_CONTROL] for start in range(0, len(killers), _TESTS_PER_CONTROL)]
    jobs = (Job(number, "app.py", None, tests, _MAX_CONTROL_SECONDS) for number, tests in enumerate(parts))
    return frozenset(test for _, outcome in _run_jobs(jobs) for test in outcome.failed_tests)


def _load_outcomes() -> Iterator[tuple[int, workers.Outcome]]:
    for line in OUTCOMES_FILE.read_text().splitlines() if OUTCOMES_FILE.exists() else ():
        fields = json.loads(line)
        yield fields["mutant"], workers.Outcome(fields["verdict"], tuple(fields["failed_tests"]))


def _to_line(number: int, outcome: workers.Outcome) -> str:
    return json.dumps({"mutant": number, **asdict(outcome)}) + "\n"


if __name__ == "__main__":
    main()
