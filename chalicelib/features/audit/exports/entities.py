"""The stored record of a background export."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final

from chalicelib.features.audit.exports.models import AuditExportOut, ExportFormat, ExportStatus
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.entity import Collection, Item, ScheduledTask
from chalicelib.kernel.storage.pii import REDACTED, PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import LEASE_SECONDS, PublicJob

MAX_RUNNING_EXPORTS: Final = 10
"""Exports of an organization that can run at the same time."""

_ID_FILTERS: Final = ("actorId", "targetId")


def list_id_filters_naming(filters: Mapping[str, Any], actor_ids: Iterable[str]) -> list[str]:
    """Return the names of the filters that select one of some ids of actors. Filters ignore the case of letters."""
    lowered = {ascii_lower(each) for each in actor_ids}
    return [name for name in _ID_FILTERS if ascii_lower(str(filters.get(name) or "")) in lowered]


class AuditExport(PublicJob):
    """A background export of the log, written to a file part by part.

    It covers the entries up to `last_sequence`, and those up to `processed_sequence` are processed. Their output is in
    the `part_numbers` of the multipart upload `upload_id`. Output that is too small for a part is in a separate file
    with the number `rest_number`. Parts and these files share one numbering, and `next_number` is the next one.
    `is_uploaded` is true once the last part is stored. `omitted_runs` are the runs of entries that the filters omit so
    far. All files have to be deleted at `delete_files_at`. `issued_urls_at` maps principals to the time of their last
    download URL.
    """

    kind, parameter, task = "organization.audit_export", "export_id", "audit_exports.run"
    pk, sk = "O#{organization_id}", "X#{id}"
    in_organization = Collection("O#{organization_id}", "X#{id}", newest_first=True)
    quota = Quota(
        "running audit exports",
        "O#{organization_id}",
        MAX_RUNNING_EXPORTS,
        lambda export: export.lease_until is not None,
        "Wait until one has ended.",
    )
    output_model = AuditExportOut
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("status", "evidence", "expires_at"), "They change without an entry when the file is deleted."
    )
    version_fields = ("version", "lease_until", "issued_urls_at")
    fields_omitted_from_lists = frozenset({"evidence", "omitted_runs", "part_numbers"})
    attribute_names: ClassVar[Mapping[str, str]] = {
        "delete_files_at": "clear_at",
        "issued_urls_at": "handed",
        "is_uploaded": "whole",
        "last_sequence": "until",
        "next_number": "number",
        "omitted_runs": "omitted",
        "part_numbers": "parts",
        "processed_sequence": "at",
        "rest_number": "rest",
        "upload_id": "upload",
    }

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
    delete_files_at: str | None = None
    issued_urls_at: dict[str, str] = field(default_factory=dict)

    last_sequence: int = 0
    processed_sequence: int = 0
    upload_id: str | None = None
    part_numbers: list[int] = field(default_factory=list)
    rest_number: int | None = None
    next_number: int = 1
    is_uploaded: bool = False
    omitted_runs: Item | None = None

    @property
    def with_state_when_requested(self) -> "AuditExport":
        """Return the export as it was when it was requested, which is the diff base of its final log entry."""
        return AuditExport(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.created_at,
            organization_id=self.organization_id,
            format=self.format,
            filters=self.filters,
        )

    @property
    def file_key_prefix(self) -> str:
        """Return the common prefix of the keys of its files, which starts with the organization's id."""
        return f"{self.organization_id}/{self.id}/"

    @property
    def file_key(self) -> str:
        """Return the key of the finished file."""
        return f"{self.file_key_prefix}audit-log.{self.format}.gz"

    @property
    def is_expired(self) -> bool:
        """Return whether the file is deleted, or should be."""
        return self.status == "expired" or bool(self.expires_at and self.expires_at <= now())

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task for the next slice of work or, after the last one, for the deletion of the files."""
        if self.lease_until:
            return super().scheduled_task
        return ScheduledTask("audit_exports.clear", self.delete_files_at) if self.delete_files_at else None

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person. An export whose filters name the person expires."""
        issued_urls_at = {user_id: at for user_id, at in self.issued_urls_at.items() if user_id not in person.user_ids}
        has_changed = issued_urls_at != self.issued_urls_at
        changed_fields: dict[str, Any] = {"issued_urls_at": issued_urls_at} if has_changed else {}
        redacted = person.redacted_field_changes(self.filters)
        redacted |= dict.fromkeys(list_id_filters_naming(self.filters, person.actor_ids), REDACTED)
        if redacted:
            timestamp = now()
            expired_fields = {"status": "expired", "lease_until": None, "expires_at": timestamp}
            expired_fields["delete_files_at"] = after(
                timestamp, seconds=LEASE_SECONDS
            )  # A worker may still be writing.
            changed_fields |= {"filters": {**self.filters, **redacted}, **expired_fields}
        return changed_fields
