"""Measures how long a schema takes to compile, and data to validate."""

import json
import resource
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

from chalicelib.features.events.types.logic.compiled_schemas import compile_schema
from chalicelib.features.events.types.logic.data_errors import locate_errors
from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder
from chalicelib.features.events.types.logic.schema_costs import DATA_BYTES
from chalicelib.features.events.types.logic.schema_keywords import PERSONAL_DATA, convert_subschemas
from chalicelib.features.events.types.logic.schema_parts import SchemaParts

_RUNS: Final = 3


def measure_milliseconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call in milliseconds."""
    started_at = time.process_time()
    run()
    return (time.process_time() - started_at) * 1000


def measure_validation(schema: Mapping[str, Any], data: Any) -> float:
    """Return the milliseconds that the first validation after a start of the process takes, the least of three.

    The automata of patterns are built by the first one.
    """
    validators = [compile_schema(schema) for _ in range(_RUNS)]
    return min(measure_milliseconds(partial(validator.is_valid, data)) for validator in validators)


def measure_compilation(schema: Mapping[str, Any]) -> float:
    """Return the milliseconds that compiling a schema takes, the least of three."""
    return min(measure_milliseconds(lambda: compile_schema(schema)) for _ in range(_RUNS))


def measure_errors(schema: Mapping[str, Any], data: Any) -> float:
    """Return the milliseconds to validate data and to locate its errors, the least of three.

    The parts of the schema are compiled by the first one.
    """

    def run(parts: SchemaParts) -> None:
        if not parts.validator.is_valid(data):
            locate_errors(parts, data)

    return min(measure_milliseconds(partial(run, SchemaParts(schema))) for _ in range(_RUNS))


def mark_subschemas(schema: Any) -> Any:
    """Return a schema in which each subschema but the root marks the values that it accepts as personal data."""
    if not isinstance(schema, dict):
        return schema
    return convert_subschemas(
        schema,
        lambda each: (
            {**marked, PERSONAL_DATA: True} if isinstance(marked := mark_subschemas(each.schema), dict) else marked
        ),
    )


def measure_personal_data(schema: Mapping[str, Any], data: Any) -> tuple[float, float]:
    """Return the milliseconds and the megabytes that finding the personal data of an event takes.

    The memory is measured in a process of its own.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        return pool.submit(_find_personal_data, schema, data).result()


def _find_personal_data(schema: Mapping[str, Any], data: Any) -> tuple[float, float]:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    milliseconds = measure_milliseconds(lambda: PersonalDataFinder(schema).find(data))
    return milliseconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kilobytes) / 1024


def size_of(data: Any) -> int:
    """Return the bytes of data as JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def is_small_enough(data: Any) -> bool:
    """Return whether an event can have the data."""
    return size_of(data) <= DATA_BYTES
