"""Responses that contain an export of one or several logs."""

from collections.abc import Sequence

from chalicelib.features.audit.exports.logic.entry_formats import MEDIA_TYPES
from chalicelib.features.audit.exports.logic.inline_export import build_inline_export_text
from chalicelib.features.audit.exports.logic.verifiable_export import build_verifiable_export_text
from chalicelib.features.audit.exports.models import ExportQuery
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.operations.results import RawResponse


def build_export_response(log_ids: Sequence[str], query: ExportQuery, file_name_stem: str) -> RawResponse:
    """Return the entries that match a query, as a file whose name begins with `file_name_stem`.

    Evidence belongs to one tree, so only an NDJSON export of a single log can have it. Raises ExportTooLarge, and
    ValidationProblem if the query asks for evidence that the export cannot have.
    """
    if query.evidence and query.format != "ndjson":
        raise ValidationProblem([FieldError("query/evidence", "unsupported", "Only an NDJSON export has evidence.")])
    if query.evidence and len(log_ids) > 1:
        detail = "Evidence belongs to one log: add logId or targetId."
        raise ValidationProblem([FieldError("query/evidence", "unsupported", detail)])
    text = (
        build_verifiable_export_text(log_ids[0], query, query.format)
        if query.evidence
        else build_inline_export_text(log_ids, query, query.format)
    )
    disposition = f'attachment; filename="{file_name_stem}.{query.format}"'
    return RawResponse(
        text, MEDIA_TYPES[query.format], {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    )
