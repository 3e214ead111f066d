"""The section about Atrium beside two stacks that are built as most are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Beside other stacks"

ATRIUM, CHALICE, FASTAPI = "atrium", "usual", "popular"
_COMPILED_SUFFIX: Final = ", compiled"

Results = Mapping[str, Any]

_METHOD: Final = """\
![Atrium beside the usual and the popular stack](performance.svg)

`make bench` runs the same three operations in Atrium and in two stacks that are built as most are:

- the **usual** stack (`benchmarks/peers/chalice_baseline.py`): Chalice, a default boto3 client, Powertools' Logger
  and Metrics, pydantic models built at import. It has no Tracer, which would be slower.
- the **popular** stack (`benchmarks/peers/fastapi_baseline.py`): FastAPI behind Mangum, and a boto3 resource.

Both have 153 routes and 120 models, and Atrium has more. All verify the token, look up memberships, answer with the
same fields, and commit a new space with its audit entry in one transaction, behind which an event goes to a queue. The
peers leave out what the contract demands of Atrium beyond that: ETags, idempotent repetition, counting of requests, an
outbox, a hash-chained log (`benchmarks/peers/records.py`). Before it is timed each stack has to answer rightly.

Every figure is of fresh processes, in turns, {processes} of each stack. **Cold** is from the import to the first
answered read, by the clock and in processor time; **memory** is what is resident then. **Warm** is processor time a
call. All calls of AWS go over TLS to a process beside, which answers at once. Numbers are medians, with the least in
brackets; ratios are of medians. What is marked ✓ keeps to its goal, by the
medians and by the least; the rest does not yet, or not for sure.
"""

_COMPILED_TEXT: Final = """\
Atrium's package is deployed compiled. The peers are as Chalice's and SAM's packagers ship them: sources, which Lambda
compiles at every cold start, since it can't keep what it made. How much of the difference that is, the same peers show
when they are compiled as well:
"""


@dataclass(frozen=True)
class Measure:
    """Something that is measured: where its figure is, and what of a peer's Atrium should take at most."""

    name: str
    path: Sequence[str]
    unit: str
    goals: Mapping[str, tuple[float, float]]
    """By the peer: the goal, and the one beyond it."""

    def values_of(self, figures: Sequence[Mapping[str, Any]]) -> list[float]:
        """Return the figure of each process."""
        return [_value_at(each, self.path) for each in figures]


MEASURES: Final = (
    Measure("cold, by the clock", ("coldMs",), "ms", {CHALICE: (0.5, 0.3)}),
    Measure("cold, processor time", ("coldCpuMs",), "ms", {CHALICE: (0.5, 0.3)}),
    Measure("read one", ("cpuMs", "read one"), "ms", {CHALICE: (0.55, 0.3), FASTAPI: (0.35, 0.15)}),
    Measure("list 50", ("cpuMs", "list 50"), "ms", {CHALICE: (0.35, 0.15)}),
    Measure("create in a transaction", ("cpuMs", "create in a transaction"), "ms", {CHALICE: (0.65, 0.25)}),
    Measure("memory", ("memoryMb",), "MB", {CHALICE: (0.8, 0.6)}),
)


def written(results: Results) -> str:
    """Return the section."""
    of = results["of"]
    return "\n".join(
        (
            _METHOD.format(processes=len(results["stacks"][ATRIUM])),
            f"{render_table(results)}\n",
            _COMPILED_TEXT,
            f"{_compiled_table(results)}\n",
            f"Measured on {of['day']}, {of['machine']}, Python {of['python']}.\n",
        )
    )


def render_table(results: Results) -> str:
    """Return the table."""
    heads = ("", ATRIUM, CHALICE, FASTAPI, "of usual", "goal (beyond)", "of popular", "goal (beyond)")
    rows = [
        (
            measure.name,
            *(_value_text(measure, results["stacks"][stack]) for stack in (ATRIUM, CHALICE, FASTAPI)),
            _ratio_text(results, measure, CHALICE),
            goal_text(measure, CHALICE),
            _ratio_text(results, measure, FASTAPI),
            goal_text(measure, FASTAPI),
        )
        for measure in MEASURES
    ]
    return table(heads, rows)


def ratio(results: Results, measure: Measure, peer: str, aggregate: Callable[[list[float]], float] = median) -> float:
    """Return what Atrium takes of what a peer does: by the medians, or by another figure of all processes."""
    of_atrium, of_peer = (aggregate(measure.values_of(results["stacks"][name])) for name in (ATRIUM, peer))
    return of_atrium / of_peer


def goal_text(measure: Measure, peer: str) -> str:
    """Return what Atrium should take at most, or nothing where there is no goal."""
    return "≤ {:.2f} ({:.2f})".format(*measure.goals[peer]) if peer in measure.goals else ""


def _ratio_text(results: Results, measure: Measure, peer: str) -> str:
    median_ratio = ratio(results, measure, peer)
    max_ratio = max(median_ratio, ratio(results, measure, peer, min))
    return f"{median_ratio:.2f}{' ✓' if peer in measure.goals and max_ratio <= measure.goals[peer][0] else ''}"


def _compiled_table(results: Results) -> str:
    names = [CHALICE + _COMPILED_SUFFIX, FASTAPI + _COMPILED_SUFFIX]
    rows = [
        (
            measure.name,
            *(_value_text(measure, results["stacks"][name]) for name in names),
            *(f"{ratio(results, measure, name):.2f}" for name in names),
        )
        for measure in MEASURES
    ]
    return table(("", *names, *(f"of {name}" for name in names)), rows)


def _value_text(measure: Measure, figures: Sequence[Mapping[str, Any]]) -> str:
    values = measure.values_of(figures)
    digits = 0 if median(values) >= 50 else 2  # noqa: PLR2004 - three places are enough
    return f"{median(values):,.{digits}f} {measure.unit} ({min(values):,.{digits}f})"


def _value_at(figures: Any, path: Sequence[str]) -> float:
    for name in path:
        figures = figures[name]
    return float(figures)
