"""Verifies every log, for example after a restore: `python -m local verify`. The command changes nothing.

There is no list of all logs, and a bucket of anchors contains only logs that have grown since its creation. So the
command scans the table for logs. The anchors name logs that are missing in the table.
"""

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import VerificationProgress, VerificationResult
from chalicelib.features.audit.log.logic.whole_logs import (
    find_failure_or_none,
    is_stored,
    list_anchored_logs,
    verify_remaining_windows,
)
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.storage import table
from local.tools.table_scans import MAX_SCANNED_UNITS_PER_SECOND, iter_scanned_items

_STORED: Final = "stored"
_ANCHORED: Final = "anchored"
_OUTBOX, _ = ledger.head_key("")
_SCAN: Final[dict[str, Any]] = {
    "ProjectionExpression": "pk",
    "FilterExpression": "begins_with(pk, :outbox)",
    "ExpressionAttributeValues": {":outbox": {"S": _OUTBOX}},
}
_CONCURRENT_LOGS: Final = 8
"""Logs that are verified at the same time."""

_REPORT_INTERVAL_SECONDS: Final = 20


class VerificationNotRun(Exception):
    """AWS did not respond, or the arguments are wrong. The message says how to continue."""


@dataclass(frozen=True)
class LogPosition:
    """A log, and the value of `--after` that continues after it.

    The value is `stored/<log>`, or `anchored/<log>` for a log that is missing in the table.
    """

    log: str
    after: str


def verify_logs(after: str = "", bucket: str | None = None) -> bool:
    """Verify all logs after a position, print a line for each failure and a summary, and return whether none failed.

    Compares the logs with the anchors in `bucket`, by default in the bucket of the settings. Raises VerificationNotRun.
    """
    if bucket:
        os.environ["ANCHORS_BUCKET"] = bucket
        settings.cache_clear()
    run = VerificationRun(after)
    try:
        run.verify(iter_log_positions(after, max_units_per_second=math.inf))  # A restored stage has no other load.
    except Problem as problem:
        raise VerificationNotRun(f"{problem.detail} {run.resume_hint}") from problem
    except (ClientError, BotoCoreError) as error:
        raise VerificationNotRun(f"{error}. {run.resume_hint}") from error
    except KeyboardInterrupt:
        print(f"Interrupted. {run.resume_hint}", file=sys.stderr)
        raise
    if not (run.log_count or after):
        raise VerificationNotRun(
            "The table contains no log. It is empty, or not the table that you meant: check TABLE_NAME."
        )
    bucket = settings().anchors_bucket
    reference = f"the anchors in {bucket}" if bucket else "their signed heads (no anchors)"
    result = f"{run.failed_count} failed" if run.failed_count else "all verified"
    logs, entries = describe_count(run.log_count, "log"), describe_count(run.entry_count, "entry", "entries")
    print(f"{logs} with {entries}, compared with {reference}: {result}.")
    return not run.failed_count


@dataclass
class VerificationRun:
    """The progress of one call of the command: the position after which to continue, and counts."""

    after: str
    log_count: int = 0
    entry_count: int = 0
    failed_count: int = 0

    @property
    def resume_hint(self) -> str:
        """How to verify the remaining logs."""
        return f"To continue from here: --after {self.after}" if self.after else "Start again from the beginning."

    def verify(self, positions: Iterator[LogPosition]) -> None:
        """Verify the logs in batches, each batch in parallel, and count the results in order."""
        reported_at = time.monotonic()
        while batch := list(islice(positions, _CONCURRENT_LOGS)):
            results = table.gather(lambda position: verify_log(position.log), batch)
            for position, log_results in zip(batch, results, strict=True):
                self._count(position, log_results)
            if time.monotonic() - reported_at > _REPORT_INTERVAL_SECONDS:
                reported_at = time.monotonic()
                logs = describe_count(self.log_count, "log")
                print(f"{logs} verified so far. {self.resume_hint}", file=sys.stderr, flush=True)

    def _count(self, position: LogPosition, results: Sequence[VerificationResult]) -> None:
        self.log_count += 1
        self.entry_count += results[-1].progress.verified.tree.size
        if find_failure_or_none(results[0]):
            self.failed_count += 1
            print(f"{position.log}: {'; remaining entries: '.join(map(_describe_result, results))}", flush=True)
        self.after = position.after


