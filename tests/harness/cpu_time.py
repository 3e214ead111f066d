"""The processor time of a function."""

from collections.abc import Callable
from time import process_time
from typing import Final

_ATTEMPTS: Final = 3


def shortest_cpu_seconds(function: Callable[[], object]) -> float:
    """Return the shortest of three durations, because any single one can include a garbage collection."""
    durations_seconds = []
    for _ in range(_ATTEMPTS):
        started_at = process_time()
        function()
        durations_seconds.append(process_time() - started_at)
    return min(durations_seconds)
