"""Waits for conditions that other processes or threads fulfil."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], timeout_seconds: float = 60, *, interval_seconds: float = 0.01) -> None:
    """Wait until a condition is true. Raises AssertionError after the timeout, which suits a slow machine."""
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(interval_seconds)
