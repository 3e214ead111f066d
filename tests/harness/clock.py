"""Time travel: what the service takes for the present moment is shifted or stands still.

The service asks `time.time` and `time.time_ns` of the standard library, whether through its clock, for a TTL or in a
library; so they are what is replaced. Tokens are judged by `datetime`, and stay valid on every journey.
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
    """The clock that the service sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._shift_ns = 0
        self._frozen_ns: int | None = None
        monkeypatch.setattr(time, "time_ns", self._ns)
        monkeypatch.setattr(time, "time", lambda: self._ns() / _SECOND_NS)

    def shift(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Move the present moment; negative values lead back."""
        moved = round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _SECOND_NS)
        self._shift_ns += moved
        if self._frozen_ns is not None:
            self._frozen_ns += moved

    @contextmanager
    def later(self, **amounts: float) -> Iterator[None]:
        """Let the block happen so much later, and come back from there, whatever passes meanwhile."""
        shift_ns, frozen_ns = self._shift_ns, self._frozen_ns
        self.shift(**amounts)
        yield
        self._shift_ns, self._frozen_ns = shift_ns, frozen_ns

    def freeze(self, moment: str | None = None) -> str:
        """Let time stand still, now or at a moment (RFC 3339), and return the moment as the service writes it."""
        self._frozen_ns = timestamp_ms(moment) * _MS_NS if moment else self._ns()
        return now()

    def _ns(self) -> int:
        return _time_ns() + self._shift_ns if self._frozen_ns is None else self._frozen_ns


@contextmanager
def ago(*, minutes: int) -> Iterator[None]:
    """Let what is done within the block have been done so long ago."""
    present = time.time_ns

    def past() -> int:
        return present() - minutes * _MINUTE_NS

    with patch.object(time, "time_ns", past), patch.object(time, "time", lambda: past() / _SECOND_NS):
        yield
