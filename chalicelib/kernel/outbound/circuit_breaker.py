"""A circuit breaker for calls of another service, with its state in this process."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from chalicelib.kernel.core.clock import now_ms

T = TypeVar("T")


class CircuitOpen(Exception):
    """The call was not made, because the latest calls failed."""


class CircuitBreaker:
    """After `max_failures` failed calls in a row, the circuit is open: no call is made for `pause_ms`.

    Then one call is made. If it fails, the circuit stays open for another pause, else it is closed.
    """

    def __init__(self, max_failures: int, pause_ms: int) -> None:
        self._max_failures, self._pause_ms = max_failures, pause_ms
        self._lock = Lock()
        self.close()

    def close(self) -> None:
        """Forget all failures."""
        self._failures, self._open_until = 0, 0

    def call(self, function: Callable[[], T], failure: type[Exception]) -> T:
        """Return the result of a function. `failure`: the exception that counts as a failure. Raises CircuitOpen."""
        self._require_permission()
        try:
            result = function()
        except failure:
            with self._lock:
                self._failures += 1
                if self._failures >= self._max_failures:
                    self._open_until = now_ms() + self._pause_ms
            raise
        self.close()
        return result

    def _require_permission(self) -> None:
        with self._lock:
            if self._failures < self._max_failures:
                return
            if now_ms() < self._open_until:
                raise CircuitOpen("The latest requests failed, so no other is sent for some seconds.")
            # Other threads get CircuitOpen until this call returns.
            self._open_until = now_ms() + self._pause_ms
