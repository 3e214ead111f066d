"""Several processes of the service in one: what each remembers of the requests that it counted."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from chalicelib.kernel.identity import auth
from chalicelib.kernel.rate_limits import request_quota


class Process:
    """A process that begins with no memory."""

    def __init__(self, counts: dict[str, OrderedDict[str, Any]] | None = None) -> None:
        self._counts = {} if counts is None else counts
        self._accepted: OrderedDict[tuple[str, str], None] = OrderedDict()

    @classmethod
    def here(cls) -> "Process":
        """Return the process at hand."""
        return cls(request_quota._counters)  # noqa: SLF001 - nothing but memory tells processes apart

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Let the block happen in this process."""
        with (
            patch.object(request_quota, "_counters", self._counts),
            patch.object(auth, "_accepted_keys", self._accepted),
        ):
            yield

    @property
    def principals(self) -> int:
        """How many principals it remembers."""
        return len(self._counts.get(request_quota.REQUESTS, ()))

    @property
    def unused(self) -> int:
        """How many requests it has leased and not let through yet."""
        return sum(count.left for counts in self._counts.values() for count in counts.values())
