"""Stored record of a background export."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from chalicelib.features.audit.exports.models import AuditExportOut, ExportFormat, ExportStatus
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.entity import Item, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import LEASE_SECONDS, Job

MAX_RUNNING_EXPORTS: Final = 10


class AuditExport(Job):
    """A background export of the log, written to a file part by part.

    It covers the entries up to the sequence `until`; those up to `at` are processed. Their output is in the `parts` of
    the multipart `upload` or, while it is too small for a part, in a separate file `rest`. `number` is the next part
    number; parts and rest files share the numbering. `omitted` holds the runs of entries that the filters left out so
    far. All files have to be deleted at `clear_at`. `handed` maps each principal to the time of their last download
    URL.
    """

    kind, parameter, task = "organization.audit_export", "export_id", "audit_exports.run"
    pk, sk = "O#{organization_id}", "X#{id}"
    quota = Quota(
        "running audit exports",
        "O#{organization_id}",
        MAX_RUNNING_EXPORTS,
        lambda export: export.lease_until is not None,
        "Wait until one has ended.",
    )
    output_model = AuditExportOut
    version_fields = ("version", "lease_until", "handed")

    organization_id: str
    format: ExportFormat
    filters: dict[str, str | None]
    status: ExportStatus = "queued"
    checkpoint: str | None = None
    entry_count: int | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    evidence: list[Item] | None = None
    error: str | None = None
    expires_at: str | None = None
    clear_at: str | None = None
    handed: dict[str, str] = field(default_factory=dict)

    until: int = 0
    at: int = 0
    upload: str | None = None
    parts: list[int] = field(default_factory=list)
    rest: int | None = None
    number: int = 1
    whole: bool = False
    omitted: Item | None = None

    @property
    def requested_state(self) -> "AuditExport":
        """Return the export as it was when requested; the base of the diff in its final log entry."""
        return AuditExport(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.created_at,
            organization_id=self.organization_id,
            format=self.format,
            filters=self.filters,
        )

    @property
    def key_prefix(self) -> str:
        """Return the common prefix of the keys of its files; it starts with the organization's id."""
        return f"{self.organization_id}/{self.id}/"

    @property
    def file_key(self) -> str:
        """Return the key of the finished file."""
        return f"{self.key_prefix}audit-log.{self.format}.gz"

    @property
    def is_expired(self) -> bool:
        """Return whether the file is deleted, or should be."""
        return self.status == "expired" or bool(self.expires_at and self.expires_at <= now())

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the next slice of work and, after the last one, the deletion of the files."""
        if self.lease_until:
            return super().scheduled_task
        return ScheduledTask("audit_exports.clear", self.clear_at) if self.clear_at else None

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return the changes that redact a person; an export whose filters name the person expires."""
        handed = {principal: at for principal, at in self.handed.items() if principal not in person.user_ids}
        changed_fields: dict[str, Any] = {"handed": handed} if handed != self.handed else {}
        if redacted := person.redact_all(self.filters):
            timestamp = now()
            expired_fields = {"status": "expired", "lease_until": None, "expires_at": timestamp}
            expired_fields["clear_at"] = after(timestamp, seconds=LEASE_SECONDS)  # A worker may still be writing.
            changed_fields |= {"filters": {**self.filters, **redacted}, **expired_fields}
        return changed_fields
