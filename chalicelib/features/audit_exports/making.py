"""Background export: reads the log, compresses matching entries, and stores the file part by part.

Each stored object has a number that no other worker uses, so a worker that lost its lease without noticing can't
overwrite anything. A worker that resumes from the stored state therefore makes the same file.
"""

import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.rules import StoredEntry, is_entry
from chalicelib.features.audit_exports.entities import AuditExport
from chalicelib.features.audit_exports.formats import head, written
from chalicelib.features.audit_exports.models import EntrySelection
from chalicelib.features.audit_exports.rules import Omitted
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.ledger import sequence_key
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.merkle import HASH_BYTES
from chalicelib.kernel.storage import files
from chalicelib.kernel.work import jobs

KEEP_SECONDS: Final = 60
"""Interval between stored checkpoints of the job; well within its lease."""

_COMPRESSION_LEVEL: Final = 6
_GZIP_WINDOW_BITS: Final = 31
"""The `wbits` value with which zlib writes gzip (RFC 1952)."""


class Unreadable(Exception):
    """An entry can't be exported. `may_be_index_lag`: it is missing from the index, which may be catching up."""

    def __init__(self, sequence: int, *, late: bool) -> None:
        self.sequence, self.late = sequence, late


class Part:
    """The next part of the file as gzip members (RFC 1952); any number of members concatenate to one file."""

    def __init__(self, rest: bytes = b"") -> None:
        self._packed = bytearray(rest)
        self._packer = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_GZIP_WINDOW_BITS)

    def write(self, text: bytes) -> None:
        """Compress and append data."""
        self._packed += self._packer.compress(text)

    @property
    def full(self) -> bool:
        """Whether the part has reached the minimum size of a multipart upload."""
        return len(self._packed) >= files.MIN_PART_BYTES

    def end(self) -> bytes:
        """Return the compressed part; nothing can be added afterwards."""
        self._packed += self._packer.flush()
        return bytes(self._packed)


class Draft:
    """Writer of an export's file: the stored export, and everything read since it was stored."""

    def __init__(self, export: AuditExport) -> None:
        self.export = export
        self._wanted = EntrySelection.model_validate(export.filters)
        self._omitted = Omitted.of(export.omitted)
        self._at, self._count = export.at, export.entry_count or 0
        self._begin(_read_rest(export))
        if not export.at:
            self._part.write(head(export.format))

    def write(self, ends_at: float) -> AuditExport:
        """Process entries to the end or until the deadline, and return the stored export. Raises UnreadableEntry."""
        for entries in logs.sealed(self.export.organization_id, self._at, self.export.until, fresh=True):
            self._add(entries)
            if time.monotonic() > ends_at:
                return jobs.release(self._keep())
            if self._part.full or time.monotonic() > self._keep_by:
                self._keep()
        if self._at < self.export.until:
            raise Unreadable(self._at + 1, late=True)
        return self._keep(whole=True)

    def _add(self, entries: Iterable[StoredEntry]) -> None:
        formatted, skipped_leaves = list[bytes](), list[bytes]()
        for sequence, sealed in enumerate(entries, self._at + 1):
            entry = _parse_entry(self.export.organization_id, sequence, sealed)
            if logs.holds(self._wanted, entry):
                self._omitted.add(sequence - len(skipped_leaves), skipped_leaves)
                skipped_leaves = []
                formatted.append(_format_entry(self.export, sequence, entry, sealed.body))
            else:
                skipped_leaves.append(entry.leaf)
            self._at = sequence
        self._omitted.add(self._at + 1 - len(skipped_leaves), skipped_leaves)
        self._part.write(b"".join(formatted))
        self._count += len(formatted)

    def _keep(self, *, whole: bool = False) -> AuditExport:
        """Store the compressed data, and the progress of the job."""
        export, data = self.export, self._part.end()
        number, parts, rest = export.number + export.failures, export.parts, None
        if whole or len(data) >= files.MIN_PART_BYTES:
            files.upload_part(_bucket(), export.file, export.upload or "", number, data)
            parts = [*parts, number]
        else:
            files.write_file(_bucket(), _rest_key(export, number), data)
            rest = number
        self.export = jobs.checkpoint(
            export,
            at=self._at,
            parts=parts,
            rest=rest,
            number=number + 1,
            whole=whole,
            entry_count=self._count,
            omitted=self._omitted.kept(),
        )
        self._begin(data if rest else b"")
        return self.export

    def _begin(self, rest: bytes) -> None:
        self._part = Part(rest)
        self._keep_by = time.monotonic() + KEEP_SECONDS


def begin(export: AuditExport) -> str:
    """Start the multipart upload and return its id."""
    return files.start_upload(_bucket(), export.file, "application/gzip")


def complete(export: AuditExport) -> Iterator[bytes]:
    """Complete the upload, unless an earlier worker did, and yield the file's content. Raises NoFile."""
    with suppress(files.FileNotFound):  # Already completed, or deleted; if it was deleted, reading fails.
        files.complete_upload(_bucket(), export.file, export.upload or "", export.parts)
    return files.read_file(_bucket(), export.file)


def clear(export: AuditExport) -> None:
    """Delete all files of an export, including incomplete uploads."""
    files.delete_prefix(_bucket(), export.folder)


def address(export: AuditExport, name: str, seconds: int) -> str:
    """Return a URL with which anyone can download the file as `name`, for a number of seconds."""
    return files.presign_url(_bucket(), export.file, name=name, seconds=seconds)


def _read_rest(export: AuditExport) -> bytes:
    return b"".join(files.read_file(_bucket(), _rest_key(export, export.rest))) if export.rest else b""


def _rest_key(export: AuditExport, number: int | None) -> str:
    return f"{export.folder}rest/{number}"


def _parse_entry(log: str, sequence: int, sealed: StoredEntry) -> EntryItem:
    """Return the entry at a sequence. Raises UnreadableEntry if it is missing or was altered."""
    item = sealed.item
    _, sort_key = sequence_key(log, sequence)
    if item["index1sk"] > sort_key:
        raise Unreadable(sequence, late=True)
    if item["index1sk"] < sort_key or not is_entry(item) or len(item["leaf"]) != HASH_BYTES:
        raise Unreadable(sequence, late=False)
    return EntryItem.from_item(item)


def _format_entry(export: AuditExport, sequence: int, entry: EntryItem, body: object) -> bytes:
    """Return an entry in the file's format. Raises UnreadableEntry if its body is missing or was altered."""
    if not isinstance(body, bytes) and not entry.erased:
        raise Unreadable(sequence, late=False)
    try:
        return written(export.format, logs.line(entry, body if isinstance(body, bytes) else None))
    except ValueError as error:
        raise Unreadable(sequence, late=False) from error


def _bucket() -> str:
    return settings().exports_bucket
