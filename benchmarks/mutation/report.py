"""`docs/reference/mutation-testing.md`, rendered from the results of the last two measurements.

`python -m benchmarks.mutation.report` writes the page again without measuring.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.mutation.mutants import GROUPS, Mutant, load_mutants, place_or_none
from benchmarks.mutation.workers import BUDGET_SECONDS, MAX_SECONDS, Outcome
from local.paths import ROOT

FILE: Final = ROOT / "benchmarks" / "results" / "mutation.json"
PAGE_FILE: Final = ROOT / "docs" / "reference" / "mutation-testing.md"

_COUNTED: Final = ("killed", "survived", "outlived")

_HEAD: Final = """\
# Mutation testing

`make mutation` measures what `make test` detects. It changes one place of the code at a time, for example a comparison,
a limit or a condition, and runs the tests that execute this place. A mutant is *killed* if a test fails. A mutant that
*survived* shows behaviour that no test checks, or a change that makes no difference.

- The mutants are those that [Cosmic Ray](https://cosmic-ray.readthedocs.io)'s operators generate. `make mutants` drew a
  sample with a fixed seed, by group. The list is in `benchmarks/mutation/mutants.jsonl`, with the changed lines instead
  of line numbers, so that later versions of the code are measured with the same mutants. A mutant whose lines the code
  no longer contains is *gone*.
- A recording of the lines that each test executes selects the tests of a mutant: tests that execute the changed
  statement, for at most {budget} seconds of processor time. Tests whose names contain that of the function come first.
  Then the tests that execute the fewest files alternate with tests from other files, with tests that execute other
  lines of the changed file, and with the cheapest tests. If the statement runs only when its module is imported, the
  tests are those that execute related lines or mention the changed constant, and those that compare the declarations
  of all modules with documents and lists. So the score is a lower bound: a test that was not selected may kill a
  survivor.
- A mutant that *outlived* {seconds} seconds of processor time counts as survived. A mutant that cannot be imported is
  not counted.
- Tests that start processes do not take part: `tests/emulator`, `tests/deployed`, `tests/infrastructure` and
  `tests/issuer`. Neither do the exhaustive tests.
- A measurement that was stopped keeps its outcomes when it continues. So an earlier version of the tests or of their
  selection may have killed a mutant, and survivors may have been measured several times.
- Every test that killed a mutant also ran against the unchanged code. Where it failed there, the mutant was measured
  again without it.
"""


def save(environment: Mapping[str, Any], mutants: list[Mutant], outcomes: Mapping[int, Outcome]) -> None:
    """Store the results, keep the previous ones for comparison, and write the page."""
    verdicts = [
        outcomes[number].verdict if number in outcomes else "not measured" if place_or_none(mutant) else "gone"
        for number, mutant in enumerate(mutants)
    ]
    previous = json.loads(FILE.read_text()) if FILE.exists() else None
    results = {"of": environment, "verdicts": verdicts, "before": previous and _without_history(previous)}
    FILE.write_text(json.dumps(results, indent=1) + "\n")
    PAGE_FILE.write_text(render_page(mutants, results))


def _without_history(results: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in results.items() if name != "before"}


def render_page(mutants: list[Mutant], results: Mapping[str, Any]) -> str:
    """Return the page."""
    environment, verdicts, before = results["of"], results["verdicts"], results["before"]
    return "\n".join(
        (
            _HEAD.format(seconds=MAX_SECONDS, budget=BUDGET_SECONDS),
            f"Measured on {environment['day']} with Python {environment['python']}: {_describe_tests(environment)}.\n",
            *_render_scores(mutants, verdicts, before),
            "",
            "## Survivors\n",
            "Survivors in code that has changed since the measurement are left out.\n",
            *_render_survivors(mutants, verdicts),
            "",
        )
    )


def _describe_tests(environment: Mapping[str, Any]) -> str:
    return f"{environment['tests']:,} tests of commit {environment['commit']}"


def _render_scores(mutants: list[Mutant], verdicts: list[str], before: Any) -> list[str]:
    lines = [
        "| Group | Mutants | Killed | Outlived | Survived | Score |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group in (*GROUPS, "all"):
        counts = Counter(_of_group(mutants, verdicts, group))
        numbers = (counts["killed"], counts["outlived"], counts["survived"])
        lines.append(f"| {group} | {sum(numbers)} | {' | '.join(map(str, numbers))} | {_score(counts)} |")
    left_out = Counter(verdict for verdict in verdicts if verdict not in _COUNTED)
    uncounted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(left_out.items())) or "none"
    lines += ["", f"Mutants that are not counted: {uncounted}."]
    return [*lines, "", *_render_comparison(mutants, verdicts, before)] if before else lines


def _render_comparison(mutants: list[Mutant], verdicts: list[str], before: Any) -> list[str]:
    lines = [
        f"The mutants that the previous measurement also counted ({_describe_tests(before['of'])}):",
        "",
        "| Group | Mutants | Score before | Score |",
        "| --- | ---: | ---: | ---: |",
    ]
    for group in (*GROUPS, "all"):
        pairs = zip(*(_of_group(mutants, each, group) for each in (before["verdicts"], verdicts)), strict=True)
        counted = [pair for pair in pairs if set(pair) <= set(_COUNTED)]
        scores = [_score(Counter(verdict)) for verdict in zip(*counted, strict=True)] or ["", ""]
        lines.append(f"| {group} | {len(counted)} | {' | '.join(scores)} |")
    return lines


def _of_group(mutants: list[Mutant], verdicts: list[str], group: str) -> list[str]:
    return [verdict for mutant, verdict in zip(mutants, verdicts, strict=True) if group in ("all", mutant.group)]


def _score(counts: Counter[str]) -> str:
    total = sum(counts[verdict] for verdict in _COUNTED)
    return f"{100 * counts['killed'] / total:.1f} %" if total else ""


def _render_survivors(mutants: list[Mutant], verdicts: list[str]) -> list[str]:
    by_path: dict[str, list[str]] = defaultdict(list)
    for mutant, verdict in zip(mutants, verdicts, strict=True):
        if verdict in ("survived", "outlived") and place_or_none(mutant):
            before, after = ("\n".join(lines).strip() for lines in (mutant.before, mutant.after))
            where = f"`{mutant.function}`" if mutant.function else "the module"
            by_path[mutant.path].append(f"{where}, {mutant.operator}:\n\n{_diff(before, after)}")
    return [f"### {path}\n\n" + "\n".join(entries) for path, entries in sorted(by_path.items())]


def _diff(before: str, after: str) -> str:
    lines = [*(f"-{line}" for line in before.split("\n")), *(f"+{line}" for line in after.split("\n"))]
    return "\n".join(("```diff", *lines, "```", ""))


if __name__ == "__main__":
    PAGE_FILE.write_text(render_page(load_mutants(), json.loads(FILE.read_text())))
