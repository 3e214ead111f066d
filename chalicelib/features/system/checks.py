"""Whether what the service needs answers, asked at most every few seconds."""

import time
from collections.abc import Callable
from typing import Final

from chalicelib.features.system.models import Check
from chalicelib.kernel import due, queues, table
from chalicelib.kernel.clock import milliseconds, now_ms
from chalicelib.kernel.problems import Problem

_KEPT_SECONDS: Final = 5
_OVERDUE_MS: Final = 5 * 60 * 1000
_last: list[tuple[float, list[Check]]] = []


def checks() -> list[Check]:
    """Return each check's result, a few seconds old at most."""
    if not _last or time.monotonic() - _last[0][0] > _KEPT_SECONDS:
        results = [_check(name, look) for name, look in (("table", _table), ("queue", queues.reach), ("due", _due))]
        _last[:] = [(time.monotonic(), results)]
    return _last[0][1]


def _check(name: str, look: Callable[[], str | None]) -> Check:
    try:
        detail = look()
    except Problem as problem:
        detail = problem.detail
    return Check(name=name, status="degraded" if detail else "ok", detail=detail)


def _table() -> None:
    table.get(("STATUS", "#"))


def _due() -> str | None:
    oldest = due.oldest()
    late = oldest is not None and now_ms() - milliseconds(oldest) > _OVERDUE_MS
    return f"Something has been due since {oldest}." if late else None