def verify_log(log: str) -> list[VerificationResult]:
    """Verify a whole log and, if it was truncated, its remaining entries again. Raises Problem `unavailable`."""
    result = verify_remaining_windows(log, log_verification.verify_next_window(log, None, None))
    is_truncated = result.fault is not None and result.fault.failure == "truncated"
    if not (is_truncated and result.progress.anchor_note and result.progress.head_size):
        return [result]
    # The remaining entries are compared with the log's own head only, because the anchor covers more entries.
    cursor = {**result.progress.to_cursor_position(), "anchor": ""}
    return [result, verify_remaining_windows(log, log_verification.verify_next_window(log, cursor, None))]


def _describe_result(result: VerificationResult) -> str:
    """Return the failure of a log, or that it was verified, and what somebody did to pending entries or its anchor."""
    count = result.progress.suppressed_count
    suppressed = f"; removed before sealing: {describe_count(count, 'entry', 'entries')}" if count else ""
    rewritten = "; the file of its anchor was written again" if result.progress.is_anchor_rewritten else ""
    return _describe_fault(result.fault, result.progress) + suppressed + rewritten


def _describe_fault(fault: Fault | None, progress: VerificationProgress) -> str:
    if fault is None:
        return "verified"
    position = f" at sequence {fault.sequence}" if fault.sequence else ""
    if fault.failure == "truncated" and fault.sequence and progress.anchor_note:
        anchored, remaining = checkpoints.parse(progress.anchor_note).checkpoint.size, fault.sequence - 1
        lost = anchored - remaining
        return f"truncated{position}: {remaining} of {anchored} anchored entries remain, {lost} are lost"
    return f"{fault.failure}{position}, of {describe_count(progress.head_size, 'entry', 'entries')}"


def iter_log_positions(
    after: str, *, max_units_per_second: float = MAX_SCANNED_UNITS_PER_SECOND
) -> Iterator[LogPosition]:
    """Yield every log after a position: first all logs in the table, then those of which only an anchor is left.

    `max_units_per_second`: the limit of read units of the scan for the logs in the table.

    Raises VerificationNotRun if the position is invalid.
    """
    kind, _, log = after.partition("/")
    if kind not in ("", _STORED, _ANCHORED) or (kind and not log):
        raise VerificationNotRun(
            f"--after {after}: not a position that this command printed. Omit it to start at the first log."
        )
    if kind != _ANCHORED:
        yield from (
            LogPosition(stored, f"{_STORED}/{stored}") for stored in _iter_stored_logs(log, max_units_per_second)
        )
    for anchored in _iter_anchored_logs(log if kind == _ANCHORED else ""):
        if not is_stored(anchored):
            yield LogPosition(anchored, f"{_ANCHORED}/{anchored}")


def _iter_stored_logs(after: str, max_units_per_second: float) -> Iterator[str]:
    """Yield the logs that have a head or an outbox in the table, each once. A scan does not interleave partitions."""
    pk, sk = ledger.head_key(after)
    last_pk, parameters = pk if after else None, {**_SCAN}
    if after:
        parameters["ExclusiveStartKey"] = {"pk": {"S": pk}, "sk": {"S": sk}}
    for item in iter_scanned_items(parameters, max_units_per_second=max_units_per_second):
        if (pk := item["pk"]["S"]) != last_pk:
            last_pk = pk
            yield pk.removeprefix(_OUTBOX)


def _iter_anchored_logs(after: str) -> Iterator[str]:
    """Yield the logs that have an anchor, in the order of their names."""
    while logs := list_anchored_logs(after):
        yield from logs
        after = logs[-1]
