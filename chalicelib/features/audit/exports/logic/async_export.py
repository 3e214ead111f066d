"""Background export: reads the log, compresses matching entries, and stores the file part by part.

Each stored object has a number that no other worker uses. A worker that lost its lease without noticing therefore can't
overwrite anything, and a worker that resumes from the stored state makes the same file.
"""

import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from chalicelib.features.audit.exports.entities import AuditExport
from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes, format_entry
from chalicelib.features.audit.exports.logic.omitted_runs import OmittedRuns
from chalicelib.features.audit.exports.models import EntrySelection, ExportFormat
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, has_entry_display_attributes
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.ledger import sequence_index_or_batch_key
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.merkle import HASH_BYTES
from chalicelib.kernel.storage import files
from chalicelib.kernel.work import jobs

CHECKPOINT_INTERVAL_SECONDS: Final = 60
"""Interval between stored checkpoints of the job; well within its lease."""

_COMPRESSION_LEVEL: Final = 6
_GZIP_WINDOW_BITS: Final = 31
"""The `wbits` value with which zlib writes gzip (RFC 1952)."""


class UnreadableEntry(Exception):
    """An entry can't be exported. With `may_be_index_lag`, it is missing from the index, which may lag."""

    def __init__(self, sequence: int, *, may_be_index_lag: bool) -> None:
        self.sequence, self.may_be_index_lag = sequence, may_be_index_lag


class GzipPart:
    """The next part of the file, as gzip members (RFC 1952), which can be concatenated."""

    def __init__(self, compressed_prefix: bytes = b"") -> None:
        self._compressed = bytearray(compressed_prefix)
        self._compressor = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_GZIP_WINDOW_BITS)

    def compress_and_append(self, data: bytes) -> None:
        """Compress and append data."""
        self._compressed += self._compressor.compress(data)

    @property
    def is_full(self) -> bool:
        """Return whether the part has reached the minimum size of a multipart upload."""
        return len(self._compressed) >= files.MIN_PART_BYTES

    def finish_and_return_bytes(self) -> bytes:
        """Return the compressed part. Nothing can be added afterwards."""
        self._compressed += self._compressor.flush()
        return bytes(self._compressed)


class ExportWriter:
    """The writer of an export's file, with the stored export and the output since it was stored."""

    def __init__(self, export: AuditExport) -> None:
        self.export = export
        self._filters = EntrySelection.model_validate(export.filters)
        self._omitted_runs = OmittedRuns.from_item(export.omitted_runs)
        self._last_sequence, self._entry_count = export.processed_sequence, export.entry_count or 0
        self._start_part(_read_rest_file(export))
        if not export.processed_sequence:
            self._part.compress_and_append(file_header_bytes(export.format))

    def write_until_and_return_export(self, deadline_monotonic: float) -> AuditExport:
        """Process entries to the end or until the deadline, and return the stored export. Raises UnreadableEntry."""
        for entries in logs.iter_sequenced_entry_chunks(
            self.export.organization_id, self._last_sequence, self.export.last_sequence, reread_from_table=True
        ):
            self._add_matching_entries_to_part(entries)
            if time.monotonic() > deadline_monotonic:
                return jobs.release(self._store_data_and_progress())
            if self._part.is_full or time.monotonic() > self._checkpoint_deadline:
                self._store_data_and_progress()
        if self._last_sequence < self.export.last_sequence:
            raise UnreadableEntry(self._last_sequence + 1, may_be_index_lag=True)
        return self._store_data_and_progress(is_complete=True)

    def _add_matching_entries_to_part(self, entries: Iterable[StoredEntry]) -> None:
        formatted, skipped_leaves = list[bytes](), list[bytes]()
        for sequence, stored_entry in enumerate(entries, self._last_sequence + 1):
            entry = parse_readable_entry(self.export.organization_id, sequence, stored_entry)
            if logs.entry_matches(self._filters, entry):
                self._omitted_runs.add_leaves(sequence - len(skipped_leaves), skipped_leaves)
                skipped_leaves = []
                formatted.append(format_stored_entry(self.export.format, sequence, entry, stored_entry.body))
            else:
                skipped_leaves.append(entry.leaf)
            self._last_sequence = sequence
        self._omitted_runs.add_leaves(self._last_sequence + 1 - len(skipped_leaves), skipped_leaves)
        self._part.compress_and_append(b"".join(formatted))
        self._entry_count += len(formatted)

    def _store_data_and_progress(self, *, is_complete: bool = False) -> AuditExport:
        """Store the compressed data, and the progress of the job."""
        export, data = self.export, self._part.finish_and_return_bytes()
        number, part_numbers, rest_number = export.next_number + export.failures, export.part_numbers, None
        if is_complete or len(data) >= files.MIN_PART_BYTES:
            files.upload_part(_bucket_name(), export.file_key, export.upload_id or "", number, data)
            part_numbers = [*part_numbers, number]
        else:
            files.write_file(_bucket_name(), _rest_file_key(export, number), data)
            rest_number = number
        self.export = jobs.save_progress_and_extend_lease(
            export,
            processed_sequence=self._last_sequence,
            part_numbers=part_numbers,
            rest_number=rest_number,
            next_number=number + 1,
            is_uploaded=is_complete,
            entry_count=self._entry_count,
            omitted_runs=self._omitted_runs.to_item(),
        )
        self._start_part(data if rest_number else b"")
        return self.export

    def _start_part(self, compressed_prefix: bytes) -> None:
        self._part = GzipPart(compressed_prefix)
        self._checkpoint_deadline = time.monotonic() + CHECKPOINT_INTERVAL_SECONDS


