"""Search for the schemas of event types that take longest, among those that are accepted.

    python -m benchmarks.schemas [MINUTES]

It repeats each feature of a schema as often as the limits allow, in each kind of container, then random combinations.
Each schema is measured with the data of 64 KiB that takes longest. The seed is fixed. It prints the slowest ones,
stores the results and writes `docs/reference/schemas.md`. The exit status is 1 if a validation takes 20 ms or more.

It also measures how long finding the personal data takes, for schemas in which every subschema marks some.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from random import Random
from typing import Any, Final

from benchmarks.schemas import document
from benchmarks.schemas.candidates import VALUES, Candidate, iter_candidates, iter_marked_candidates
from benchmarks.schemas.measuring import (
    is_small_enough,
    mark_subschemas,
    measure_compilation,
    measure_errors,
    measure_milliseconds,
    measure_personal_data,
    measure_validation,
)
from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES, estimate_cost

MAX_MILLISECONDS: Final = 20.0
_MAX_MEMORY_BYTES: Final = 4 * 1000**3
_TRIAL_BYTES: Final = 8 * 1024
_TRIED_VALUES: Final = 2
_SEED: Final = 28


def main(minutes: float) -> int:
    """Search, store and print the results, and return the exit status."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    deadline = time.monotonic() + 60 * minutes
    candidates = iter_candidates(Random(_SEED))  # noqa: S311 - a search with a fixed seed
    measured = [_measure(next(candidates))]
    while time.monotonic() < deadline:
        measured.append(_measure(next(candidates)))
    results = document.summarize(measured, [*map(_measure_personal_data, iter_marked_candidates())])
    document.RESULTS_FILE.write_text(json.dumps(results, indent=1) + "\n")
    document.PAGE_FILE.write_text(document.render_page())
    for row in results["validation"]:
        print(f"{row['milliseconds']:7.2f} ms, {row['estimate']:.2f} estimated: {row['name']}")
    return int(max(row["milliseconds"] for row in results["validation"]) >= MAX_MILLISECONDS)


def _measure(candidate: Candidate) -> dict[str, Any]:
    """Return the times of a schema with the data that takes longest, in milliseconds."""
    slowest = max(_slowest_data(candidate), key=lambda data: measure_validation(candidate.schema, data))
    invalid = candidate.schema | {"required": ["missing"]}
    return {
        "name": candidate.name,
        "milliseconds": measure_validation(candidate.schema, slowest),
        "estimate": estimate_cost(candidate.schema).nanoseconds / 1e6,
        "compilation": measure_compilation(candidate.schema),
        "errors": max(measure_errors(schema, slowest) for schema in (candidate.schema, invalid)),
    }


def _measure_personal_data(candidate: Candidate) -> tuple[float, float]:
    """Return the milliseconds and the megabytes for the longest of some data that is evaluated."""
    schema = mark_subschemas(candidate.schema)
    finder = PersonalDataFinder(schema)
    size = DATA_BYTES
    while size > 1 and not finder.can_evaluate(candidate.fill(0, size)):
        size = size * 3 // 4
    return measure_personal_data(schema, candidate.fill(0, size))


def _slowest_data(candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Yield data of 64 KiB, made of the values that take longest in data of 8 KiB."""
    validator = compile_schema(candidate.schema)
    order = count()
    trials = []
    for value in VALUES:
        data = candidate.fill(value, _TRIAL_BYTES)
        trials.append((measure_milliseconds(partial(validator.is_valid, data)), next(order), value))
    values = [value for _, _, value in sorted(trials, reverse=True)[:_TRIED_VALUES]]
    for value in values:
        data = candidate.fill(value, DATA_BYTES)
        yield data if is_small_enough(data) else candidate.fill(value, DATA_BYTES // 2)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0))
