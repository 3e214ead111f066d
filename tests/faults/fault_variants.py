"""Variants of faults: at a single AWS call, or at that call and all later ones."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Final

import pytest

from tests.harness.faults import CallSites, Fault, InjectedFault, inject_fault

FAULTS_AFTER_SUCCESS: Final = (Fault.RESPONSE_LOST, Fault.RETRIED, Fault.DIED_AFTER)
"""Faults after the call has taken effect. For reads, they are equivalent to the faults before the call."""

REPEATED_FAULTS: Final = (Fault.THROTTLED, Fault.TIMED_OUT, Fault.CANCELLED_BY_THROTTLE, Fault.CONFLICT)


@dataclass(frozen=True)
class Variant:
    """A fault at one call or at all calls from one on."""

    fault: Fault
    is_repeated: bool

    def inject(self, at: int) -> AbstractContextManager[InjectedFault]:
        """Inject the fault into the block, at the call with this number."""
        times = None if self.is_repeated else 1
        return inject_fault(self.fault, first_call=at, times=times, include_reads=self._includes_reads)

    def numbers_of_distinct_calls(self, call_sites: CallSites) -> list[int]:
        """Return the numbers of the recorded calls at which the fault can have different effects."""
        return call_sites.numbers_of_distinct_calls(self.fault, include_reads=self._includes_reads)

    @property
    def _includes_reads(self) -> bool:
        return self.fault not in FAULTS_AFTER_SUCCESS

    def __str__(self) -> str:
        return self.fault.name.lower() + ("-lasting" if self.is_repeated else "")


VARIANTS: Final = [
    *(Variant(fault, is_repeated=False) for fault in Fault),
    *(Variant(f, is_repeated=True) for f in REPEATED_FAULTS),
]
with_all_variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)

_REDUNDANT_VARIANTS: Final = ("internal_error", "timed_out", "timed_out-lasting", "cancelled_by_throttle-lasting")
"""Variants that are equivalent to others if no client reads the response."""
_ESSENTIAL_VARIANTS: Final = ("died_after", "conflict")
"""Variants after which work has to continue elsewhere, or to start again."""


def marks_of_variant(variant: Variant) -> list[pytest.MarkDecorator]:
    """Return the marks of a variant. The default run tests only the essential ones."""
    return [] if str(variant) in _ESSENTIAL_VARIANTS else [pytest.mark.exhaustive]


def exhaustive_unless_essential(variants: Iterable[Variant]) -> list[object]:
    """Return variants as parameters with their marks."""
    return [pytest.param(each, id=str(each), marks=marks_of_variant(each)) for each in variants]


WORK_VARIANTS: Final = [variant for variant in VARIANTS if str(variant) not in _REDUNDANT_VARIANTS]
with_work_variants = pytest.mark.parametrize("variant", exhaustive_unless_essential(WORK_VARIANTS))


def call_numbers() -> Iterator[int]:
    """Yield the numbers of the calls at which to inject a fault."""
    return count(1)