def start_upload_and_return_id(export: AuditExport) -> str:
    """Start the multipart upload and return its id."""
    return files.start_upload(_bucket_name(), export.file_key, "application/gzip")


def complete_upload_and_iter_content(export: AuditExport) -> Iterator[bytes]:
    """Complete the upload, unless an earlier worker did, and yield the file's content. Raises NoFile."""
    with suppress(files.FileNotFound):  # Already completed, or deleted. In that case, reading fails.
        files.complete_upload(_bucket_name(), export.file_key, export.upload_id or "", export.part_numbers)
    return files.iter_file_chunks(_bucket_name(), export.file_key)


def delete_files(export: AuditExport) -> None:
    """Delete all files of an export, including incomplete uploads."""
    files.delete_files_and_uploads_with_prefix(_bucket_name(), export.file_key_prefix)


def presigned_download_url(export: AuditExport, file_name: str, valid_seconds: int) -> str:
    """Return a URL with which anyone can download the file as `file_name`, for a number of seconds."""
    return files.presign_url(_bucket_name(), export.file_key, file_name=file_name, valid_seconds=valid_seconds)


def _read_rest_file(export: AuditExport) -> bytes:
    return (
        b"".join(files.iter_file_chunks(_bucket_name(), _rest_file_key(export, export.rest_number)))
        if export.rest_number
        else b""
    )


def _rest_file_key(export: AuditExport, number: int | None) -> str:
    return f"{export.file_key_prefix}rest/{number}"


def parse_readable_entry(log_id: str, sequence: int, stored_entry: StoredEntry) -> EntryItem:
    """Return the entry at a sequence. Raises UnreadableEntry if it is missing or was altered."""
    item = stored_entry.item
    _, sort_key = sequence_index_or_batch_key(log_id, sequence)
    if item["index1sk"] > sort_key:
        raise UnreadableEntry(sequence, may_be_index_lag=True)
    if item["index1sk"] < sort_key or not has_entry_display_attributes(item) or len(item["leaf"]) != HASH_BYTES:
        raise UnreadableEntry(sequence, may_be_index_lag=False)
    return EntryItem.from_item(item)


def format_stored_entry(export_format: ExportFormat, sequence: int, entry: EntryItem, body: object) -> bytes:
    """Return an entry in a format. Raises UnreadableEntry if its body is missing or was altered."""
    if not isinstance(body, bytes) and not entry.erased:
        raise UnreadableEntry(sequence, may_be_index_lag=False)
    try:
        return format_entry(export_format, logs.entry_to_json_bytes(entry, body if isinstance(body, bytes) else None))
    except ValueError as error:
        raise UnreadableEntry(sequence, may_be_index_lag=False) from error


def _bucket_name() -> str:
    return settings().exports_bucket
