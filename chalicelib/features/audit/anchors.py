"""Anchors: heads of logs, kept where whoever owns the table can't change them.

An anchor is a file of its own in the bucket that ANCHORS_BUCKET names, written once and called so that a log's newest
is the first listed: `<log>/<10**12 - size>`, 12 digits. It holds the signed checkpoint and, behind an empty line, the
peaks of the tree in base64, a line each.
"""

from typing import Final

from chalicelib.features.audit.rules import head_fault
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import files
from chalicelib.kernel.storage.files import FileNotFound

_NEVER_REACHED: Final = 10**12


class BrokenAnchor(Exception):
    """A log's newest anchor is not as the service writes them: someone else made it."""


def newest(log: str) -> Head | None:
    """Return the head that was anchored last; None if none was, or there is no bucket.

    Raises BrokenAnchor, and Problem `unavailable` if the bucket does not answer.
    """
    bucket = settings().anchors_bucket
    name = files.find_first_key(bucket, f"{log}/") if bucket else None
    if name is None:
        return None
    try:
        data = b"".join(files.read_file(bucket, name))
        head = _read(data.decode())
    except (ValueError, NoteError, FileNotFound) as error:
        raise BrokenAnchor(name) from error
    if (name, data) != (_name(log, head), _written(head)) or head_fault(log, head):
        raise BrokenAnchor(name)
    return head


def write(log: str, head: Head) -> bool:
    """Write the anchor of a head; return whether there was none of that size. Raises Problem `unavailable`."""
    return files.write_file_once(settings().anchors_bucket, _name(log, head), _written(head))


def _written(head: Head) -> bytes:
    peaks = "".join(f"{to_base64(peak)}\n" for peak in head.tree.peaks)
    return f"{head.note}\n{peaks}".encode()


def _read(text: str) -> Head:
    """Return the head that an anchor holds, which may be anyone's. Raises ValueError or NoteError."""
    signed, _, peaks = text.rpartition("\n\n")
    note = f"{signed}\n"
    size = checkpoints.parse(note).checkpoint.size
    return Head(CompactRange(size, tuple(from_base64(peak) for peak in peaks.split())), note)


def _name(log: str, head: Head) -> str:
    return f"{log}/{_NEVER_REACHED - head.tree.size:012d}"
