"""Tasks that make the file of an export in slices, and delete it when it expires."""

import time
from hashlib import sha256
from typing import Any, Final

from chalicelib.features.audit.exports.entities import AuditExport
from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.audit.exports.logic.async_export import ExportWriter, UnreadableEntry
from chalicelib.features.audit.exports.logic.omitted_runs import OmittedRuns
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head, head_key
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

RETENTION_DAYS: Final = 7
"""Days for which the file of an export is available."""

_MAX_INDEX_WAITS: Final = 3
_INDEX_WAIT_SECONDS: Final = 30
"""Pause before the next attempt to find an entry that the sequence index may still lack."""

_GIVEN_UP_ERROR: Final = (
    "The file could not be made: the file store or the database failed again and again. Start it again."
)
_INVALID_HEAD_ERROR: Final = "The head of the log was altered. GET …/audit-log/verify-integrity says more."
_UNREADABLE_ERROR: Final = "The entry with sequence {} can't be read. GET …/audit-log/verify-integrity says more."


@task(
    AuditExport.task,
    emits={"organization.audit_export.completed": AuditExport, "organization.audit_export.failed": AuditExport},
)
def make_audit_export(message: dict[str, Any]) -> None:
    """Make the file of an export, and commit the event of its completion or failure.

    The file covers all entries that the log has at the first run. A run that is interrupted loses nothing: the next one
    continues after the last stored part.
    """
    export = jobs.claim(AuditExport, message)
    if export is None:
        return
    if export.failures > jobs.MAX_FAILURES:
        _fail_export_and_schedule_file_deletion(export, _GIVEN_UP_ERROR)
    else:
        _advance_export_until(export, jobs.slice_deadline_monotonic())


@task("audit_exports.clear")
def delete_audit_export_files(message: dict[str, Any]) -> None:
    """Delete the files of an export that has expired or failed."""
    export = tasks.load_record_or_none(AuditExport, message)
    if export and export.delete_files_at and export.delete_files_at <= now():
        async_export.delete_files(export)
        changes = UnitOfWork(now())
        changes.update_untracked(
            export, delete_files_at=None, status="expired" if export.is_expired else export.status, evidence=None
        )
        changes.commit()


def _advance_export_until(export: AuditExport, deadline_monotonic: float) -> None:
    if not export.upload_id:
        try:
            export = _start_export(export)
        except BrokenHead:
            _fail_export_and_schedule_file_deletion(export, _INVALID_HEAD_ERROR)
            return
    if not export.is_uploaded:
        writer = ExportWriter(export)
        try:
            export = writer.write_until_and_return_export(deadline_monotonic)
        except UnreadableEntry as unreadable:
            _retry_later_or_fail(writer.export, unreadable)
            return
    if export.is_uploaded:
        _complete_upload_and_export(export)


def _start_export(export: AuditExport) -> AuditExport:
    """Return the export with the current head of the log and a new upload. Raises BrokenHead."""
    head = Head.from_item_or_empty(table.get(head_key(export.organization_id)))
    is_verifiable = export.format == "ndjson"
    return jobs.save_progress_and_extend_lease(
        export,
        status="running",
        last_sequence=head.tree.size,
        checkpoint=head.note or None,
        entry_count=0,
        upload_id=async_export.start_upload_and_return_id(export),
        omitted_runs=OmittedRuns([], CompactRange()).to_item() if is_verifiable else None,
    )


def _retry_later_or_fail(export: AuditExport, unreadable: UnreadableEntry) -> None:
    if unreadable.may_be_index_lag and export.failures < _MAX_INDEX_WAITS:
        jobs.release(export, delay_seconds=_INDEX_WAIT_SECONDS)
    else:
        _fail_export_and_schedule_file_deletion(export, _UNREADABLE_ERROR.format(unreadable.sequence))


def _complete_upload_and_export(export: AuditExport) -> None:
    """Complete the file, and read it once for its SHA-256, which can't be computed from the parts."""
    digest, size, checkpoint_due = sha256(), 0, time.monotonic() + async_export.CHECKPOINT_INTERVAL_SECONDS
    for chunk in async_export.complete_upload_and_iter_content(export):
        digest.update(chunk)
        size += len(chunk)
        if time.monotonic() > checkpoint_due:
            export, checkpoint_due = (
                jobs.save_progress_and_extend_lease(export),
                time.monotonic() + async_export.CHECKPOINT_INTERVAL_SECONDS,
            )
    expires_at = after(now(), days=RETENTION_DAYS)
    _store_end_status_and_event(
        export,
        "completed",
        size_bytes=size,
        sha256=digest.hexdigest(),
        evidence=OmittedRuns.from_item(export.omitted_runs).close_last_run_and_return_runs(),
        expires_at=expires_at,
        delete_files_at=expires_at,
    )


def _fail_export_and_schedule_file_deletion(export: AuditExport, error: str) -> None:
    _store_end_status_and_event(
        export, "failed", error=error, entry_count=None, delete_files_at=after(now(), seconds=jobs.LEASE_SECONDS)
    )


def _store_end_status_and_event(export: AuditExport, status: str, **result_fields: Any) -> None:
    changes = UnitOfWork(now())
    changes.event(export, f"organization.audit_export.{status}", before=export.with_state_when_requested)
    changes.update(export, status=status, lease_until=None, omitted_runs=None, **result_fields)
    outbox.commit(changes, Origin.system(AuditExport.task))
