"""Simulates several processes of the service, each with its own request counters."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from chalicelib.kernel.identity import auth
from chalicelib.kernel.rate_limits import request_quota


class SimulatedProcess:
    """A process that starts without counters."""

    def __init__(self, counters: dict[str, OrderedDict[str, Any]] | None = None) -> None:
        self._counters = {} if counters is None else counters
        self._accepted_keys: OrderedDict[tuple[str, str], None] = OrderedDict()

    @classmethod
    def from_current_process(cls) -> "SimulatedProcess":
        return cls(request_quota._counters)  # noqa: SLF001 - processes differ only in this state

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Run the block in this process."""
        with (
            patch.object(request_quota, "_counters", self._counters),
            patch.object(auth, "_accepted_keys", self._accepted_keys),
        ):
            yield

    @property
    def principal_count(self) -> int:
        return len(self._counters.get(request_quota.REQUESTS, ()))

    @property
    def unused_reservations(self) -> int:
        """The number of reserved requests that it has not allowed yet."""
        return sum(counter.remaining for counters in self._counters.values() for counter in counters.values())
