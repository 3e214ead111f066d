"""Waiting for what another process or thread does."""

import time
from collections.abc import Callable


def until(reached: Callable[[], bool], seconds: float = 10, *, every: float = 0.01) -> None:
    """Wait until something is so, and no longer than these seconds; look `every` so many."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(every)
