"""What the operations on exports of the log accept and answer."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chalicelib.features.audit.models import EntryFilters
from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Input, Output, Query, RecordOutput

Format = Literal["ndjson", "csv"]
Status = Literal["queued", "running", "completed", "failed", "expired"]

_FAILED: Final = {
    **dict.fromkeys(("entry_count", "size_bytes", "sha256", "evidence", "expires_at")),
    "error": "The entry with sequence 2 can't be read. GET …/audit-log/verify-integrity says more.",
}
_NDJSON_OR_CSV = "NDJSON can be verified offline; CSV is for spreadsheets."
_HEX_OF_32_BYTES = "^[0-9a-f]{64}$"


class ExportQuery(EntryFilters, Query):
    """Which entries, and how they are written."""

    format: Format = Field("ndjson", description=_NDJSON_OR_CSV)


class EntrySelection(EntryFilters, Input):
    """Which entries. All filters given have to match."""


class AuditExportCreate(Input):
    """Which entries, and how they are written."""

    format: Format = Field("ndjson", description=_NDJSON_OR_CSV, examples=["ndjson"])
    filters: EntrySelection | None = Field(None, examples=[{"type": "organization.member.*"}])


class ExportFilters(EntryFilters, Output):
    """Which entries an export holds; what was not given is null."""

    model_config = ConfigDict(alias_generator=to_camel)


class OmittedEntries(Output):
    """Entries that an export leaves out, all from one sequence to another."""

    model_config = ConfigDict(alias_generator=to_camel)

    from_: int = Field(alias="from", ge=1, examples=[1])
    to: int = Field(ge=1, examples=[1])
    hashes: list[str] = Field(
        description="The roots, in hex, of the largest perfect subtrees (RFC 6962) that hold exactly these entries, "
        "from left to right.",
        examples=[["677d1e972b1706438c8cfe27d6320aabdf9439cb0978b7be6ee9662130dd8cf6"]],
    )


class AuditExportOut(RecordOutput):
    """An export that is made in the background: a gzip file, there for 7 days."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"organization.audit_export.failed": _FAILED}
    no_store: ClassVar[bool] = True

    status: Status = Field(examples=["completed"])
    format: Format = Field(examples=["ndjson"])
    filters: ExportFilters
    entry_count: int | None = Field(description="Entries in the file; while it is made, those so far.", examples=[1])
    size_bytes: int | None = Field(description="Of the compressed file.", examples=[745])
    sha256: str | None = Field(
        pattern=_HEX_OF_32_BYTES,
        description="Of the compressed file, hex.",
        examples=["2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"],
    )
    checkpoint: str | None = Field(description="The signed head of the log as the export read it.")
    evidence: list[OmittedEntries] | None = Field(
        description="What proves the entries of an NDJSON file to be in that log although others are left out: those "
        "by their hashes. Null if that would take more than 2,000 of them."
    )
    download_url: str | None = Field(
        None,
        description="Good for 15 minutes, and made anew each time; anybody who has it can fetch the file.",
        examples=["https://atrium-exports.s3.amazonaws.com/01a1f84a?X-Amz-Expires=900&X-Amz-Signature=5d3a"],
    )
    error: str | None = Field(description="Why it failed.", examples=[None])
    expires_at: Timestamp | None = Field(description="From when on the file is gone.")
