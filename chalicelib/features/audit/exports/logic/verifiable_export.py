"""Inline export that can be verified alone: it begins with the log's checkpoint and the hashes of omitted entries."""

from typing import Final

from pydantic_core import to_json

from chalicelib.features.audit.exports.logic.async_export import (
    UnreadableEntry,
    format_stored_entry,
    parse_readable_entry,
)
from chalicelib.features.audit.exports.logic.inline_export import MAX_BYTES, ExportTooLarge, require_response_size
from chalicelib.features.audit.exports.logic.omitted_runs import OmittedRuns
from chalicelib.features.audit.exports.models import ExportFormat
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head, head_key
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table

MAX_LOG_ENTRIES: Final = 10_000
"""Entries of a log that a request reads, since the hashes of omitted entries are needed too."""

_UNREADABLE: Final = "{} GET …/audit-log/verify-integrity says more."


def build_verifiable_export_text(log_id: str, filters: EntryFilters, export_format: ExportFormat) -> str:
    """Return a line with checkpoint and evidence, then the matching entries with a sequence, oldest first.

    Raises ExportTooLarge, and Problem `conflict` if the log was altered.
    """
    try:
        head = Head.from_item_or_empty(table.get(head_key(log_id)))
        if head.tree.size > MAX_LOG_ENTRIES:
            raise ExportTooLarge(f"The log has more than {MAX_LOG_ENTRIES:,} entries.")
        lines, evidence = _collect_lines_and_evidence(log_id, filters, export_format, head.tree.size)
    except BrokenHead:
        raise Problem("conflict", _UNREADABLE.format("The head of the log was altered.")) from None
    except UnreadableEntry as error:
        raise Problem(
            "conflict", _UNREADABLE.format(f"The entry with sequence {error.sequence} can't be read.")
        ) from None
    text = to_json({"checkpoint": head.note, "evidence": evidence}) + b"\n" + lines
    return require_response_size(text).decode()


def _collect_lines_and_evidence(
    log_id: str, filters: EntryFilters, export_format: ExportFormat, size: int
) -> tuple[bytes, object]:
    lines, omitted, sequence = bytearray(), OmittedRuns([], CompactRange()), 0
    for entries in logs.iter_sequenced_entry_chunks(log_id, 0, size, reread_from_table=True):
        for stored_entry in entries:
            sequence += 1
            entry = parse_readable_entry(log_id, sequence, stored_entry)
            if logs.entry_matches(filters, entry):
                lines += format_stored_entry(export_format, sequence, entry, stored_entry.body)
            else:
                omitted.add_leaves(sequence, [entry.leaf])
        if len(lines) > MAX_BYTES:
            raise ExportTooLarge(f"The export has more than {MAX_BYTES:,} bytes.")
    if sequence < size:
        raise UnreadableEntry(sequence + 1, may_be_index_lag=True)
    return bytes(lines), omitted.close_last_run_and_return_runs()
