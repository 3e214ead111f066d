"""What is stored of an export that is made in the background."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from chalicelib.features.audit_exports.models import AuditExportOut, Format, Status
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.entity import Item, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import LEASE_SECONDS, Job

MOST_RUNNING: Final = 10


class AuditExport(Job):
    """An export of the log as a file that is made part by part.

    It holds what passes of the entries up to the sequence `until`; those up to `at` are looked through. They are in the
    `parts` of the `upload` and, where that would be too little for one, in the file `rest`: numbers of their own, the
    next is `number`. `omitted` is what is left out so far. From `clear_at` on nothing of it may be kept in files.
    `handed` says when each principal last got an address of the file.
    """

    kind, parameter, task = "organization.audit_export", "export_id", "audit_exports.run"
    pk, sk = "O#{organization_id}", "X#{id}"
    quota = Quota(
        "running audit exports",
        "O#{organization_id}",
        MOST_RUNNING,
        lambda export: export.turn_at is not None,
        "Wait until one has ended.",
    )
    output_model = AuditExportOut
    version_fields = ("version", "turn_at", "handed")

    organization_id: str
    format: Format
    filters: dict[str, str | None]
    status: Status = "queued"
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
    def as_requested(self) -> "AuditExport":
        """The export as it was asked for, which is what the entry before its end tells of."""
        return AuditExport(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.created_at,
            organization_id=self.organization_id,
            format=self.format,
            filters=self.filters,
        )

    @property
    def folder(self) -> str:
        """What the names of all its files begin with; before that stands the organization's id."""
        return f"{self.organization_id}/{self.id}/"

    @property
    def file(self) -> str:
        """The name of the file that it makes."""
        return f"{self.folder}audit-log.{self.format}.gz"

    @property
    def expired(self) -> bool:
        """Whether its file is gone, or should be."""
        return self.status == "expired" or bool(self.expires_at and self.expires_at <= now())

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Its next turn and, after the last, the moment when its files have to go."""
        if self.turn_at:
            return super().scheduled_task
        return ScheduledTask("audit_exports.clear", self.clear_at) if self.clear_at else None

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what forgets who fetched the file; an export that was about the person is no more."""
        handed = {principal: at for principal, at in self.handed.items() if principal not in person.user_ids}
        changed: dict[str, Any] = {"handed": handed} if handed != self.handed else {}
        if named := person.redact_all(self.filters):
            moment = now()
            ended = {"status": "expired", "turn_at": None, "expires_at": moment}
            ended["clear_at"] = after(moment, seconds=LEASE_SECONDS)  # A worker may be at it still.
            changed |= {"filters": {**self.filters, **named}, **ended}
        return changed
