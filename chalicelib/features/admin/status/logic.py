"""Health checks of the service's dependencies and background work. Results are cached for a few seconds."""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Final

from chalicelib.features.admin.status.models import Check
from chalicelib.kernel.core import threads
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.logs import powertools_logger
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues, scheduler
from chalicelib.kernel.work.scheduler import Backlog

TIMEOUT_SECONDS: Final = 1.0
"""Time after which a dependency counts as unhealthy."""

_CACHE_SECONDS: Final = 5
_MAX_OVERDUE_MS: Final = 5 * 60 * 1000
_MAX_LAG_MS: Final = 2 * 60 * 1000
"""The sweep finds an entry whose message was lost after about 70 seconds."""

_cached_checks: list[tuple[float, list[Check]]] = []


def run_checks_unless_recent() -> list[Check]:
    """Return the result of each check, at most a few seconds old."""
    if not _cached_checks or time.monotonic() - _cached_checks[0][0] > _CACHE_SECONDS:
        _cached_checks[:] = [(time.monotonic(), _run_all_checks())]
    return _cached_checks[0][1]


def _run_all_checks() -> list[Check]:
    probes: dict[str, Callable[[], Backlog | None]] = {
        "table": _probe_table,
        "backlog": scheduler.read_oldest_due_task_and_entry_times,
    }
    probes |= {name: partial(queues.require_reachable_queue, url) for name, url in queues.queue_urls_by_name().items()}
    # Slow probes end on their own, at any later time. Nothing waits for them, and they change nothing.
    futures = {
        name: threads.start_thread(probe, name=f"{table.PARALLEL_READ_THREAD_PREFIX} {name}")
        for name, probe in probes.items()
    }
    wait(futures.values(), TIMEOUT_SECONDS)
    errors = {name: _timeout_or_error_text(name, future) for name, future in futures.items()}
    queue_errors = [
        f"{name}: {error}" for name, error in errors.items() if name in queues.queue_urls_by_name() and error
    ]
    return [
        _build_check("table", errors["table"]),
        _build_check("queues", " ".join(queue_errors) or None),
        *_build_backlog_checks(errors["backlog"], futures["backlog"]),
    ]


def _probe_table() -> None:
    table.get(("STATUS", "#"))


def _timeout_or_error_text(probe_name: str, future: "Future[Backlog | None]") -> str | None:
    """Return what is wrong with a dependency, without internal details; None if it is healthy."""
    if not future.done():
        return f"It did not respond within {TIMEOUT_SECONDS:g} s."
    error = future.exception()
    if error is None or isinstance(error, Problem):
        return error.detail if error else None
    powertools_logger().error("check", extra={"check": probe_name}, exc_info=error)
    return "The check failed. See the log for the reason."


def _build_backlog_checks(error_text: str | None, future: "Future[Backlog | None]") -> list[Check]:
    backlog = None if error_text else future.result()
    if backlog is None:
        return [_build_check("ledger", error_text), _build_check("due", error_text)]
    is_lagging = _is_older_than(backlog.entry_since, _MAX_LAG_MS)
    is_overdue = _is_older_than(backlog.due_since, _MAX_OVERDUE_MS)
    return [
        _build_check("ledger", f"A log entry has been pending since {backlog.entry_since}." if is_lagging else None),
        _build_check("due", f"A scheduled task has been due since {backlog.due_since}." if is_overdue else None),
    ]


def _is_older_than(since: str | None, max_age_ms: int) -> bool:
    return since is not None and now_ms() - timestamp_ms(since) > max_age_ms


def _build_check(check_name: str, error_text: str | None) -> Check:
    return Check(name=check_name, status="degraded" if error_text else "ok", detail=error_text)
