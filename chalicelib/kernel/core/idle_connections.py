"""Pooled connections that Lambda may have kept over a freeze, and that the other side has given up meanwhile.

A network device that forgets an idle connection says nothing. The next request on it fails, or waits for a time-out.
"""

from collections.abc import Callable
from threading import Lock
from typing import Final

from chalicelib.kernel.core.clock import now_ms

MAX_IDLE_SECONDS: Final = 30
"""Time without a request after which a client opens new connections."""


class IdleConnections:
    """Closes a client's connections before its first request after `MAX_IDLE_SECONDS` without any.

    `close` closes them. It must not affect requests that are being sent. The time is that of the wall clock, because a
    monotonic clock can stand still in a frozen process.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._used_at_ms = now_ms()
        self._lock = Lock()

    def close_if_idle(self) -> None:
        """Call this before each request. It takes less than a microsecond unless connections are closed."""
        with self._lock:  # Other threads wait until the connections are closed, so that they do not use them.
            used_at_ms, self._used_at_ms = self._used_at_ms, now_ms()
            if self._used_at_ms - used_at_ms > MAX_IDLE_SECONDS * 1000:
                self._close()
