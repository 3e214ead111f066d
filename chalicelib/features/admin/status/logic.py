"""Whether what the service needs answers, and whether its workers keep up; asked at most every few seconds."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import Final

from chalicelib.features.admin.status.models import Check
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.logs import logger
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues, scheduler
from chalicelib.kernel.work.scheduler import Backlog

LIMIT_SECONDS: Final = 1.0
"""What does not answer in that time is not well: nobody who watches a service waits for longer."""

_KEPT_SECONDS: Final = 5
_OVERDUE_MS: Final = 5 * 60 * 1000
_LAGGING_MS: Final = 2 * 60 * 1000
"""An entry whose message is lost waits for some 70 s: until the sweep finds it."""

_last: list[tuple[float, list[Check]]] = []


def checks() -> list[Check]:
    """Return each check's result, a few seconds old at most."""
    if not _last or time.monotonic() - _last[0][0] > _KEPT_SECONDS:
        _last[:] = [(time.monotonic(), _checked())]
    return _last[0][1]


def _checked() -> list[Check]:
    looks: dict[str, Callable[[], Backlog | None]] = {"table": _table, "backlog": scheduler.oldest_pending}
    looks |= {name: partial(queues.ping, url) for name, url in queues.queue_urls().items()}
    threads = ThreadPoolExecutor(len(looks), table.MAX_PARALLEL_READS)
    asked = {name: threads.submit(copy_context().run, look) for name, look in looks.items()}
    threads.shutdown(wait=False)  # What takes too long ends by itself; nobody waits for it.
    wait(asked.values(), LIMIT_SECONDS)
    faults = {name: _fault(name, answer) for name, answer in asked.items()}
    silent = [f"{name}: {fault}" for name, fault in faults.items() if name in queues.queue_urls() and fault]
    return [
        _check("table", faults["table"]),
        _check("queues", " ".join(silent) or None),
        *_backlog(faults["backlog"], asked["backlog"]),
    ]


def _table() -> None:
    table.get(("STATUS", "#"))


def _fault(name: str, answer: "Future[Backlog | None]") -> str | None:
    """Return what is wrong with what was asked, in words that tell nothing of the inside; None if it answered well."""
    if not answer.done():
        return f"It did not answer within {LIMIT_SECONDS:g} s."
    error = answer.exception()
    if error is None or isinstance(error, Problem):
        return error.detail if error else None
    logger().error("check", extra={"check": name}, exc_info=error)
    return "It can't be asked; the log says why."


def _backlog(fault: str | None, answer: "Future[Backlog | None]") -> list[Check]:
    backlog = None if fault else answer.result()
    if backlog is None:
        return [_check("ledger", fault), _check("due", fault)]
    late = _older(backlog.entry_since, _LAGGING_MS)
    overdue = _older(backlog.due_since, _OVERDUE_MS)
    return [
        _check(
            "ledger", f"An entry has waited for its place in its log since {backlog.entry_since}." if late else None
        ),
        _check("due", f"Something has been due since {backlog.due_since}." if overdue else None),
    ]


def _older(since: str | None, than_ms: int) -> bool:
    return since is not None and now_ms() - timestamp_ms(since) > than_ms


def _check(name: str, fault: str | None) -> Check:
    return Check(name=name, status="degraded" if fault else "ok", detail=fault)
