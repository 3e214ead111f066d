"""`docs/reference/schemas.md`: the slowest schemas that the search found."""

import json
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.events.types.logic.personal_data import MAX_EVALUATION_BYTES
from chalicelib.features.events.types.logic.schema_bounds import MAX_VALIDATION_MILLISECONDS
from local.generators.markdown import table
from local.paths import ROOT

RESULTS_FILE: Final = ROOT / "benchmarks" / "results" / "schemas.json"
PAGE_FILE: Final = ROOT / "docs" / "reference" / "schemas.md"
_MAX_ROWS: Final = 12

_HEAD: Final = """\
# Slowest schemas of event types

`python -m benchmarks.schemas` searches for accepted schemas that take long, and writes this page. It repeats each
feature of a schema as often as the limits allow, in each kind of list and object, and then random combinations. It
measured {count:,} schemas, each with the data of 64 KiB that takes longest. Times are processor time on one machine.

A schema is accepted if its *estimate*, which depends on nothing but the schema, is {limit} ms or less. The first
validation in a process is measured: it builds the automata of the schema's patterns. The slowest one took
**{slowest:.1f} ms**, the slowest compilation {compilation:.1f} ms.

If data is not valid, the service locates its errors. The slowest search for errors, together with the validation and
the compilation of parts of the schema, took {errors:.1f} ms.

The erasure of a person evaluates which data `x-personal-data` marks. If the estimated memory of that is more than
{memory_limit} MiB, all of the data counts as personal, so the event is erased if its data contains the person's id
anywhere. With all subschemas marked, an evaluation took up to {personal_data:.0f} ms and {megabytes:.0f} MB.
"""


def summarize(measured: Sequence[dict[str, Any]], personal_data: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return the results to store: the slowest validations, and the longest other times.

    `personal_data`: the milliseconds and the megabytes to find it with other schemas.
    """
    slowest = sorted(measured, key=lambda row: row["milliseconds"], reverse=True)[:_MAX_ROWS]
    return {
        "count": len(measured),
        "compilation": round(max(row["compilation"] for row in measured), 2),
        "errors": round(max(row["errors"] for row in measured), 2),
        **summarize_personal_data(personal_data),
        "validation": [
            {"name": row["name"], "milliseconds": round(row["milliseconds"], 2), "estimate": round(row["estimate"], 2)}
            for row in slowest
        ],
    }


def summarize_personal_data(measured: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return the results to store of the measurement of personal data."""
    milliseconds, megabytes = (max(each[number] for each in measured) for number in (0, 1))
    return {"personal_data": round(milliseconds, 2), "personal_data_megabytes": round(megabytes, 1)}


def render_page() -> str:
    """Return the page of the stored results."""
    results = json.loads(RESULTS_FILE.read_text())
    head = _HEAD.format(
        count=results["count"],
        limit=MAX_VALIDATION_MILLISECONDS,
        slowest=results["validation"][0]["milliseconds"],
        compilation=results["compilation"],
        errors=results["errors"],
        memory_limit=MAX_EVALUATION_BYTES // 1024**2,
        personal_data=results["personal_data"],
        megabytes=results["personal_data_megabytes"],
    )
    rows = [[row["name"], f"{row['milliseconds']:.2f}", f"{row['estimate']:.2f}"] for row in results["validation"]]
    return f"{head}\n{table(['Schema', 'ms', 'Estimate, ms'], rows)}\n"
