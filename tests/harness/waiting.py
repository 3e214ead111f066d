"""Waits for conditions that other processes or threads fulfil."""

import time
from collections.abc import Callable


def until(reached: Callable[[], bool], seconds: float = 10, *, every: float = 0.01) -> None:
    """Wait until a condition is true. Raises AssertionError after the timeout."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(every)
