"""Request and response models of log exports."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Input, Output, Query, RecordOutput

ExportFormat = Literal["ndjson", "csv"]
ExportStatus = Literal["queued", "running", "completed", "failed", "expired"]

_FAILED_EXAMPLE: Final = {
    **dict.fromkeys(("entry_count", "size_bytes", "sha256", "evidence", "expires_at")),
    "error": "The entry with sequence 2 can't be read. GET …/audit-log/verify-integrity says more.",
}
_FORMAT_DESCRIPTION = "NDJSON can be verified offline; CSV is for spreadsheets."
_SHA256_PATTERN = "^[0-9a-f]{64}$"


class ExportQuery(EntryFilters, Query):
    """Filters for the entries, and the output format."""

    format: ExportFormat = Field("ndjson", description=_FORMAT_DESCRIPTION)
    evidence: bool = Field(
        default=False,
        description="Begin with a line that holds the checkpoint of the log and the hashes of the entries that the "
        "filters omit. `verify.py` then needs nothing else but the public key. Only for NDJSON.",
    )


class EntrySelection(EntryFilters, Input):
    """Filters for the entries.

    An entry has to match all of them. `organization.member.*` matches all types that begin with `organization.member.`.
    """


class AuditExportCreate(Input):
    """What a background export contains: filters for the entries, and the output format.

    Without filters, the export has the whole log.
    """

    format: ExportFormat = Field("ndjson", description=_FORMAT_DESCRIPTION, examples=["ndjson"])
    filters: EntrySelection | None = Field(None, examples=[{"type": "organization.member.*"}])


class ExportFilters(EntryFilters, Output):
    """The filters with which an export was started.

    A filter that was not set is null, and an export without filters has the whole log.
    """

    model_config = ConfigDict(alias_generator=to_camel)


class OmittedEntries(Output):
    """A run of consecutive entries that a filtered export omits.

    The hashes stand for them, so the export can still be verified.
    """

    model_config = ConfigDict(alias_generator=to_camel)

    from_: int = Field(alias="from", ge=1, examples=[1])
    to: int = Field(ge=1, examples=[1])
    hashes: list[str] = Field(
        description="The roots, in hex, of the largest perfect subtrees (RFC 6962) that hold exactly these entries, "
        "from left to right.",
        examples=[["677d1e972b1706438c8cfe27d6320aabdf9439cb0978b7be6ee9662130dd8cf6"]],
    )


class AuditExportOut(RecordOutput):
    """A background export of an audit log: a gzip file that is available for 7 days.

    Verify the file with `verify.py` and the checkpoint in the export, without the service.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"organization.audit_export.failed": _FAILED_EXAMPLE}
    no_store: ClassVar[bool] = True

    status: ExportStatus = Field(examples=["completed"])
    format: ExportFormat = Field(examples=["ndjson"])
    filters: ExportFilters
    entry_count: int | None = Field(
        description="Entries in the file; while the export is running, the number so far.", examples=[1]
    )
    size_bytes: int | None = Field(description="Size of the compressed file.", examples=[745])
    sha256: str | None = Field(
        pattern=_SHA256_PATTERN,
        description="SHA-256 of the compressed file, hex.",
        examples=["2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"],
    )
    checkpoint: str | None = Field(description="The signed head of the log that the export covers.")
    evidence: list[OmittedEntries] | None = Field(
        description="The hashes of the omitted entries, which prove that an NDJSON file is part of the log. "
        "Null if more than 2,000 hashes were needed, and in lists."
    )
    download_url: str | None = Field(
        None,
        description="Valid for 15 minutes. Each request returns a new URL. Anyone with the URL can download the file. "
        "Null in lists.",
        examples=["https://atrium-exports.s3.amazonaws.com/01a1f84a?X-Amz-Expires=900&X-Amz-Signature=5d3a"],
    )
    error: str | None = Field(description="Why it failed.", examples=[None])
    expires_at: Timestamp | None = Field(description="When the file is deleted.", examples=["2026-11-27T09:30:00.000Z"])
