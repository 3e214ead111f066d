"""What the service begins beside a request's own path, made visible: threads that a test can wait for."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from unittest.mock import patch

_begun: list[Thread] = []


class Companion(Thread):
    """A thread that is remembered until someone has waited for it."""

    def start(self) -> None:
        _begun.append(self)
        super().start()


@contextmanager
def remembered() -> Iterator[None]:
    """Remember the threads that the service begins within the block."""
    with patch("chalicelib.kernel.identity.last_used.Thread", Companion):
        yield
    wait()


def wait() -> None:
    """Wait until all that was begun is done."""
    while _begun:
        with suppress(IndexError):  # another thread of the test waited for it
            _begun.pop().join()
