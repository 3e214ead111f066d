"""Anchors: signed log heads stored outside the table, where somebody with access to the table can't change them.

An anchor is a file in the bucket `ANCHORS_BUCKET`, written once. Its name is `<log>/<10**12 - size>` (12 digits), so a
listing starts with the newest anchor. The file holds the signed checkpoint, an empty line, and the peaks of the Merkle
tree in base64, one on each line. Object Lock retains each version of a file but accepts new ones, so the oldest version
is the anchor.
"""

from typing import Final, NamedTuple

from chalicelib.features.audit.log.logic.entry_verification import find_head_fault
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import files
from chalicelib.kernel.storage.files import FileNotFound

_SIZE_CEILING: Final = 10**12


class BrokenAnchor(Exception):
    """The newest anchor of a log is not one that this service wrote."""


class LatestAnchor(NamedTuple):
    """The head that was anchored last, and whether somebody has written its file again or hidden it."""

    head: Head
    is_rewritten: bool


def load_latest_anchor_or_none(log_id: str) -> LatestAnchor | None:
    """Return the latest anchor, or None without an anchor or without a bucket.

    If its file has several versions, the first one counts: the log record names the file, and the metric
    AnchorsRewritten counts it. Raises BrokenAnchor, and Problem `unavailable` if the bucket does not respond.
    """
    bucket = settings().anchors_bucket
    original = files.find_original_of_first_key(bucket, f"{log_id}/") if bucket else None
    if original is None:
        return None
    file_name = original.key
    if not original.is_only_version:
        add_fields(rewrittenAnchor=file_name)
        add_metrics(AnchorsRewritten=1)
    if not original.version_id:
        raise BrokenAnchor(file_name)
    try:
        data = b"".join(files.iter_file_chunks(bucket, file_name, original.version_id))
        head = _decode_anchor(data.decode())
    except (ValueError, NoteError, FileNotFound) as error:
        raise BrokenAnchor(file_name) from error
    if (file_name, data) != (_anchor_file_name(log_id, head), _encode_anchor(head)) or find_head_fault(log_id, head):
        raise BrokenAnchor(file_name)
    return LatestAnchor(head, not original.is_only_version)


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
