"""The steps of a verification of all logs.

The logs of the service itself come first, then those of all listed organizations. Then come the logs of which there are
anchors, but that no listed organization has: those of purged organizations, and those that somebody with access to the
database has hidden. So no step reads more than a page of the list, or a window of a log.
"""

from typing import Any, Final

from chalicelib.features.audit.log.logic import log_verification, whole_logs
from chalicelib.features.audit.log.logic.log_verification import VerificationResult
from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.features.tenancy.entities.organizations import DIRECTORY_PARTITION, ID_KEY_PREFIX
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS, organization_id_from_log

MAX_LOG_FAILURES: Final = 100
"""Failures that a verification stores. The others are only counted."""

_PAGE_SIZE: Final = 100


def advance(verification: LogVerification) -> dict[str, Any]:
    """Verify the next window of a log, or find the next logs, and return the changed fields.

    Raises Problem `unavailable`.
    """
    if not verification.pending_logs:
        return (
            _find_organizations(verification)
            if verification.source == "organizations"
            else _find_anchored(verification)
        )
    log_id, *remaining = verification.pending_logs
    is_anchored = verification.source == "anchors"  # The service's own logs come first.
    if log_id in SYSTEM_LOGS and not is_anchored and not whole_logs.is_stored(log_id):
        return {"pending_logs": remaining}  # Nothing was logged there, unless there is an anchor.
    result = log_verification.verify_next_window(log_id, verification.log_position, None)
    if not result.is_complete:
        return {"log_position": result.progress.to_cursor_position()}
    return {**_count(verification, log_id, result), "pending_logs": remaining, "log_position": None}


def is_complete(verification: LogVerification) -> bool:
    """Return whether all logs are verified."""
    return not verification.pending_logs and verification.source == "none"


def _count(verification: LogVerification, log_id: str, result: VerificationResult) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "logs_checked": verification.logs_checked + 1,
        "entries_checked": verification.entries_checked + result.progress.verified.tree.size,
    }
    if failure := whole_logs.find_failure_or_none(result):
        found = {
            "log_id": log_id,
            "organization_id": organization_id_from_log(log_id),
            "failure": failure,
            "first_invalid_sequence": result.fault.sequence if result.fault else None,
        }
        counts |= {
            "failure_count": verification.failure_count + 1,
            "log_failures": [*verification.log_failures, found][:MAX_LOG_FAILURES],
        }
    return counts


def _find_organizations(verification: LogVerification) -> dict[str, Any]:
    page = table.query(DIRECTORY_PARTITION, prefix=ID_KEY_PREFIX, after=verification.source_position, limit=_PAGE_SIZE)
    return {
        "pending_logs": [row["organization_id"] for row in page.items],
        "source": "organizations" if page.last_evaluated_key else "anchors",
        "source_position": page.last_evaluated_key,
    }


def _find_anchored(verification: LogVerification) -> dict[str, Any]:
    """Find the next logs that have an anchor and were not verified yet."""
    logs = whole_logs.list_anchored_logs((verification.source_position or {}).get("log", ""))[:_PAGE_SIZE]
    if not logs:
        return {"source": "none", "source_position": None}
    listed = table.get_all([(DIRECTORY_PARTITION, ID_KEY_PREFIX + log) for log in logs], ("pk", "sk"))
    unlisted = [log for log in logs if (DIRECTORY_PARTITION, ID_KEY_PREFIX + log) not in listed]
    return {
        "pending_logs": [log for log in unlisted if log not in SYSTEM_LOGS or not whole_logs.is_stored(log)],
        "source_position": {"log": logs[-1]},
    }
