"""The section that compares Atrium with two common stacks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Compared with other stacks"

ATRIUM, CHALICE, FASTAPI = "atrium", "usual", "popular"
_COMPILED_SUFFIX: Final = ", compiled"

STACK_NAMES: Final = {ATRIUM: "Atrium", CHALICE: "Chalice", FASTAPI: "FastAPI"}
"""The names of the stacks on the page, by their names in the results."""

Results = Mapping[str, Any]

_METHOD: Final = """\
![Atrium compared with the Chalice and the FastAPI stack](performance.svg)

`make bench` runs the same three operations in Atrium and in two common stacks:

- the **Chalice** stack (`benchmarks/peers/chalice_baseline.py`): Chalice, a default boto3 client, Powertools' Logger
  and Metrics, and pydantic models that are built at import. It has no Tracer, which would make it slower.
- the **FastAPI** stack (`benchmarks/peers/fastapi_baseline.py`): FastAPI with Mangum, and a boto3 resource.

Both have 153 routes and 120 models. Atrium has more. All three verify the token, look up memberships, and return the
same fields. They commit a new space with its audit entry in one transaction, and then send its event to a queue. The
two stacks leave out further requirements of Atrium's contract: ETags, idempotency keys, request counting, an outbox
and a hash-chained log (`benchmarks/peers/records.py`). A stack is timed only after its responses have been checked.

Each value comes from new processes, {processes} for each stack, which run in turn. **Cold** is the time from the import
to the first response of a read, as elapsed time and as processor time. **Memory** is the resident memory at that point.
All other rows are processor time for one call of a warm process. AWS calls use TLS to another process, which responds
at once. Values are medians, with the minimum in brackets. Ratios are ratios of medians. A ✓ means that both the ratio
of the medians and the ratio of the minima meet the goal.
"""

_COMPILED_TEXT: Final = """\
Atrium's package is deployed compiled. The packages of the two stacks contain only source files, as Chalice and SAM
create them. Lambda compiles these at every cold start, because it cannot store the result. The following table shows
the same stacks with compiled packages:
"""


@dataclass(frozen=True)
class Measure:
    """A measured quantity: its path in the results, and the goal for its ratio to each peer."""

    name: str
    path: Sequence[str]
    unit: str
    goals: Mapping[str, tuple[float, float]]
    """The goal and the stretch goal for each peer."""

    def values_of(self, processes: Sequence[Mapping[str, Any]]) -> list[float]:
        """Return the value of each process."""
        return [_value_at(each, self.path) for each in processes]


MEASURES: Final = (
    Measure("cold, elapsed time", ("coldMs",), "ms", {CHALICE: (0.5, 0.3)}),
    Measure("cold, processor time", ("coldCpuMs",), "ms", {CHALICE: (0.5, 0.3)}),
    Measure("read one", ("cpuMs", "read one"), "ms", {CHALICE: (0.55, 0.3), FASTAPI: (0.35, 0.15)}),
    Measure("list 50", ("cpuMs", "list 50"), "ms", {CHALICE: (0.35, 0.15)}),
    Measure("create in a transaction", ("cpuMs", "create in a transaction"), "ms", {CHALICE: (0.65, 0.25)}),
    Measure("memory", ("memoryMb",), "MB", {CHALICE: (0.8, 0.6)}),
)


def render(results: Results) -> str:
    """Return the section."""
    environment = results["of"]
    return "\n".join(
        (
            _METHOD.format(processes=len(results["stacks"][ATRIUM])),
            f"{render_table(results)}\n",
            _COMPILED_TEXT,
            f"{_compiled_table(results)}\n",
            f"Measured on {environment['day']}, {environment['machine']}, Python {environment['python']}.\n",
        )
    )


def render_table(results: Results) -> str:
    """Return the comparison as a table."""
    headings = (
        "",
        *(STACK_NAMES[stack] for stack in (ATRIUM, CHALICE, FASTAPI)),
        "ratio to Chalice",
        "goal (stretch)",
        "ratio to FastAPI",
        "goal (stretch)",
    )
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
    return table(headings, rows)


def ratio(results: Results, measure: Measure, peer: str, aggregate: Callable[[list[float]], float] = median) -> float:
    """Return the ratio of Atrium to a peer, of the medians or of another aggregate of all processes."""
    of_atrium, of_peer = (aggregate(measure.values_of(results["stacks"][name])) for name in (ATRIUM, peer))
    return of_atrium / of_peer


def goal_text(measure: Measure, peer: str) -> str:
    """Return the goal for a peer, or an empty string if there is none."""
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
    labels = [STACK_NAMES[stack] + _COMPILED_SUFFIX for stack in (CHALICE, FASTAPI)]
    return table(("", *labels, *(f"ratio to {label}" for label in labels)), rows)


def _value_text(measure: Measure, processes: Sequence[Mapping[str, Any]]) -> str:
    values = measure.values_of(processes)
    digits = 0 if median(values) >= 50 else 2  # noqa: PLR2004 - three places are enough
    return f"{median(values):,.{digits}f} {measure.unit} ({min(values):,.{digits}f})"


def _value_at(results: Any, path: Sequence[str]) -> float:
    for name in path:
        results = results[name]
    return float(results)
