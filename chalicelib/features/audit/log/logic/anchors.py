"""Anchors: signed log heads stored outside the table, where somebody with access to the table can't change them.

An anchor is a file in the bucket `ANCHORS_BUCKET`, written once and never overwritten. Its name is `<log>/<10**12 -
size>` (12 digits), so a listing starts with the newest anchor. The file holds the signed checkpoint, an empty line, and
the peaks of the Merkle tree in base64, one on each line.
"""

from typing import Final

from chalicelib.features.audit.log.logic.entry_verification import find_head_fault
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import files
from chalicelib.kernel.storage.files import FileNotFound

_SIZE_CEILING: Final = 10**12


class BrokenAnchor(Exception):
    """The newest anchor of a log is not one that this service wrote."""


def load_latest_anchor_or_none(log_id: str) -> Head | None:
    """Return the head that was anchored last, or None without an anchor or without a bucket.

    Raises BrokenAnchor, and Problem `unavailable` if the bucket does not respond.
    """
    bucket = settings().anchors_bucket
    file_name = files.find_first_key(bucket, f"{log_id}/") if bucket else None
    if file_name is None:
        return None
    try:
        data = b"".join(files.iter_file_chunks(bucket, file_name))
        head = _decode_anchor(data.decode())
    except (ValueError, NoteError, FileNotFound) as error:
        raise BrokenAnchor(file_name) from error
    if (file_name, data) != (_anchor_file_name(log_id, head), _encode_anchor(head)) or find_head_fault(log_id, head):
        raise BrokenAnchor(file_name)
    return head


def store_anchor_if_absent(log_id: str, head: Head) -> bool:
    """Store the anchor of a head and return whether it is new. Raises Problem `unavailable`."""
    return files.write_file_once(settings().anchors_bucket, _anchor_file_name(log_id, head), _encode_anchor(head))


def _encode_anchor(head: Head) -> bytes:
    peak_lines = "".join(f"{to_base64(peak)}\n" for peak in head.tree.peaks)
    return f"{head.note}\n{peak_lines}".encode()


def _decode_anchor(anchor_text: str) -> Head:
    """Return the head in an anchor, without verifying it. Raises ValueError or NoteError."""
    signed, _, peak_lines = anchor_text.rpartition("\n\n")
    note = f"{signed}\n"
    size = checkpoints.parse(note).checkpoint.size
    return Head(CompactRange(size, tuple(from_base64(peak) for peak in peak_lines.split())), note)


def _anchor_file_name(log_id: str, head: Head) -> str:
    return f"{log_id}/{_SIZE_CEILING - head.tree.size:012d}"
