"""Making the file of an export: the log is read on, what passes is packed, and put into the file store part by part.

What is put has a number that no other worker uses: of one that lost the export, and doesn't know it yet, nothing gets
into the file. So whoever goes on from what was kept makes the same file.
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
"""How long a worker goes on without keeping what it has: well within its lease."""

_LEVEL: Final = 6
_GZIP: Final = 31
"""What zlib calls the format of RFC 1952."""


class Unreadable(Exception):
    """An entry can't be shown. `late`: the index doesn't have it, which may be because it is late."""

    def __init__(self, sequence: int, *, late: bool) -> None:
        self.sequence, self.late = sequence, late


class Part:
    """What comes next in the file, packed: members of gzip (RFC 1952), of which any number make one file."""

    def __init__(self, rest: bytes = b"") -> None:
        self._packed = bytearray(rest)
        self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)

    def write(self, text: bytes) -> None:
        """Pack some text."""
        self._packed += self._packer.compress(text)

    @property
    def full(self) -> bool:
        """Whether it is as large as a part has to be."""
        return len(self._packed) >= files.MIN_PART_BYTES

    def end(self) -> bytes:
        """Return all of it, packed, once nothing is to be added."""
        self._packed += self._packer.flush()
        return bytes(self._packed)


class Draft:
    """A file that is being made: the export as it was kept, and what was read since."""

    def __init__(self, export: AuditExport) -> None:
        self.export = export
        self._wanted = EntrySelection.model_validate(export.filters)
        self._omitted = Omitted.of(export.omitted)
        self._at, self._count = export.at, export.entry_count or 0
        self._begin(_rest_of(export))
        if not export.at:
            self._part.write(head(export.format))

    def write(self, ends_at: float) -> AuditExport:
        """Read on to the end, or to the end of the turn; return the export as it is kept then. Raises Unreadable."""
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
        texts, left_out = list[bytes](), list[bytes]()
        for sequence, sealed in enumerate(entries, self._at + 1):
            entry = _entry(self.export.organization_id, sequence, sealed)
            if logs.holds(self._wanted, entry):
                self._omitted.add(sequence - len(left_out), left_out)
                left_out = []
                texts.append(_text(self.export, sequence, entry, sealed.body))
            else:
                left_out.append(entry.leaf)
            self._at = sequence
        self._omitted.add(self._at + 1 - len(left_out), left_out)
        self._part.write(b"".join(texts))
        self._count += len(texts)

    def _keep(self, *, whole: bool = False) -> AuditExport:
        """Put what was packed into the file store, and keep how far it is."""
        export, data = self.export, self._part.end()
        number, parts, rest = export.number + export.failures, export.parts, None
        if whole or len(data) >= files.MIN_PART_BYTES:
            files.upload_part(_bucket(), export.file, export.upload or "", number, data)
            parts = [*parts, number]
        else:
            files.write_file(_bucket(), _rest_name(export, number), data)
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
    """Begin the file of an export, and return the upload's id."""
    return files.start_upload(_bucket(), export.file, "application/gzip")


def complete(export: AuditExport) -> Iterator[bytes]:
    """Make the file of its parts, unless an earlier turn did, and read it. Raises NoFile."""
    with suppress(files.FileNotFound):  # It is complete, or it is gone: then it can't be read.
        files.complete_upload(_bucket(), export.file, export.upload or "", export.parts)
    return files.read_file(_bucket(), export.file)


def clear(export: AuditExport) -> None:
    """Remove all files of an export, also those that are not complete."""
    files.delete_prefix(_bucket(), export.folder)


def address(export: AuditExport, name: str, seconds: int) -> str:
    """Return a URL by which anybody can fetch the file of an export as `name`, for so many seconds."""
    return files.presign_url(_bucket(), export.file, name=name, seconds=seconds)


def _rest_of(export: AuditExport) -> bytes:
    return b"".join(files.read_file(_bucket(), _rest_name(export, export.rest))) if export.rest else b""


def _rest_name(export: AuditExport, number: int | None) -> str:
    return f"{export.folder}rest/{number}"


def _entry(log: str, sequence: int, sealed: StoredEntry) -> EntryItem:
    """Return the entry at a sequence. Raises Unreadable if it isn't there, or was altered beyond recognition."""
    item = sealed.item
    _, here = sequence_key(log, sequence)
    if item["index1sk"] > here:
        raise Unreadable(sequence, late=True)
    if item["index1sk"] < here or not is_entry(item) or len(item["leaf"]) != HASH_BYTES:
        raise Unreadable(sequence, late=False)
    return EntryItem.from_item(item)


def _text(export: AuditExport, sequence: int, entry: EntryItem, body: object) -> bytes:
    """Return an entry as the file has it. Raises Unreadable if its bytes are gone, or were altered beyond showing."""
    if not isinstance(body, bytes) and not entry.erased:
        raise Unreadable(sequence, late=False)
    try:
        return written(export.format, logs.line(entry, body if isinstance(body, bytes) else None))
    except ValueError as error:
        raise Unreadable(sequence, late=False) from error


def _bucket() -> str:
    return settings().exports_bucket
