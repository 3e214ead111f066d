"""A clock for tests, which shifts or freezes the current time of the service.

It replaces `time.time` and `time.time_ns` of the standard library, which the service's clock, the computation of TTLs
and libraries use. Tokens are validated with `datetime`, so they stay valid at every shifted time.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

import pytest

from chalicelib.kernel.core.clock import now, timestamp_ms

_time_ns: Final = time.time_ns
_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_MINUTE_NS: Final = 60 * _SECOND_NS


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._shift_ns = 0
        self._frozen_ns: int | None = None
        monkeypatch.setattr(time, "time_ns", self._ns)
        monkeypatch.setattr(time, "time", lambda: self._ns() / _SECOND_NS)

    def shift(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Shift the current time. Negative values shift it into the past_time_ns."""
        offset_ns = round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _SECOND_NS)
        self._shift_ns += offset_ns
        if self._frozen_ns is not None:
            self._frozen_ns += offset_ns

    @contextmanager
    def shift_temporarily(self, **amounts: float) -> Iterator[None]:
        """Run the block at a later time, and restore the time of the beginning, even if the block shifts it."""
        shift_ns, frozen_ns = self._shift_ns, self._frozen_ns
        self.shift(**amounts)
        yield
        self._shift_ns, self._frozen_ns = shift_ns, frozen_ns

    def freeze(self, timestamp: str | None = None) -> str:
        """Freeze the time, now or at a timestamp (RFC 3339), and return the timestamp in the service's format."""
        self._frozen_ns = timestamp_ms(timestamp) * _MS_NS if timestamp else self._ns()
        return now()

    def _ns(self) -> int:
        return _time_ns() + self._shift_ns if self._frozen_ns is None else self._frozen_ns


@contextmanager
def backdate(*, minutes: int) -> Iterator[None]:
    """Run the block some minutes in the past_time_ns."""
    current_time_ns = time.time_ns

    def past_time_ns() -> int:
        return current_time_ns() - minutes * _MINUTE_NS

    with patch.object(time, "time_ns", past_time_ns), patch.object(time, "time", lambda: past_time_ns() / _SECOND_NS):
        yield
