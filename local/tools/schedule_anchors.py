"""Schedules anchors: `python -m local reanchor`, after a change of buckets, or of the origin of the log of anchors.

It schedules an anchor for every log that has none in its bucket and, on a stage with witnesses, for every log whose
latest checkpoint is not in the log of anchors. Without this command, these logs are anchored only when they grow.
"""

from chalicelib.features.audit.log.logic import unanchored_heads
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.aws import AWS_ERRORS
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.storage import files, table
from chalicelib.kernel.storage.entity import Item
from local.tools.verify_logs import iter_log_positions


class ReanchorFailed(Exception):
    """There is no bucket, or AWS did not respond. The message says what to do."""


def schedule_first_anchors() -> None:
    """Schedule an anchor for every log that lacks one, and print their number. The command can be repeated.

    The schedule *anchor* writes the anchors in its next invocation. Raises ReanchorFailed.
    """
    bucket = settings().anchors_bucket
    if not bucket:
        raise ReanchorFailed("This stage has no bucket for anchors: ANCHORS_BUCKET is not set.")
    try:
        log_count = sum(_schedule_anchor(bucket, position.log) for position in iter_log_positions(""))
    except AWS_ERRORS as error:
        raise ReanchorFailed(
            f"{error} Run the command again: it keeps the anchors that are already scheduled."
        ) from error
    print(f"Scheduled the first anchor of {describe_count(log_count, 'log')} in {bucket}, at the next full hour.")


def _schedule_anchor(bucket: str, log: str) -> bool:
    """Schedule an anchor for a log. Return False if the log is anchored, or has nothing to anchor."""
    head = table.get(ledger.head_key(log))
    if head is None or _is_anchored(bucket, log, head):
        return False
    return "index2pk" in head or unanchored_heads.try_mark_unanchored_if_size_unchanged(log, head)


def _is_anchored(bucket: str, log: str, head: Item) -> bool:
    """Return whether a log has an anchor and, with witnesses, whether its head is in the log of anchors."""
    if not files.find_original_of_first_key(bucket, f"{log}/"):
        return False
    if not section(WitnessSettings).witnesses or "size" not in head:
        return True
    return table.get(anchored_checkpoints.checkpoint_key(log, head["size"])) is not None
