"""What goes wrong: each fault once, at one call; and those that last, at that call and every one after it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Final

import pytest

from tests.harness.faults import Fault, Injected, failing

DONE: Final = (Fault.UNANSWERED, Fault.RETRIED, Fault.DIED_AFTER)
"""Done, though it failed. At a call that does nothing they say no more than the faults that come before it."""

LASTING: Final = (Fault.THROTTLED, Fault.TIMED_OUT, Fault.CANCELLED_BY_THROTTLE, Fault.CONFLICT)


@dataclass(frozen=True)
class Variant:
    """A fault, once or lasting."""

    fault: Fault
    lasts: bool

    def strikes(self, at: int) -> AbstractContextManager[Injected]:
        """Spoil the calls of the block from the `at`th on."""
        return failing(self.fault, at=at, times=None if self.lasts else 1, reads=self.fault not in DONE)

    def __str__(self) -> str:
        return self.fault.name.lower() + ("-lasting" if self.lasts else "")


VARIANTS: Final = [*(Variant(fault, lasts=False) for fault in Fault), *(Variant(f, lasts=True) for f in LASTING)]
by_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)

_ALIKE: Final = ("broken", "timed_out", "timed_out-lasting", "cancelled_by_throttle-lasting")
by_lean_variant = pytest.mark.parametrize("variant", [v for v in VARIANTS if str(v) not in _ALIKE], ids=str)
"""To whom nobody listens, those left out look like others."""


def calls() -> Iterator[int]:
    """Count the calls to spoil, from the first on."""
    return count(1)
