"""Repeatable runs: time stands still, and ids, tokens and jitter follow from a label.

A request that is sent twice from the same stored items, under the same label, is answered and stored with the same
bytes. Randomness of other libraries stays as it is, so that their versions don't matter.
"""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final
from uuid import UUID

import pytest
import uuid_utils
from moto.sqs import models as sqs_models

from tests.harness.clock import Clock

_SEEDED: Final = ("chalicelib", "tests", "moto")
"""Whose randomness is repeatable; of moto it is the ids of uploads, which the service stores."""

_PASSING: Final = ("random", "secrets", "uuid", __name__)
_urandom: Final = os.urandom
_uuid7: Final = uuid_utils.uuid7
_monotonic: Final = time.monotonic


class _Randomness:
    """What is drawn under one label."""

    def __init__(self, label: str) -> None:
        self._of = {name: Random(f"{label} {name}") for name in _SEEDED}  # noqa: S311 - repeatable on purpose
        self._ids = 0

    def urandom(self, size: int) -> bytes:
        """Return seeded bytes, each package's own, and random ones to every other caller."""
        frame: Any = sys._getframe(1)  # noqa: SLF001
        while frame and frame.f_globals.get("__name__") in _PASSING:
            frame = frame.f_back
        asks = str(frame.f_globals.get("__name__")).partition(".")[0] if frame else ""
        return self._of[asks].randbytes(size) if asks in self._of else _urandom(size)

    def uuid7(self, timestamp: int | None = None, nanoseconds: int | None = None) -> UUID:
        """Return an id of a moment; ids of one moment sort in the order in which they were made."""
        self._ids += 1
        ms = (nanoseconds or 0) // 1_000_000 if timestamp is None else timestamp * 1000
        high = (ms or time.time_ns() // 1_000_000) << 80
        return UUID(int=high | 7 << 76 | (self._ids & 0xFFF) << 64 | 2 << 62 | self._of["chalicelib"].getrandbits(62))


@contextmanager
def repeatable(label: str, moment: str) -> Iterator[Clock]:
    """Let everything within the block happen at one moment, with the randomness of a label."""
    drawn = _Randomness(label)
    state = random.getstate()
    with pytest.MonkeyPatch.context() as patched:
        clock = Clock(patched)
        clock.freeze(moment)
        patched.setattr(time, "monotonic", lambda: 0.0)
        patched.setattr(sqs_models, "unix_time_millis", lambda: time.time() * 1000)
        patched.setattr(os, "urandom", drawn.urandom)
        patched.setattr(random, "_urandom", drawn.urandom)
        _replace(patched, _uuid7, drawn.uuid7)
        _replace(patched, _monotonic, lambda: 0.0)
        random.seed(label)
        yield clock
    random.setstate(state)


def _replace(patched: pytest.MonkeyPatch, original: object, replacement: object) -> None:
    """Replace a function in every module of the service that has imported it by its name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("chalicelib."):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    patched.setattr(module, attribute, replacement)
