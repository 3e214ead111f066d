"""Deterministic runs: time is frozen, and ids, tokens and jitter are derived from a label.

Two runs of a request with the same stored items and label have the same response and writes, byte for byte. The
randomness of other libraries is not replaced, so that the recording does not depend on their versions.
"""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from types import ModuleType
from typing import Any, Final
from uuid import UUID

import pytest
import uuid_utils
from moto.sqs import models as sqs_models

from tests.harness.clock import Clock

_SEEDED_PACKAGES: Final = ("chalicelib", "tests", "moto")
"""The packages with seeded randomness. That of moto is for the ids of uploads, which the service stores."""

_TRANSPARENT_MODULES: Final = ("random", "secrets", "uuid", __name__)
_urandom: Final = os.urandom
_uuid7: Final = uuid_utils.uuid7
_monotonic: Final = time.monotonic


class _Randomness:
    def __init__(self, label: str) -> None:
        self._generators = {name: Random(f"{label} {name}") for name in _SEEDED_PACKAGES}  # noqa: S311 - repeatable on purpose
        self._ids = 0

    def urandom(self, size: int) -> bytes:
        """Return bytes from the generator of the calling package, or random ones for other packages."""
        frame: Any = sys._getframe(1)  # noqa: SLF001
        while frame and frame.f_globals.get("__name__") in _TRANSPARENT_MODULES:
            frame = frame.f_back
        package = str(frame.f_globals.get("__name__")).partition(".")[0] if frame else ""
        return self._generators[package].randbytes(size) if package in self._generators else _urandom(size)

    def uuid7(self, timestamp: int | None = None, nanoseconds: int | None = None) -> UUID:
        """Return an id for a time. Ids of the same time sort in the order of their creation."""
        self._ids += 1
        ms = (nanoseconds or 0) // 1_000_000 if timestamp is None else timestamp * 1000
        high = (ms or time.time_ns() // 1_000_000) << 80
        return UUID(
            int=high | 7 << 76 | (self._ids & 0xFFF) << 64 | 2 << 62 | self._generators["chalicelib"].getrandbits(62)
        )


@contextmanager
def run_deterministically(label: str, timestamp: str) -> Iterator[Clock]:
    """Run the block at a fixed time with the randomness of a label."""
    randomness = _Randomness(label)
    state = random.getstate()
    with pytest.MonkeyPatch.context() as patched:
        clock = Clock(patched)
        clock.freeze(timestamp)
        patched.setattr(time, "monotonic", lambda: 0.0)
        patched.setattr(sqs_models, "unix_time_millis", lambda: time.time() * 1000)
        patched.setattr(os, "urandom", randomness.urandom)
        patched.setattr(random, "_urandom", randomness.urandom)
        _replace(patched, _uuid7, randomness.uuid7)
        _replace(patched, _monotonic, lambda: 0.0)
        random.seed(label)
        yield clock
    random.setstate(state)


def _replace(patched: pytest.MonkeyPatch, original: object, replacement: object) -> None:
    """Replace a function in every module of the service that imports it by name."""
    for module, attribute in _find_uses(original, len(sys.modules)):
        patched.setattr(module, attribute, replacement)


@cache
def _find_uses(function: object, _module_count: int) -> list[tuple[ModuleType, str]]:
    """Return the modules of the service that import a function by name. More may do so once more are imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("chalicelib.")]
    return [(module, name) for module in modules for name, value in vars(module).items() if value is function]
