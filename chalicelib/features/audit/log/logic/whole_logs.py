"""Verification of whole logs, by operators' command and job: their results, and the logs of which there are anchors."""

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.logic.log_verification import VerificationResult
from chalicelib.features.audit.log.models import WholeLogFailure
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table


def find_failure_or_none(result: VerificationResult) -> WholeLogFailure | None:
    """Return why a log is not intact, or None.

    Besides the faults of entries and heads, these are entries that were removed before they received a sequence, and an
    anchor whose file somebody has written again.
    """
    if result.fault:
        return result.fault.failure
    if result.progress.suppressed_count:
        return "suppressed"
    return "anchor_rewritten" if result.progress.is_anchor_rewritten else None


def verify_remaining_windows(log_id: str, result: VerificationResult) -> VerificationResult:
    """Verify the windows of a log that follow those of a result, and return the last result."""
    while not result.is_complete:
        result = log_verification.verify_next_window(log_id, result.progress.to_cursor_position(), None)
    return result


def is_stored(log_id: str) -> bool:
    """Return whether the table has a head or pending entries of a log."""
    outbox, _ = ledger.head_key(log_id)
    return bool(table.query(outbox, limit=1).items)


def list_anchored_logs(after: str = "") -> list[str]:
    """Return the next logs that have an anchor, in the order of their names; none at the end or without a bucket.

    Raises Problem `unavailable`.
    """
    bucket = settings().anchors_bucket
    return files.list_folders(bucket, after) if bucket else []
