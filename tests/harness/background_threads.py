"""Tracks the threads that the service starts in the background of a request, so that tests can wait for them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from unittest.mock import patch

_started_threads: list[Thread] = []


class TrackedThread(Thread):
    """A thread that is tracked until it has been joined."""

    def start(self) -> None:
        super().start()
        _started_threads.append(self)  # Another thread of the test may join it from now on.


@contextmanager
def track_threads() -> Iterator[None]:
    with patch("chalicelib.kernel.identity.last_used.Thread", TrackedThread):
        yield
    join_threads()


def join_threads() -> None:
    while _started_threads:
        with suppress(IndexError):  # Another thread of the test has joined it.
            _started_threads.pop().join()
